//! Where trials run, as the command line knows it. All knowledge of one testbed is one file;
//! [`TESTBEDS`] is the only list of them: its options, its settings in the store, how it is
//! opened, and what lists, `doctor`, dry runs and clusters need to know about it.

pub(crate) mod device;
pub(crate) mod dir;
pub(crate) mod lab;
mod options;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ::device::Ledger;
use runner::TestbedRequest;
use stack::Contender;
use study::{Part, Study};
use testbed::Testbed;
use trial::InputFiles;
use units::Bytes;
use workload::Space;

pub(crate) use self::options::{Given, RunOptions, StudyOptions};
use crate::exit::{Exit, Failure};

/// Every testbed, in the order in which `--help` shows them.
pub(crate) static TESTBEDS: &[&dyn TestbedKind] = &[
    // Of this machine.
    &dir::Dir,
    &device::Device,
    // Simulated.
    &lab::Lab,
];

/// The default testbed.
static DEFAULT: &dyn TestbedKind = &lab::Lab;

/// What is fixed about a testbed.
pub(crate) struct Description {
    /// Its name for `--testbed`; the same as [`Testbed::name`], and what the store keeps.
    pub(crate) name: &'static str,
    /// What it is, one line.
    pub(crate) summary: &'static str,
    /// What a study runs on there: a few words after its name.
    pub(crate) in_study: &'static str,
    /// It makes filesystems on devices, which then have a size. Others are used as they are.
    pub(crate) makes_filesystems: bool,
    /// Its machine is simulated: the same on every host, so that a cluster's nodes can share a
    /// run, and changed at will, so that a study's assumptions can be tried.
    pub(crate) simulated: bool,
    /// Trials run in a guest with the kernel and the programs of a lab, not with this machine's.
    pub(crate) in_guest: bool,
    /// It is so slow that a tenth of a workload's size is the default.
    pub(crate) slow: bool,
    /// The option that chooses it where `--testbed` is not given.
    pub(crate) chosen_by: Option<&'static str>,
    /// Options that `run` refuses for any other testbed.
    pub(crate) own_options: &'static [OwnOptions],
    /// Options of other testbeds that it refuses with a message of its own.
    pub(crate) refuses: &'static [(&'static [&'static str], &'static str)],
    /// Options of `study run` that are refused for any other testbed.
    pub(crate) own_in_study: &'static [&'static str],
}

/// Options that mean nothing to another testbed.
pub(crate) struct OwnOptions {
    /// Their ids: `loop_dir` for `--loop-dir`.
    pub(crate) ids: &'static [&'static str],
    /// Whether they say where trials run: `--like` then goes there.
    pub(crate) places: bool,
    /// The message if they are given to another testbed.
    pub(crate) in_vain: &'static str,
}

/// A testbed that can be asked for.
pub(crate) trait TestbedKind: Sync {
    /// What is fixed about it.
    fn describe(&self) -> &'static Description;

    /// Adds its options of `run` and `crosscheck`, if it has any.
    fn options(&self, command: clap::Command) -> clap::Command {
        command
    }

    /// Adds its options of `study run`, whose help has no headings.
    fn study_options(&self, command: clap::Command) -> clap::Command {
        self.options(command)
    }

    /// What `run` asks for with these options.
    ///
    /// # Errors
    /// When they contradict each other, or it cannot do what they say.
    fn asked(&self, given: &Given) -> Result<TestbedRequest, Failure>;

    /// What `study run` asks for with these options, part by part: the same for each, unless it
    /// says otherwise.
    ///
    /// # Errors
    /// As [`TestbedKind::asked`].
    fn asked_for_study(&self, given: &Given, _study: &Study) -> Result<OfPart, Failure> {
        let request = self.asked(given)?;
        Ok(Box::new(move |_, _| Ok(request.clone())))
    }

    /// What `run --like` asks for, if nothing that was given names another testbed.
    ///
    /// # Errors
    /// As [`TestbedKind::asked`].
    fn again(&self, ran: TestbedRequest, given: &Given) -> Result<TestbedRequest, Failure> {
        if given.places(self.describe()) { asked(given) } else { Ok(ran) }
    }

    /// The devices whose contents these options allow to destroy.
    fn may_destroy(&self, _given: &Given) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Reads its settings.
    ///
    /// # Errors
    /// When they are not of its form: those of another version of fstrial.
    fn read(&self, request: &TestbedRequest) -> Result<Box<dyn Configured>, serde_json::Error>;

    /// What `doctor` says of it on this machine.
    fn findings(&self) -> Vec<Finding>;
}

/// The testbed of a part of a study under changes to its machine, by their keys in its profile.
pub(crate) type OfPart =
    Box<dyn Fn(&Part, &BTreeMap<String, String>) -> Result<TestbedRequest, String>>;

