//! Filebench's models, `.f`.

use std::collections::BTreeMap;

use super::{Brought, Reader, at};
use crate::workloads::{filebench_model, is_filebench_model};

pub(super) const READER: Reader = Reader {
    what: "a model of Filebench (.f)",
    workload: "filebench",
    endings: &["f"],
    is: is_filebench_model,
    read: |text, path, _| {
        filebench_model(text, &BTreeMap::new()).map_err(|(line, what)| at(path, line, what))?;
        let mut brought = Brought::default();
        brought.set("file", text);
        Ok(brought)
    },
};
