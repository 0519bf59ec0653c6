//! What was asked for. Stored with the run, so that `--resume` asks for the same.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use stack::Contender;
use store::Until;
use text::meant;
use units::{Bytes, Nanos};
use workload::Preset;

/// A whole run as asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What is done, each on a fresh filesystem, or all on one if `sequence`.
    pub workloads: Vec<WorkloadRequest>,
    /// Who competes.
    pub contenders: Vec<Contender>,
    /// Where.
    pub testbed: TestbedRequest,
    /// How many random blocks; the first ones, where more are added.
    pub repeats: u32,
    /// Until when blocks are added to these, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Every trial's seed derives from it.
    pub seed: u64,
    /// Multiplies what scales in the workloads.
    pub scale: f64,
    /// Read everything back after each workload.
    pub verify: bool,
    /// All workloads in one trial, one after the other, without a new filesystem.
    pub sequence: bool,
    /// Size of each data device; computed from the workloads where it is not given.
    pub size: Option<Bytes>,
    /// The least size, where the size is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_size: Option<Bytes>,
    /// Wall time after which a trial is given up.
    pub timeout: Nanos,
    /// The mail corpus as written on the command line.
    pub mail: String,
    /// The source tree as written on the command line.
    #[serde(default = "synthetic")]
    pub source_tree: String,
    /// The study it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<StudyTag>,
}

/// The default wall time after which a trial is given up.
const TIMEOUT: Nanos = Nanos::from_secs(2 * 3600);

impl Request {
    /// One repeat of these workloads at their own sizes, with seed 1 and invented mails and sources,
    /// each on a fresh filesystem of the size that it needs.
    pub fn new(
        workloads: Vec<WorkloadRequest>,
        contenders: Vec<Contender>,
        testbed: TestbedRequest,
    ) -> Request {
        Request {
            workloads,
            contenders,
            testbed,
            repeats: 1,
            until: None,
            seed: 1,
            scale: 1.0,
            verify: false,
            sequence: false,
            size: None,
            least_size: None,
            timeout: TIMEOUT,
            mail: synthetic(),
            source_tree: synthetic(),
            study: None,
        }
    }
}

/// The source tree of runs from versions that had no choice.
fn synthetic() -> String {
    "synthetic".to_owned()
}

/// Which part of which study a run is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyTag {
    /// The study as named on the command line.
    pub study: String,
    /// What all runs of one execution of the study have in common, and no other.
    pub group: String,
    /// The part.
    pub part: String,
    /// The assumption; `None` for the study's own machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumption: Option<String>,
    /// The size that was asked for, as a share of the published one; `None` for the study's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<f64>,
    /// How often the results had been looked at when these trials were planned: the first
    /// have 0, those added because the results did not decide have 1 and more.
    #[serde(default)]
    pub look: u32,
    /// Options of the command line that chose the machine, to repeat the study: `--lab mine`. No
    /// paths: reports show it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// Sets the study's text apart from any other.
    pub digest: String,
}

/// A workload as asked for: name and the parameters given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadRequest {
    /// Its name.
    pub name: String,
    /// What was set; the rest has its defaults.
    pub parameters: BTreeMap<String, String>,
}

/// Which testbed, with what it needs: an object with the testbed's name and its settings beside it.
/// Only the testbed interprets the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestbedRequest {
    /// The testbed's name.
    #[serde(rename = "testbed")]
    pub name: String,
    /// Its settings.
    #[serde(flatten)]
    settings: Map<String, Value>,
}

impl TestbedRequest {
    /// The testbed of this name with these settings.
    ///
    /// # Errors
    /// When they are no JSON object: a path among them that is not UTF-8, for instance.
    pub fn new(name: &str, settings: &impl Serialize) -> Result<TestbedRequest, serde_json::Error> {
        let settings = serde_json::from_value(serde_json::to_value(settings)?)?;
        Ok(TestbedRequest { name: name.to_owned(), settings })
    }

    /// Its settings as the testbed knows them.
    ///
    /// # Errors
    /// When they are not of that form: those of another version of fstrial.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(Value::Object(self.settings.clone()))
    }
}

