//! A context and terms for the tests of what threads do and count.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::overhead::Quiet;
use crate::{Inputs, Seed};

pub(super) fn context<'h>(target: &Path, inputs: &'h Inputs) -> Context<'h> {
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0).unwrap();
    Context::new(&Quiet, &DESCRIPTION, target.to_owned(), parameters, inputs, Seed(1), false)
}

/// I/Os of 512 bytes, a quarter of them writes.
pub(super) fn terms(size: u64, ops: u64) -> Terms {
    Terms { size, io: 512, write_share: 0.25, fsync_share: 0.0, ops }
}
