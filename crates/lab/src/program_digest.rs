//! What a user's own program was made of, for two runs that are compared: the program behind a
//! job's file may have changed, and the file has not.

use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use workload::Job;

use crate::{LabError, own_program};

/// The name of a job's program, and the beginning of the SHA-256 of all programs and files that it
/// names. Of a directory, and of what only a package of the lab brings, its name counts.
///
/// # Errors
/// When one of them cannot be read.
pub fn program_digest(job: &Job, search: &[PathBuf]) -> Result<String, LabError> {
    let mut all = Sha256::new();
    for words in job.commands() {
        let program = job.program(words);
        add(&mut all, &program, own_program::find(&program, search).ok())?;
    }
    for named in job.inputs.iter().chain(&job.files) {
        let found = own_program::file(&job.path(named), search);
        let found = found.or_else(|_| own_program::file(named, search));
        add(&mut all, named, found.ok())?;
    }
    let digest: String = all.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let name = job.run.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    Ok(format!("{} {}", name.to_string_lossy(), &digest[..16]))
}

fn add(all: &mut Sha256, named: &Path, found: Option<PathBuf>) -> Result<(), LabError> {
    all.update(named.file_name().unwrap_or_default().as_encoded_bytes());
    let Some(path) = found.filter(|path| path.is_file()) else { return Ok(()) };
    let failed = || LabError::at("read", &path);
    let mut file = std::fs::File::open(&path).map_err(failed())?;
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece).map_err(failed())? {
            0 => return Ok(()),
            count => all.update(&piece[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_program_or_file_behind_the_same_words_has_another_digest() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
        };
        let digest = |inputs: &[&str]| {
            let mut job = Job::of_command(vec!["./job".to_owned()], directory.path());
            job.directory = Some(directory.path().to_owned());
            job.inputs = inputs.iter().map(PathBuf::from).collect();
            program_digest(&job, &[]).unwrap()
        };
        write("job", "#!/bin/sh\ntrue\n");
        write("data", "1");
        let (first, with) = (digest(&[]), digest(&["data"]));
        assert_eq!(first, digest(&[]));
        assert!(first.starts_with("job ") && first != with, "{first} {with}");
        write("data", "2");
        assert_ne!(digest(&["data"]), with);
        write("job", "#!/bin/sh\nfalse\n");
        assert_ne!(digest(&[]), first);
    }
}