/// A testbed with its settings.
pub(crate) trait Configured {
    /// Opens it.
    ///
    /// # Errors
    /// When it does not exist, or refuses.
    fn open(&self, with: OpenWith) -> Result<Box<dyn Testbed>, Failure>;

    /// What `list runs` says a run was on.
    fn listed(&self) -> String;

    /// What a dry run says of the room it takes; `size` is that of a device, where it makes
    /// filesystems.
    fn room(&self, size: Option<Bytes>) -> String {
        match size {
            Some(size) => format!("devices of {size}"),
            None => "what the workloads write, removed afterwards".to_owned(),
        }
    }

    /// Who competes, where that is in the settings; else it is asked for.
    ///
    /// # Errors
    /// When one of them is not there.
    fn contenders(&self) -> Result<Option<Vec<Contender>>, Failure> {
        Ok(None)
    }

    /// The request that it was read from, with leave to destroy the contents of these devices too.
    ///
    /// # Errors
    /// When a path cannot be kept in the store.
    fn allowing(
        &self,
        stored: &TestbedRequest,
        _devices: &[PathBuf],
    ) -> Result<TestbedRequest, Failure> {
        Ok(stored.clone())
    }

    /// The lab whose kernel and programs it takes, if it does. Nodes of a cluster get a copy.
    fn lab(&self) -> Option<&str> {
        None
    }
}

/// What a testbed is opened with.
pub(crate) struct OpenWith {
    /// Where it notes what it makes.
    pub(crate) ledger: Ledger,
    /// What workloads read.
    pub(crate) inputs: InputFiles,
    /// What the largest trial writes.
    pub(crate) room: Space,
}

/// One line of the doctor's table.
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) what: String,
    /// Whether it can be used.
    pub(crate) works: bool,
    /// What there is, or the next step.
    pub(crate) detail: String,
}

impl Finding {
    pub(crate) fn new(what: impl Into<String>, works: bool, detail: impl Into<String>) -> Finding {
        Finding { what: what.into(), works, detail: detail.into() }
    }
}

/// The names of the testbeds that satisfy `are`, joined by "or".
pub(crate) fn names(are: impl Fn(&Description) -> bool) -> String {
    let known = TESTBEDS.iter().map(|kind| kind.describe()).filter(|known| are(known));
    known.map(|known| known.name).collect::<Vec<_>>().join(" or ")
}

/// What `run` asks for with these options.
pub(crate) fn asked(given: &Given) -> Result<TestbedRequest, Failure> {
    let kind = given.chosen();
    given.refuse_in_vain(kind.describe())?;
    kind.asked(given)
}

/// Refuses options of `study run` that have no effect on the testbed that is meant.
pub(crate) fn refuse_in_vain_in_study(given: &Given) -> Result<(), Failure> {
    given.refuse_in_vain_in_study(given.chosen().describe())
}

/// What `study run` asks for, and whether a study's assumptions can be tried there.
pub(crate) fn asked_for_study(given: &Given, study: &Study) -> Result<(OfPart, bool), Failure> {
    let kind = given.chosen();
    given.refuse_in_vain_in_study(kind.describe())?;
    Ok((kind.asked_for_study(given, study)?, kind.describe().simulated))
}

/// The options of `study run` that chose the machine, as far as a report may show them: those of
/// a simulated one. Elsewhere they are paths of this machine.
pub(crate) fn machine_in_study(given: &Given) -> String {
    let known = given.chosen().describe();
    if known.simulated { given.words(known.own_in_study) } else { String::new() }
}

/// What `run --like` asks for: the testbed of the earlier run, changed by these options.
pub(crate) fn again(ran: TestbedRequest, given: &Given) -> Result<TestbedRequest, Failure> {
    let kind = find(&ran)?;
    let others = TESTBEDS.iter().map(|kind| kind.describe());
    let mut others = others.filter(|other| other.name != kind.describe().name);
    if others.any(|other| given.names(other) || given.places_by_option(other)) {
        return asked(given);
    }
    kind.again(ran, given)
}

/// The devices whose contents these options allow to destroy.
pub(crate) fn may_destroy(given: &Given) -> Vec<PathBuf> {
    TESTBEDS.iter().flat_map(|kind| kind.may_destroy(given)).collect()
}

/// What is fixed about the testbed of a request.
pub(crate) fn describe(request: &TestbedRequest) -> Result<&'static Description, Failure> {
    find(request).map(|kind| kind.describe())
}

/// The settings of a request.
///
/// # Errors
/// When it is of another version of fstrial.
pub(crate) fn read(request: &TestbedRequest) -> Result<Box<dyn Configured>, Failure> {
    find(request)?.read(request).map_err(Failure::from(Exit::Input))
}

fn find(request: &TestbedRequest) -> Result<&'static dyn TestbedKind, Failure> {
    named(&request.name).ok_or_else(|| {
        let message = format!("there is no testbed `{}`, but {}", request.name, names(|_| true));
        Failure::new(Exit::Input, message)
    })
}

