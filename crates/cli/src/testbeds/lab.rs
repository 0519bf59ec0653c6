//! The lab: a guest with virtual time and simulated disks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use runner::TestbedRequest;
use serde::{Deserialize, Serialize};
use study::Study;
use testbed::Testbed;

use super::options::request;
use super::{Configured, Description, Finding, Given, OfPart, OpenWith, OwnOptions, TestbedKind};
use crate::exit::{Exit, Failure};
use crate::files::{find_program, private_cache};
use crate::labs::{self, DEFAULT_PROFILE, key_value};

pub(super) struct Lab;

static DESCRIPTION: Description = Description {
    name: "lab",
    summary: "A guest with virtual time and simulated disks",
    in_study: "has the study's hardware",
    makes_filesystems: true,
    simulated: true,
    in_guest: true,
    slow: true,
    chosen_by: None,
    own_options: &[
        OwnOptions {
            ids: &["request_log"],
            places: false,
            in_vain: "--request-log belongs to --testbed lab: only simulated disks keep one",
        },
        OwnOptions {
            ids: &["disk", "processors", "changes"],
            places: true,
            in_vain: "--disk, --processors and --set belong to --testbed lab: only its machines are \
                      simulated",
        },
        OwnOptions {
            ids: &["lab", "profile"],
            places: true,
            in_vain: "--lab and --profile belong to --testbed lab: only its machines are chosen",
        },
    ],
    refuses: &[(
        &["dir", "device"],
        "--dir and --device are of this machine; the lab has disks of its own",
    )],
    own_in_study: &["lab"],
};

/// The heading of its options.
const HEADING: &str = "The lab";

#[derive(Args)]
struct LabOptions {
    /// Which lab, a name from `lab list` [default: default]
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    lab: Option<String>,

    /// The machine, a name from `list profiles` or a TOML file [default: server-ssd]
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    profile: Option<String>,

    /// The disk, a name from `list disks` or a TOML file [default: the profile's]
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    disk: Option<String>,

    /// Change a value of the profile's file: instruction_ns=2, disk.options.slower=5%
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value, help_heading = HEADING, hide_short_help = true)]
    changes: Vec<(String, String)>,

    /// The machine's processors [default: the profile's]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    processors: Option<u8>,

    /// Write every request of every simulated disk into this directory, a CSV file
    /// for each disk of each trial
    #[arg(long, value_name = "DIR", help_heading = HEADING, hide_short_help = true)]
    request_log: Option<PathBuf>,
}

impl LabOptions {
    /// Values that differ from the profile's.
    fn changes(&self) -> BTreeMap<String, String> {
        let processors = self.processors.map(|count| ("processors".to_owned(), count.to_string()));
        self.changes.iter().cloned().chain(processors).collect()
    }
}

#[derive(Args)]
struct LabStudyOptions {
    /// With lab: which one, a name from `lab list` [default: default]
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
}

/// What the store keeps.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Which lab, by name; the default one where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The machine profile.
    profile: String,
    /// The disk model; the profile's own where it is not given.
    disk: Option<String>,
    /// Values that differ from the profile's, by their keys in its file:
    /// `disk.options.slower` to `5%`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changes: BTreeMap<String, String>,
    /// Where the request logs of its disks are written, if anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_log: Option<PathBuf>,
}

impl Settings {
    /// The default lab with this machine.
    pub(crate) fn of(profile: &str, changes: BTreeMap<String, String>) -> Settings {
        let profile = profile.to_owned();
        Settings { name: None, profile, disk: None, changes, request_log: None }
    }

    /// The same machine in the lab of this name, if one is named.
    pub(crate) fn in_lab(self, name: Option<&str>) -> Settings {
        Settings { name: name.map(str::to_owned), ..self }
    }

    /// As a request.
    pub(crate) fn request(&self) -> Result<TestbedRequest, Failure> {
        request(&DESCRIPTION, self)
    }
}

impl TestbedKind for Lab {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn options(&self, command: clap::Command) -> clap::Command {
        LabOptions::augment_args(command)
    }

    fn study_options(&self, command: clap::Command) -> clap::Command {
        LabStudyOptions::augment_args(command)
    }

    fn asked(&self, given: &Given) -> Result<TestbedRequest, Failure> {
        let options: LabOptions = given.read()?;
        let profile = options.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        let changes = options.changes();
        let settings = Settings {
            name: options.lab,
            disk: options.disk,
            request_log: options.request_log,
            ..Settings::of(profile, changes)
        };
        settings.request()
    }

    /// The study's hardware: a profile for each part.
    fn asked_for_study(&self, given: &Given, study: &Study) -> Result<OfPart, Failure> {
        let name = given.read::<LabStudyOptions>()?.lab;
        let mut profiles = BTreeMap::new();
        for part in &study.parts {
            let profile = match &part.machine {
                None => part.profile.clone(),
                Some(text) => profile_file(text, &private_cache()?)?.to_string_lossy().into_owned(),
            };
            profiles.insert(part.id.clone(), profile);
        }
        Ok(Box::new(move |part, changes| {
            let profile = profiles.get(&part.id).map_or("", String::as_str);
            let settings = Settings::of(profile, changes.clone());
            let settings = Settings { name: name.clone(), ..settings };
            settings.request().map_err(|failure| failure.message)
        }))
    }

