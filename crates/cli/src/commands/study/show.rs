//! `fstrial study show`.

use study::Study;

use crate::exit::{Ended, Exit};
use crate::output::print;

/// Prints what a study is made of.
pub(super) fn show(study: &Study) -> Ended {
    print(&study::described(study, 100))?;
    Ok(Exit::Done)
}
