//! A job's file: how a program is prepared, run and checked, and what to read from its output.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

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
    /// The command that is timed.
    pub run: Vec<String>,
    /// Commands after the clock that fail if the data is not as it should be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<Vec<String>>,
    /// Files and directories that are copied into the target beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<PathBuf>,
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
    /// What to read from its output.
    #[serde(default, rename = "metric", skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
}

/// A figure that a program prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name: small letters, digits, underscores.
    pub name: String,
    /// A regular expression with a group named `value`; its last match counts.
    pub pattern: String,
    /// Its unit, for the reader.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which is better.
    #[serde(default)]
    pub better: Better,
}

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The larger one, as of a rate.
    #[default]
    Higher,
    /// The smaller one, as of a time.
    Lower,
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
    pub fn of_command(mut words: Vec<String>, directory: &Path) -> Job {
        if let Some(name) = words.first_mut().filter(|name| name.contains('/')) {
            *name = plain(&directory.join(&*name)).display().to_string();
        }
        Job {
            summary: String::new(),
            directory: None,
            setup: Vec::new(),
            run: words,
            check: Vec::new(),
            inputs: Vec::new(),
            files: Vec::new(),
            packages: Vec::new(),
            environment: BTreeMap::new(),
            timeout: an_hour(),
            space: a_gibibyte(),
            cold: false,
            metrics: Vec::new(),
        }
    }

    /// Reads the text of a job's file.
    ///
    /// # Errors
    /// What is wrong, with its line, and what is accepted.
    pub fn read(text: &str) -> Result<Job, String> {
        if text.trim().is_empty() {
            return Err("no job is given: `program:file=JOB.toml`, or the command itself behind \
                        `--`: fstrial run -- ./program {target}"
                .to_owned());
        }
        let job: Job = toml::from_str(text).map_err(|error| error.to_string())?;
        let commands = job.setup.iter().chain([&job.run]).chain(&job.check);
        for words in commands {
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
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if metric.name.is_empty() || !metric.name.chars().all(plain) {
                return Err(format!(
                    "metric `{}`: a name has small letters, digits and underscores",
                    metric.name
                ));
            }
            metric.regex()?;
        }
        Ok(job)
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
        self.setup.iter().chain([&self.run]).chain(&self.check)
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

impl Metric {
    fn regex(&self) -> Result<Regex, String> {
        let named = |problem: String| format!("metric `{}`: {problem}", self.name);
        let regex = Regex::new(&self.pattern).map_err(|error| named(error.to_string()))?;
        match regex.capture_names().any(|name| name == Some("value")) {
            true => Ok(regex),
            false => Err(named("its pattern has no group `(?<value>…)`".to_owned())),
        }
    }

    /// Its value in a program's output; the last one if there are several.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn find(&self, said: &str) -> Result<f64, String> {
        let regex = self.regex()?;
        let last = regex.captures_iter(said).filter_map(|found| found.name("value")).last();
        let found = last
            .ok_or_else(|| {
                format!("{} is missing: nothing it printed matches `{}`", self.name, self.pattern)
            })?
            .as_str();
        match found.replace([',', '_'], "").parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(format!("{} is missing: `{found}` is no number", self.name)),
        }
    }
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
    fn the_last_figure_counts_and_a_missing_one_says_why() {
        let job = Job::read("run = ['x']\n[[metric]]\nname='tps'\npattern='tps = (?<value>\\S+)'")
            .unwrap();
        let metric = &job.metrics[0];
        assert_eq!(metric.find("tps = 1,234.5\n tps = 7"), Ok(7.0));
        assert_eq!(metric.find("tps = 1,234.5\n"), Ok(1234.5));
        assert!(metric.find("nothing").unwrap_err().contains("nothing it printed"));
        assert!(metric.find("tps = fast").unwrap_err().contains("no number"));
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