    /// The lab of the earlier run, with the given options changed. Another machine profile brings
    /// its own disk.
    fn again(&self, ran: TestbedRequest, given: &Given) -> Result<TestbedRequest, Failure> {
        let ran: Settings = ran.settings().map_err(Failure::from(Exit::Input))?;
        let options: LabOptions = given.read()?;
        let (disk, mut changes) = match options.profile.is_some() {
            true => (None, BTreeMap::new()),
            false => (ran.disk, ran.changes),
        };
        changes.extend(options.changes());
        let settings = Settings {
            name: options.lab.or(ran.name),
            profile: options.profile.unwrap_or(ran.profile),
            disk: options.disk.or(disk),
            changes,
            // Logs of the run before stay as they are.
            request_log: options.request_log,
        };
        settings.request()
    }

    fn read(&self, request: &TestbedRequest) -> Result<Box<dyn Configured>, serde_json::Error> {
        Ok(Box::new(request.settings::<Settings>()?))
    }

    /// Each lab that there is, or how one is made.
    fn findings(&self) -> Vec<Finding> {
        let apt = ["apt-get", "dpkg"].iter().all(|program| find_program(program).is_some());
        let named = lab::cache_directory().and_then(|cache| Ok((lab::names(&cache)?, cache)));
        let (names, cache) = match named {
            Ok((names, cache)) if !names.is_empty() => (names, cache),
            Ok(_) if apt => {
                let next = "not built yet; the first run or `lab build` does it";
                return vec![Finding::new("testbed lab", true, next)];
            }
            Ok(_) => {
                let next = "no apt-get here: give `lab build` --kernel, --modules, --tools and \
                            --emulator";
                return vec![Finding::new("testbed lab", false, next)];
            }
            Err(error) => return vec![Finding::new("testbed lab", false, error.to_string())],
        };
        let finding = |name: String| {
            let what = match name.as_str() {
                lab::DEFAULT_LAB => "testbed lab".to_owned(),
                _ => format!("testbed lab {name}"),
            };
            let found = lab::find(&cache, &name).and_then(|lab| lab.parts().map(|_| lab));
            match found {
                Ok(lab) => {
                    Finding::new(what, true, format!("built, Linux {}", lab.kernel_release()))
                }
                Err(error) => Finding::new(what, false, error.to_string()),
            }
        };
        names.into_iter().map(finding).collect()
    }
}

impl Configured for Settings {
    fn open(&self, with: OpenWith) -> Result<Box<dyn Testbed>, Failure> {
        let Settings { name, profile, disk, changes, request_log } = self;
        let mut lab = labs::open(name.as_deref(), profile, disk.as_deref(), changes, &with.inputs)?;
        if let Some(directory) = request_log {
            lab.keep_request_logs(directory).map_err(|error| {
                let message = format!("--request-log {}: {error}", directory.display());
                Failure::new(Exit::Refused, message)
            })?;
        }
        Ok(Box::new(lab))
    }

    fn listed(&self) -> String {
        match &self.disk {
            Some(disk) => format!("lab {} with {disk}", self.profile),
            None => format!("lab {}", self.profile),
        }
    }

    fn lab(&self) -> Option<&str> {
        Some(labs::named(self.name.as_deref()))
    }
}

/// Writes a study's own machine profile where the lab finds it.
fn profile_file(text: &str, cache: &Path) -> Result<PathBuf, Failure> {
    let directory = cache.join("profiles");
    let path = directory.join(format!("{}.toml", study::digest(text)));
    let failed =
        |error: std::io::Error| Failure::new(Exit::Output, format!("{}: {error}", path.display()));
    std::fs::create_dir_all(&directory).map_err(failed)?;
    crate::files::write_whole(&path, text.as_bytes()).map_err(failed)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::again;
    use super::*;
    use crate::arguments::{Arguments, Command};

    fn given(words: &str) -> Given {
        let all = ["fstrial", "run", "--like", "r1"].into_iter().chain(words.split_whitespace());
        match Arguments::try_parse_from(all).unwrap().command {
            Command::Run(run) => run.place.testbed.0,
            other => panic!("{other:?}"),
        }
    }

    fn lab(name: Option<&str>, profile: &str, disk: Option<&str>) -> TestbedRequest {
        let (name, disk) = (name.map(str::to_owned), disk.map(str::to_owned));
        Settings { name, disk, ..Settings::of(profile, BTreeMap::new()) }.request().unwrap()
    }

    /// Each option changes what it names and nothing else.
    #[test]
    fn what_is_not_said_stays_as_it_was() {
        let ran = || lab(None, "scsi-2004", Some("ideal"));
        let now = |words| again(ran(), &given(words)).unwrap();
        assert_eq!(now(""), ran());
        assert_eq!(now("--lab mine"), lab(Some("mine"), "scsi-2004", Some("ideal")));
        assert_eq!(now("--profile server-ssd"), lab(None, "server-ssd", None), "with its own disk");
        assert_eq!(now("--disk samsung-pm883"), lab(None, "scsi-2004", Some("samsung-pm883")));
        let slower = now("--set disk.options.slower=5%");
        let Settings { changes, profile, .. } = slower.settings().unwrap();
        assert_eq!((profile.as_str(), changes.len()), ("scsi-2004", 1));
        assert_eq!(now("--dir .").name, "dir");
    }

    #[test]
    fn a_run_of_a_directory_goes_into_the_lab_where_one_is_named() {
        let stored = r#"{"testbed":"dir","directories":["."],"drop_caches":false}"#;
        let dir = || serde_json::from_str::<TestbedRequest>(stored).unwrap();
        assert_eq!(again(dir(), &given("")).unwrap(), dir());
        let there = again(dir(), &given("--lab mine")).unwrap();
        assert_eq!(there, lab(Some("mine"), "server-ssd", None));
    }
}
