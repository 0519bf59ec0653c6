//! Request logs of trials as files: `fstrial run --request-log DIR`.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use disk::RequestLog;
use files::Directory;
use trial::TrialSpec;

use crate::error::LabError;

/// The most trials with the same name, that is, the same contender, workloads and block.
const SAME_NAME_MAX: usize = 10_000;

/// The directory that request logs are written into, held for the whole run.
#[derive(Debug)]
pub(crate) struct RequestLogs {
    directory: Directory,
    /// Trials whose logs were not written, and why the first was not.
    unwritten: Mutex<(usize, String)>,
}

impl RequestLogs {
    /// Holds or makes the directory, and finds out whether files can be made there.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub(crate) fn into(directory: &Path) -> Result<RequestLogs, LabError> {
        let directory = Directory::hold_or_make_for_outputs(directory)?;
        directory.check_writable().map_err(LabError::at("write", directory.path()))?;
        Ok(RequestLogs { directory, unwritten: Mutex::default() })
    }

    /// Writes the log of each disk of a trial, named after contender, workloads and block. Never
    /// overwrites a file. `phases` holds the names of the phases, starting with number 1.
    ///
    /// # Errors
    /// When there is no room, or the directory cannot be written.
    pub(crate) fn write(
        &self,
        spec: &TrialSpec,
        logs: &[RequestLog],
        phases: &[String],
    ) -> Result<Vec<PathBuf>, LabError> {
        let one = |(nth, log): (usize, &RequestLog)| {
            let (path, file) = new_file(&self.directory, &format!("{}-disk{nth}", name(spec)))?;
            let mut out = BufWriter::new(file);
            log.write_table(&mut out, phases)
                .and_then(|()| out.flush())
                .map_err(LabError::at("write", &path))?;
            Ok(path)
        };
        logs.iter().enumerate().map(one).collect::<Result<_, LabError>>().inspect_err(|error| {
            let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
            if unwritten.0 == 0 {
                unwritten.1 = error.to_string();
            }
            unwritten.0 += 1;
        })
    }

    /// How many trials' logs are missing, and why.
    pub(crate) fn unwritten(&self) -> Option<String> {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let (trials, why) = &*unwritten;
        let whose = if *trials == 1 { "trial" } else { "trials" };
        (*trials > 0).then(|| {
            format!("the request logs of {trials} {whose} were not written: {why}; the figures are in the store")
        })
    }
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
        match directory.new_output(&file) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(LabError::at("create", &path)(error)),
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
        let place = directory.path().join("made");
        let kept = RequestLogs::into(&place).unwrap();
        let first = kept.write(&spec, &logs, &[]).unwrap();
        let again = kept.write(&spec, &logs, &[]).unwrap();
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 4);
        assert_eq!(kept.unwritten(), None);
        // What stands in its place now gets nothing.
        std::fs::rename(&place, directory.path().join("moved")).unwrap();
        std::fs::create_dir(&place).unwrap();
        kept.write(&spec, &logs, &[]).unwrap();
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
        std::fs::remove_dir_all(directory.path().join("moved")).unwrap();
        kept.write(&spec, &logs, &[]).unwrap_err();
        let told = kept.unwritten().unwrap();
        assert!(told.contains("of 1 trial were not written"), "{told}");
        std::fs::write(directory.path().join("file"), "").unwrap();
        RequestLogs::into(&directory.path().join("file")).unwrap_err();
        assert!(first.iter().all(|path| !again.contains(path)));
        let name = first[1].file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("ext3") && name.ends_with("block1-disk1.csv"), "{name}");
    }
}
