//! A job's file: how a program is prepared, run and checked, and what to read from its output.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

use super::metric::Metric;

/// What the name of a phase ends with that writes what another left in memory.
pub(super) const SYNC_ENDING: &str = "-sync";

/// A program and everything that belongs to it, as its file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// A description for the reader.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Where relative paths of this file begin; the file's own directory where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Commands before the clock, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Vec<String>>,
    /// The command that is timed; empty where there are phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// Commands after the clock that fail if the data is not as it should be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<Vec<String>>,
    /// Files and directories that are copied into the target beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<PathBuf>,
    /// Files that its commands name: they are copied into the target, at the same relative path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<PathBuf>,
    /// Programs and files it uses that do not lie in the target: the lab brings them along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// Debian packages it needs: the lab brings them along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Its environment, beside PATH, HOME and LC_ALL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Time after which a command is ended.
    #[serde(default = "an_hour")]
    timeout: String,
    /// Room it needs on the filesystem.
    #[serde(default = "a_gibibyte")]
    space: String,
    /// Whether the run begins with an empty cache, where that can be done.
    #[serde(default)]
    pub cold: bool,
    /// Its timed parts, where it has more than `run`.
    #[serde(default, rename = "phase", skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<JobPhase>,
    /// What to read from its output.
    #[serde(default, rename = "metric", skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
}

/// A timed part of a job that has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobPhase {
    /// Its name: small letters, digits, `-`.
    pub name: String,
    /// The command that is timed.
    pub run: Vec<String>,
    /// Whether it begins with an empty cache, where that can be done.
    #[serde(default)]
    pub cold: bool,
}

/// A command whose program's path begins at the root.
fn located(mut words: Vec<String>, directory: &Path) -> Vec<String> {
    if let Some(name) = words.first_mut().filter(|name| name.contains('/')) {
        *name = plain(&directory.join(&*name)).display().to_string();
    }
    words
}

fn an_hour() -> String {
    "1h".to_owned()
}

fn a_gibibyte() -> String {
    "1G".to_owned()
}

impl Job {
    /// A job that only runs this command, given in `directory`. The directory is part of the job
    /// only if the command's program is relative to it, so that equal commands are equal jobs.
    #[must_use]
    pub fn of_command(words: Vec<String>, directory: &Path) -> Job {
        let words = located(words, directory);
        Job {
            summary: String::new(),
            directory: None,
            setup: Vec::new(),
            run: words,
            check: Vec::new(),
            inputs: Vec::new(),
            carried: Vec::new(),
            files: Vec::new(),
            packages: Vec::new(),
            environment: BTreeMap::new(),
            timeout: an_hour(),
            space: a_gibibyte(),
            cold: false,
            phases: Vec::new(),
            metrics: Vec::new(),
        }
    }

    /// The same job with a command that checks what it left, given in `directory`.
    #[must_use]
    pub fn checked_by(mut self, words: Vec<String>, directory: &Path) -> Job {
        self.check.push(located(words, directory));
        self
    }

    /// Reads the text of a job's file.
    ///
    /// # Errors
    /// What is wrong, with its line, and what is accepted.
    pub fn read(text: &str) -> Result<Job, String> {
        if text.trim().is_empty() {
            return Err("no job is given, or its file is empty: `program:file=JOB.toml`, or the \
                        command itself behind `--`: fstrial run -- ./program {target}"
                .to_owned());
        }
        let job: Job = toml::from_str(text).map_err(|error| error.to_string())?;
        job.check_phases()?;
        for words in job.commands() {
            if words.first().is_none_or(String::is_empty) {
                return Err(
                    "a command has no words; `run = [\"./program\", \"{target}\"]`".to_owned()
                );
            }
            if words.iter().any(|word| word.contains('\0')) {
                return Err("a command has a NUL in it, which no program can be given".to_owned());
            }
        }
        job.timeout.parse::<Nanos>().map_err(|error| format!("timeout: {error}"))?;
        job.space.parse::<Bytes>().map_err(|error| format!("space: {error}"))?;
        for metric in &job.metrics {
            metric.check()?;
            let named = metric.phase.as_deref();
            if named.is_some_and(|name| !job.timed().any(|phase| phase.name == name)) {
                let known: Vec<String> = job.timed().map(|phase| phase.name).collect();
                return Err(format!(
                    "metric `{}`: there is no phase `{}`, but {}",
                    metric.name,
                    named.unwrap_or_default(),
                    known.join(", ")
                ));
            }
        }
        Ok(job)
    }

