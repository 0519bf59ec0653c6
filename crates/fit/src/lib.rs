//! Measures a disk and finds the parameters of a model that answers like it.
//!
//! Three steps that know nothing of each other: a [`Plan`] says what is asked, a disk here
//! ([`ThisDisk`]) or a model ([`serve`]) answers it, and [`fit`] finds parameters from the
//! answers alone. Some sessions of a plan are held out: no fit sees them, [`quality`] judges
//! by them.

mod fitting;
mod here;
mod hidden;
mod parameters;
mod plan;
mod polish;
mod quality;
mod target;

pub use fitting::{Fitted, fit, nearest};
pub use here::{Place, ThisDisk};
pub use hidden::{ClosedLoop, closed_loop};
pub use parameters::Description;
pub use plan::{Kind, Plan, Role, Session, Times, answers, serve};
pub use quality::{Compared, quality, worst};

/// Why a disk could not be measured or fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Something of the machine did not do what was asked.
    #[error("{doing} {place}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Where.
        place: String,
        /// What the kernel said.
        #[source]
        source: std::io::Error,
    },
    /// A directory or file is not to be used.
    #[error(transparent)]
    File(#[from] files::FileError),
    /// A model that cannot be fitted, or a place that cannot be measured.
    #[error("{0}")]
    Unfit(String),
}