/// Reads `maildir-write:relist=once:fsync=file`: a name and options as contenders have them.
/// `maildir-write@dovecot:ops=500` begins with a preset of the workload, which later options
/// change.
///
/// # Errors
/// When a part is not of the form `name=value`, or there is no such preset. Whether the workload
/// exists and takes the parameters is for the plan to say.
pub fn parse_workload(text: &str) -> Result<WorkloadRequest, String> {
    let mut parts = text.split(':');
    let head = parts.next().unwrap_or_default();
    let (name, preset) = match head.split_once('@') {
        Some((name, preset)) => (name, Some(preset)),
        None => (head, None),
    };
    let mut parameters = BTreeMap::new();
    if let Some(preset) = preset {
        let set = preset_of(name, preset)?.set.iter();
        parameters.extend(set.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    }
    let mut given = BTreeSet::new();
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!("workload `{text}`: `{part}` is not of the form parameter=value")
        })?;
        if !given.insert(key) {
            return Err(format!("workload `{text}`: `{key}` is given twice"));
        }
        parameters.insert(key.to_owned(), value.to_owned());
    }
    Ok(WorkloadRequest { name: name.to_owned(), parameters })
}

fn preset_of(name: &str, preset: &str) -> Result<&'static Preset, String> {
    let workload = workload::named(name).map_err(|unknown| unknown.to_string())?.describe();
    workload.preset(preset).ok_or_else(|| {
        match meant(preset, workload.presets.iter().map(|preset| preset.name)) {
            None => format!("{name} has no presets; its parameters: fstrial list workload {name}"),
            Some(meant) => format!("{name} has no preset `{preset}`; {meant}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use workload::Parameters;

    use super::*;

    /// As runs have kept it from the beginning.
    #[test]
    fn the_name_of_a_testbed_stands_beside_its_settings() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Settings {
            directories: Vec<String>,
        }
        let stored = r#"{"testbed":"dir","directories":["/srv"]}"#;
        let request: TestbedRequest = serde_json::from_str(stored).unwrap();
        let settings = Settings { directories: vec!["/srv".to_owned()] };
        assert_eq!(request, TestbedRequest::new("dir", &settings).unwrap());
        assert_eq!(request.settings::<Settings>().unwrap(), settings);
        assert_eq!(serde_json::to_string(&request).unwrap(), stored);
        let other = r#"{"testbed":"dir","directories":["/srv"],"colour":"red"}"#;
        let other: TestbedRequest = serde_json::from_str(other).unwrap();
        assert!(other.settings::<Settings>().unwrap_err().to_string().contains("colour"));
        assert!(serde_json::from_str::<TestbedRequest>(r#"{"directories":["/srv"]}"#).is_err());
    }

    #[test]
    fn without_other_wishes_a_run_reads_what_fstrial_invents() {
        let on = TestbedRequest::new("dir", &BTreeMap::<String, String>::new()).unwrap();
        let request = Request::new(Vec::new(), Vec::new(), on);
        assert_eq!([request.mail.as_str(), request.source_tree.as_str()], ["synthetic"; 2]);
        assert_eq!(request.timeout, Nanos::from_secs(7200));
        // A run of a version that had no choice of sources.
        let mut stored = serde_json::to_value(&request).unwrap();
        stored.as_object_mut().unwrap().remove("source_tree");
        assert_eq!(serde_json::from_value::<Request>(stored).unwrap(), request);
    }

    #[test]
    fn a_preset_is_where_the_options_begin() {
        let asked = parse_workload("maildir-write@dovecot:fsync=file:ops=5").unwrap();
        assert_eq!(asked.name, "maildir-write");
        assert_eq!(asked.parameters["delivery"], "rename");
        assert_eq!(asked.parameters["fsync"], "file");
        assert_eq!(asked.parameters["ops"], "5");
        let error = |text: &str| parse_workload(text).unwrap_err();
        assert!(error("null:ops=1:ops=2").ends_with("`ops` is given twice"));
        assert!(error("maildir-write@dovcot").ends_with("did you mean `dovecot`?"));
        assert!(error("null@x").contains("has no presets"));
        assert!(error("nothing@x").contains("no workload `nothing`"));
        assert!(error("null:ops").contains("parameter=value"));
    }

    #[test]
    fn every_preset_is_sound_and_answers_its_own_question() {
        for workload in workload::catalogue() {
            let description = workload.describe();
            for preset in description.presets {
                let text = format!("{}@{}", description.name, preset.name);
                let asked = parse_workload(&text).unwrap();
                for scale in [1.0, 0.01] {
                    let resolved =
                        Parameters::resolve(description, &asked.parameters, scale).unwrap();
                    workload.check(&resolved).unwrap();
                    let values: Vec<(String, String)> = resolved
                        .iter()
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .collect();
                    assert_eq!(description.question(&values), preset.question, "{text}");
                }
            }
        }
    }
}