    fn check_phases(&self) -> Result<(), String> {
        let both =
            "a job has `run` or phases: put the command of `run` into a [[phase]] of its own";
        match (self.run.is_empty(), self.phases.is_empty()) {
            (true, true) => {
                return Err(
                    "a job has no words to run; `run = [\"./program\", \"{target}\"]`".to_owned()
                );
            }
            (false, false) => return Err(both.to_owned()),
            (true, false) if self.cold => {
                return Err("`cold` belongs to a [[phase]] where there are some".to_owned());
            }
            _ => {}
        }
        for (at, phase) in self.phases.iter().enumerate() {
            let name = &phase.name;
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(format!("phase `{name}`: a name has small letters, digits and `-`"));
            }
            let taken = |other: &JobPhase| {
                other.name == *name || other.name == format!("{name}{SYNC_ENDING}")
            };
            if self.phases.iter().skip(at + 1).any(taken) || name.ends_with(SYNC_ENDING) {
                return Err(format!(
                    "phase `{name}`: every phase has a name of its own, and `NAME{SYNC_ENDING}` is \
                     that of writing what it left"
                ));
            }
        }
        Ok(())
    }

    /// Its timed parts, in order.
    pub fn timed(&self) -> impl Iterator<Item = JobPhase> {
        let only = (!self.run.is_empty()).then(|| JobPhase {
            name: "run".to_owned(),
            run: self.run.clone(),
            cold: self.cold,
        });
        only.into_iter().chain(self.phases.iter().cloned())
    }

    /// The text of a job, as [`Job::read`] takes it.
    ///
    /// # Errors
    /// When a path in it is not valid UTF-8.
    pub fn to_text(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// Time after which a command is ended.
    pub fn timeout(&self) -> Nanos {
        self.timeout.parse().unwrap_or(Nanos::from_secs(3600))
    }

    /// Room it needs on the filesystem.
    pub fn space(&self) -> Bytes {
        self.space.parse().unwrap_or(Bytes::from_gib(1))
    }

    /// A path of the file: relative ones begin at its directory.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.directory.as_ref().map_or_else(|| path.to_owned(), |start| plain(&start.join(path)))
    }

    /// The program that a command names: one with a slash is a path, another is looked up.
    pub fn program(&self, words: &[String]) -> PathBuf {
        let name = Path::new(words.first().map_or("", String::as_str));
        match name.components().count() {
            0 | 1 if !name.is_absolute() && !name.to_string_lossy().contains('/') => {
                name.to_owned()
            }
            _ => self.path(name),
        }
    }

    /// Every command, in order.
    pub fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        let only = Some(&self.run).filter(|run| !run.is_empty());
        let timed = only.into_iter().chain(self.phases.iter().map(|phase| &phase.run));
        self.setup.iter().chain(timed).chain(&self.check)
    }
}

/// An absolute path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_job_is_said() {
        let error = |text: &str| Job::read(text).unwrap_err();
        assert!(error("").contains("file=JOB.toml"));
        assert!(error("run = []").contains("no words"));
        assert!(error("run = [\"x\"]\nrnu = 1").contains("rnu"));
        assert!(error("run = [\"x\"]\ntimeout = \"soon\"").contains("timeout"));
        let metric = |rest: &str| format!("run = [\"x\"]\n[[metric]]\n{rest}");
        assert!(error(&metric("name = \"t\"\npattern = \"[0-9]+\"")).contains("no group"));
        assert!(error(&metric("name = \"t\"\npattern = \"(\"")).contains("metric `t`"));
        assert!(error(&metric("name = \"T s\"\npattern = \"x\"")).contains("small letters"));
    }

    #[test]
    fn a_job_has_one_command_or_phases_with_names_of_their_own() {
        let phase = |name: &str| format!("[[phase]]\nname = '{name}'\nrun = ['x']\n");
        let error = |text: &str| Job::read(text).unwrap_err();
        let job = Job::read(&(phase("load") + &phase("query"))).unwrap();
        assert_eq!(job.timed().map(|it| it.name).collect::<Vec<_>>(), ["load", "query"]);
        assert_eq!(job.commands().count(), 2);
        assert_eq!(Job::read(&job.to_text().unwrap()).unwrap(), job);
        assert!(error(&format!("run = ['x']\n{}", phase("load"))).contains("[[phase]]"));
        assert!(error(&(phase("a") + &phase("a"))).contains("of its own"));
        assert!(error(&phase("a-sync")).contains("of its own"));
        assert!(error(&phase("A")).contains("small letters"));
        let metric = "[[metric]]\nname = 'm'\npattern = '(?<value>.)'\nphase = 'quary'";
        assert!(error(&(phase("query") + metric)).contains("no phase `quary`, but query"));
    }

    #[test]
    fn a_name_is_looked_up_and_a_path_begins_at_the_file() {
        let of = |words: &[&str], place: &str| {
            Job::of_command(words.iter().map(|word| (*word).to_owned()).collect(), Path::new(place))
        };
        let job = of(&["./p", "./x"], "/home/me");
        assert_eq!(job.run, ["/home/me/p", "./x"]);
        assert_eq!(of(&["../you/./p"], "/home/me").run, ["/home/you/p"]);
        let located = Job { directory: Some("/home/me/jobs".into()), ..job.clone() };
        assert_eq!(located.path(Path::new("../data")), Path::new("/home/me/data"));
        assert_eq!(located.program(&["../p".to_owned()]), Path::new("/home/me/p"));
        assert_eq!(job.program(&job.run), Path::new("/home/me/p"));
        assert_eq!(of(&["dd"], "/home/me"), of(&["dd"], "/home/you"));
        assert_eq!(job.program(&["dd".to_owned()]), Path::new("dd"));
        assert_eq!(job.program(&["/bin/dd".to_owned()]), Path::new("/bin/dd"));
        assert_eq!(Job::read(&job.to_text().unwrap()).unwrap(), job);
    }
}
