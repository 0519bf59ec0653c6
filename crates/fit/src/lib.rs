//! Measures a disk and finds the parameters of a model that answers like it.
//!
//! The three steps are independent. A [`Plan`] says which requests to send. A disk of this machine
//! ([`ThisDisk`]) or a model ([`serve`]) answers it with the times of the requests. [`fit`] finds
//! parameters from these times alone. Some sessions of a plan are held out: the fit never sees
//! them, and [`quality`] uses them to judge it.

mod fitting;
mod here;
mod hidden;
mod parameters;
mod plan;
mod polish;
mod quality;
mod target;
mod turning;

pub use fitting::{Fitted, fit, nearest};
pub use here::{Place, ThisDisk};
pub use hidden::{ClosedLoop, closed_loop};
pub use parameters::Description;
pub use plan::{Kind, Plan, Role, Session, Times, answers, serve};
pub use quality::{Compared, quality, worst};

/// Why a disk could not be measured or fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// An operation on this machine failed.
    #[error("{doing} {place}: {source}")]
    Io {
        /// The operation.
        doing: &'static str,
        /// The disk, directory or file.
        place: String,
        /// What the kernel said.
        #[source]
        source: std::io::Error,
    },
    /// A directory or file must not be used.
    #[error(transparent)]
    File(#[from] files::FileError),
    /// A model that cannot be fitted, or a place that cannot be measured.
    #[error("{0}")]
    Unfit(String),
}
