//! A log as a table for other programs: CSV with a header line and one line for each request.

use std::io::{self, Write};

use super::record::RequestLog;
use crate::Operation;

/// The names of the columns, first line of every table.
///
/// `submitted_ns` and `completed_ns` are the disk's own time, in nanoseconds since its trial
/// began (mkfs included); `completed_ns` is empty for what never completed. `operation` is
/// `read`, `write`, `flush` or `discard`; `lba` and `sectors` count 512 bytes, both 0 for a
/// flush; `fua` is 1 for a write that went through the cache; `phase` is the workload's phase
/// the request was submitted in, empty outside any.
const COLUMNS: &str = "submitted_ns,completed_ns,operation,lba,sectors,fua,phase";

impl RequestLog {
    /// Writes the table. `phases` holds the names of the phases, starting with number 1.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_table(&self, out: &mut impl Write, phases: &[String]) -> io::Result<()> {
        writeln!(out, "{COLUMNS}")?;
        for record in &self.records {
            let completed = record.completed.map(|at| at.0.to_string()).unwrap_or_default();
            let operation = match record.operation {
                Operation::Read => "read",
                Operation::Write => "write",
                Operation::Flush => "flush",
                Operation::Discard => "discard",
            };
            let nth = usize::from(record.phase).checked_sub(1);
            let phase = nth.and_then(|nth| phases.get(nth)).map_or("", String::as_str);
            writeln!(
                out,
                "{},{completed},{operation},{},{},{},{phase}",
                record.submitted.0,
                record.lba.0,
                record.sectors,
                u8::from(record.fua)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use units::{Lba, Nanos};

    #[test]
    fn a_request_is_a_line_with_the_name_of_its_phase() {
        let write = Record {
            submitted: Nanos(5),
            completed: Some(Nanos(9)),
            operation: Operation::Write,
            lba: Lba(64),
            sectors: 8,
            fua: true,
            phase: 2,
            payload: 0,
            disk: 0,
        };
        let flush = Record {
            completed: None,
            operation: Operation::Flush,
            lba: Lba(0),
            sectors: 0,
            fua: false,
            phase: 0,
            ..write
        };
        let log = RequestLog { records: vec![write, flush], dropped: 0 };
        let mut table = Vec::new();
        log.write_table(&mut table, &["a".to_owned(), "w io".to_owned()]).unwrap();
        let expected = format!("{COLUMNS}\n5,9,write,64,8,1,w io\n5,,flush,0,0,0,\n");
        assert_eq!(String::from_utf8(table).unwrap(), expected);
    }
}
