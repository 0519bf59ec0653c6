//! Job files of fio.

use super::{Brought, Reader};
use crate::fio_job_text;

pub(super) const READER: Reader = Reader {
    what: "a job file of fio",
    workload: "fio",
    endings: &["fio", "job"],
    is: |text| {
        let is_section = |line: &str| line.starts_with('[') && line.ends_with(']');
        text.lines().map(str::trim).any(is_section)
    },
    read: |text, path, surroundings| {
        let (text, notes) = fio_job_text(text, path, surroundings)?;
        let mut brought = Brought { notes, ..Brought::default() };
        brought.set("job", text);
        Ok(brought)
    },
};
