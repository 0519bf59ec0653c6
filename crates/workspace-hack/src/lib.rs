//! Nothing: only this crate's manifest matters. It gives third-party crates the features that
//! they have in the whole workspace to whoever builds one crate alone, as cargo-hakari does.
