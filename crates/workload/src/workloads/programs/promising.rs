//! A program of the user's own that promises something, and its check.

use std::path::{Path, PathBuf};

use super::job::Job;
use super::program::Place;
use crate::Seed;

/// What a line begins with that promises the rest of it.
const PROMISED: &[u8] = b"promised ";

/// A program that can be run, and its check.
#[derive(Debug)]
pub struct Promising {
    place: Place,
    /// Directories in which programs are looked up.
    search: Vec<PathBuf>,
}

impl Promising {
    /// The program of a job that works in `directory`; `archive` becomes its root.
    ///
    /// # Errors
    /// When the job cannot be read, or the archive not unpacked.
    pub fn new(
        job: &str,
        archive: Option<&Path>,
        directory: PathBuf,
        seed: Seed,
        search: &[PathBuf],
    ) -> Result<Promising, String> {
        let job = Job::read(job)?;
        let root = archive.map(super::tree::unpacked).transpose();
        let root = root.map_err(|failure| failure.to_string())?;
        let seed = seed.stream("program").below(1 << 31);
        Ok(Promising { place: Place { job, root, directory, seed }, search: search.to_vec() })
    }

    /// Copies what the job brings into the directory, and prepares it.
    ///
    /// # Errors
    /// What could not be done.
    pub fn prepare(&self) -> Result<(), String> {
        self.place.bring()?;
        for words in &self.place.job.setup {
            self.succeed(words, &mut |_| {})?;
        }
        Ok(())
    }

    /// Runs it to its end. `promised` gets the rest of each line that begins with `promised `, as
    /// soon as the program has written it.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub fn run(&self, promised: &mut dyn FnMut(&str)) -> Result<(), String> {
        let mut line = Vec::new();
        let mut hear = |bytes: &[u8]| {
            for byte in bytes {
                match byte {
                    b'\n' => {
                        if let Some(text) = line.strip_prefix(PROMISED) {
                            promised(String::from_utf8_lossy(text).trim());
                        }
                        line.clear();
                    }
                    byte => line.push(*byte),
                }
            }
        };
        for part in self.place.job.timed() {
            self.succeed(&part.run, &mut hear)?;
        }
        Ok(())
    }

    /// Runs the check, which reads the promises made so far, one a line.
    ///
    /// # Errors
    /// When it does not end with 0: the promises are not kept.
    pub fn check(&self, promises: &[String]) -> Result<(), String> {
        let lines: String = promises.iter().map(|promise| format!("{promise}\n")).collect();
        for words in &self.place.job.check {
            let mut call = self.place.call(words, &self.search);
            call.input.clone_from(&lines);
            match call.run().map(|done| done.failure(call.limit)) {
                Ok(None) => {}
                Ok(Some(why)) | Err(why) => return Err(named(words, &why)),
            }
        }
        Ok(())
    }

    fn succeed(&self, words: &[String], hear: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let call = self.place.call(words, &self.search);
        match call.run_hearing(hear).map(|done| call.failure(&done)) {
            Ok(None) => Ok(()),
            Ok(Some(why)) | Err(why) => Err(named(words, &why)),
        }
    }
}

fn named(words: &[String], why: &str) -> String {
    format!("`{}`: {why}", text::shell_words(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promising(place: &Path, run: &str, check: &str) -> Promising {
        let words = |script: &str| ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let mut job = Job::of_command(words(run), place);
        job.check = vec![words(check)];
        let text = job.to_text().unwrap();
        let search = ["/bin", "/usr/bin"].map(PathBuf::from);
        Promising::new(&text, None, place.to_owned(), Seed(1), &search).unwrap()
    }

    #[test]
    fn a_program_promises_line_by_line_and_its_check_reads_what_was_promised() {
        let place = tempfile::tempdir().unwrap();
        let run = "printf 'promised on'; echo e; echo other; echo x > {target}/f; \
                   echo promised two; printf 'promised unended'";
        let check = "test \"$(cat)\" = 'one\ntwo' && test -f {target}/f";
        let program = promising(place.path(), run, check);
        let mut promised = Vec::new();
        program.prepare().unwrap();
        program.run(&mut |text| promised.push(text.to_owned())).unwrap();
        assert_eq!(promised, ["one", "two"]);
        program.check(&promised).unwrap();
        let why = program.check(&promised[..1]).unwrap_err();
        assert!(why.contains("exit code 1"), "{why}");
        std::fs::remove_file(place.path().join("f")).unwrap();
        assert!(program.check(&promised).is_err());
    }

    #[test]
    fn a_program_that_fails_says_how() {
        let place = tempfile::tempdir().unwrap();
        let why = promising(place.path(), "echo broken >&2; exit 3", "true").run(&mut |_| {});
        let why = why.unwrap_err();
        assert!(why.contains("exit code 3") && why.contains("broken"), "{why}");
    }
}
