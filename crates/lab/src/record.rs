//! Request logs of trials as files: `fstrial run --request-log DIR`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use disk::RequestLog;
use files::Directory;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use trial::TrialSpec;

use crate::error::LabError;

/// The most trials with the same name, that is, the same contender, workloads and block.
const SAME_NAME_MAX: usize = 10_000;

/// Writes the log of each disk of a trial into `directory`, named after contender, workloads and
/// block. Never overwrites a file. `phases` holds the names of the phases, starting with number 1.
///
/// # Errors
/// When there is no room, or the directory cannot be written.
pub(crate) fn write(
    directory: &Path,
    spec: &TrialSpec,
    logs: &[RequestLog],
    phases: &[String],
) -> Result<Vec<PathBuf>, LabError> {
    let held = Directory::hold_or_make(directory)
        .map_err(|error| LabError::at(error.step, directory)(error.source))?;
    logs.iter()
        .enumerate()
        .map(|(nth, log)| {
            let (path, file) = new_file(&held, &format!("{}-disk{nth}", name(spec)))?;
            let mut out = BufWriter::new(file);
            log.write_table(&mut out, phases)
                .and_then(|()| out.flush())
                .map_err(LabError::at("write", &path))?;
            Ok(path)
        })
        .collect()
}

/// A file name for a trial: the letters, digits and `-._=` in the names of its contender and
/// workloads.
fn name(spec: &TrialSpec) -> String {
    let workloads: Vec<&str> = spec.workloads.iter().map(|choice| choice.name.as_str()).collect();
    let name = format!("{}-{}-block{}", spec.contender.name, workloads.join("+"), spec.block + 1);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._=+".contains(c);
    name.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn new_file(directory: &Directory, name: &str) -> Result<(PathBuf, File), LabError> {
    for nth in 1..SAME_NAME_MAX {
        let again = if nth == 1 { String::new() } else { format!("-{nth}") };
        let file = format!("{name}{again}.csv");
        let path = directory.path().join(&file);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match openat(directory, &file, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((path, file.into())),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(LabError::at("create", &path)(error.into())),
        }
    }
    let problem =
        format!("it already has {SAME_NAME_MAX} logs called {name}; name another directory");
    Err(LabError::value(directory.path().display().to_string(), problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stack::Contender;
    use units::Nanos;
    use workload::Seed;

    #[test]
    fn each_disk_of_each_trial_has_a_file_of_its_own() {
        let spec = TrialSpec {
            contender: Contender::parse_list("ext3:journal_size=64M").unwrap().remove(0),
            workloads: Vec::new(),
            seed: Seed(1),
            block: 0,
            size: None,
            verify: false,
            timeout: Nanos::ZERO,
        };
        let directory = tempfile::tempdir().unwrap();
        let logs = vec![RequestLog { records: Vec::new(), dropped: 0 }; 2];
        let first = write(directory.path(), &spec, &logs, &[]).unwrap();
        let again = write(directory.path(), &spec, &logs, &[]).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 4);
        assert!(first.iter().all(|path| !again.contains(path)));
        let name = first[1].file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("ext3") && name.ends_with("block1-disk1.csv"), "{name}");
    }
}