fn named(name: &str) -> Option<&'static dyn TestbedKind> {
    TESTBEDS.iter().copied().find(|kind| kind.describe().name == name)
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    /// What runs of every age keep.
    const STORED: &[&str] = &[
        r#"{"testbed":"dir","directories":["/srv"],"drop_caches":false}"#,
        r#"{"testbed":"dir","directories":["/srv"],"names":["ext4"],"drop_caches":true}"#,
        r#"{"testbed":"device","devices":[],"destroy":[],"loop_directory":"/srv"}"#,
        r#"{"testbed":"lab","profile":"server-ssd","disk":null}"#,
        r#"{"testbed":"lab","name":"mine","profile":"scsi-2004","disk":"ideal",
            "changes":{"instruction_ns":"2"},"request_log":"/srv"}"#,
    ];

    fn request(stored: &str) -> TestbedRequest {
        serde_json::from_str(stored).unwrap()
    }

    #[test]
    fn a_stored_request_is_read_and_stays_as_it_was() {
        for stored in STORED {
            let before: serde_json::Value = serde_json::from_str(stored).unwrap();
            let resumed = read(&request(stored)).unwrap().allowing(&request(stored), &[]).unwrap();
            assert_eq!(serde_json::to_value(resumed).unwrap(), before);
        }
    }

    #[test]
    fn a_request_that_no_testbed_knows_is_refused() {
        let refused = |stored: &str| read(&request(stored)).err().unwrap().message;
        for stored in STORED {
            let more = stored.replace(r#""testbed""#, r#""colour":"red","testbed""#);
            assert!(refused(&more).contains("unknown field `colour`"), "{more}");
        }
        assert!(refused(r#"{"testbed":"dir","directories":[]}"#).contains("drop_caches"));
        let unknown = refused(r#"{"testbed":"nowhere"}"#);
        assert!(unknown.starts_with("there is no testbed `nowhere`, but dir or "), "{unknown}");
    }

    #[test]
    fn what_is_resumed_may_destroy_what_is_allowed_now() {
        let stored = request(STORED[2]);
        let devices = [PathBuf::from("/dev/sdz")];
        let resumed = read(&stored).unwrap().allowing(&stored, &devices).unwrap();
        let resumed = serde_json::to_value(resumed).unwrap();
        assert_eq!(resumed["destroy"], serde_json::json!(["/dev/sdz"]));
    }

    #[test]
    fn every_testbed_is_chosen_by_its_name_and_reads_what_it_asks_for() {
        for kind in TESTBEDS {
            let name = kind.describe().name;
            let command = RunOptions::augment_args(clap::Command::new("run"));
            let matches = command.get_matches_from(["run", "--testbed", name]);
            let request = asked(&RunOptions::from_arg_matches(&matches).unwrap().0).unwrap();
            assert_eq!(request.name, name);
            assert!(!read(&request).unwrap().listed().is_empty());
        }
    }

    #[test]
    fn the_machine_of_a_study_is_named_and_no_path_is() {
        for (words, machine) in [
            ("study", ""),
            ("study --lab mine", "--lab mine"),
            ("study --testbed dir --dir /srv/secret", ""),
        ] {
            let command = StudyOptions::augment_args(clap::Command::new("study"));
            let matches = command.get_matches_from(words.split(' '));
            let given = StudyOptions::from_arg_matches(&matches).unwrap().0;
            assert_eq!(machine_in_study(&given), machine, "{words}");
        }
    }

    /// An option that is misspelt in a description would never be refused.
    #[test]
    fn what_a_description_calls_an_option_is_one() {
        let ids = |command: clap::Command| -> Vec<String> {
            command.get_arguments().map(|option| option.get_id().to_string()).collect()
        };
        let all = TESTBEDS.iter().fold(clap::Command::new("run"), |all, kind| kind.options(all));
        let all = ids(all);
        for kind in TESTBEDS {
            let known = kind.describe();
            let own = ids(kind.options(clap::Command::new("run")));
            let in_study = ids(kind.study_options(clap::Command::new("study")));
            let named = known.own_options.iter().flat_map(|own| own.ids);
            for id in named.chain(&known.chosen_by) {
                assert!(own.iter().any(|own| own == id), "{} has no --{id}", known.name);
            }
            for id in known.own_in_study.iter().chain(&known.chosen_by) {
                assert!(in_study.iter().any(|own| own == id), "{} has no --{id}", known.name);
            }
            for id in known.refuses.iter().flat_map(|(ids, _)| *ids) {
                assert!(all.iter().any(|other| other == id), "{}: no --{id}", known.name);
                assert!(!own.iter().any(|own| own == id), "{} refuses its own", known.name);
            }
        }
    }
}
