//! What is on the disk when an output has its name. Says `ignored` where the kernel does not tell.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

use files::{FileError, write_output};
use skippable::{Ending, needs_to_see_what_is_written, unwritten};

fn main() -> ExitCode {
    skippable::run(&[("a_document_is_on_the_disk_when_it_gets_its_name", named_document)])
}

fn named_document() -> Ending {
    let room = tempfile::tempdir().unwrap();
    needs_to_see_what_is_written(room.path())?;
    let path = room.path().join("report.html");
    write_output(&path, |file| -> Result<(), FileError> {
        file.write_all(b"text").unwrap();
        Ok(())
    })
    .unwrap();
    assert_eq!(unwritten(&File::open(&path).unwrap()).unwrap(), 0);
    Ok(())
}
