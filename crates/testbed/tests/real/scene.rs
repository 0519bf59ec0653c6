//! A ledger and places of a test's own, and trials for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use device::Ledger;
use stack::Contender;
use testbed::{DeviceTestbed, DirectoryTestbed, Stop, Stopped, Testbed};
use trial::{Event, InputFiles, Made, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Parameters, Seed};

/// Everything below one directory, which is removed with it.
pub(crate) struct Scene {
    home: tempfile::TempDir,
    /// Where its testbeds look for programs.
    programs: Vec<PathBuf>,
}

impl Scene {
    /// With this machine's programs.
    pub(crate) fn new() -> Scene {
        let programs = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from).into();
        Scene { programs, ..Scene::without_programs() }
    }

    pub(crate) fn without_programs() -> Scene {
        Scene { home: tempfile::tempdir().unwrap(), programs: Vec::new() }
    }

    /// A directory of this name, made if it is missing.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap()
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(&self.home.path().join("ledger")).unwrap()
    }

    /// Directories of these names, whose contenders are called the same.
    pub(crate) fn directories(&self, names: &[&str], room: Bytes) -> DirectoryTestbed {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.place(name)).collect();
        self.testbed_in(&paths, names, room)
    }

    /// These directories, whose contenders have these names.
    pub(crate) fn testbed_in(
        &self,
        paths: &[PathBuf],
        names: &[&str],
        room: Bytes,
    ) -> DirectoryTestbed {
        self.testbed_with(paths, names, workload::Space { bytes: room, inodes: 0 })
    }

    /// The same, for a run that needs so much.
    pub(crate) fn testbed_with(
        &self,
        paths: &[PathBuf],
        names: &[&str],
        room: workload::Space,
    ) -> DirectoryTestbed {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let inputs = InputFiles::default();
        DirectoryTestbed::new(
            self.ledger(),
            paths,
            &names,
            false,
            inputs,
            self.programs.clone(),
            room,
        )
    }

    /// These devices, or loop files in the place `loops`.
    pub(crate) fn devices(&self, devices: &[PathBuf], destroy: &[PathBuf]) -> DeviceTestbed {
        self.devices_for(devices, destroy, workload::Space::default())
    }

    /// The same, for a run that needs so much.
    pub(crate) fn devices_for(
        &self,
        devices: &[PathBuf],
        destroy: &[PathBuf],
        room: workload::Space,
    ) -> DeviceTestbed {
        let (loops, inputs) = (self.place("loops"), InputFiles::default());
        DeviceTestbed::new(
            self.ledger(),
            devices,
            destroy,
            &loops,
            inputs,
            self.programs.clone(),
            room,
        )
    }
}

/// Names of what lies in a directory.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The contender of this name on this filesystem, with one workload: `fsync-append:records=4`.
pub(crate) fn spec(name: &str, filesystem: &str, workload: &str) -> TrialSpec {
    let contender = Contender::parse_list(filesystem).unwrap().remove(0);
    let (workload, given) = workload.split_once(':').unwrap_or((workload, ""));
    let given: BTreeMap<String, String> = given
        .split(':')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let description = workload::find(workload).unwrap().describe();
    let parameters = Parameters::resolve(description, &given, 1.0).unwrap();
    TrialSpec {
        contender: Contender { name: name.to_owned(), ..contender },
        workloads: vec![WorkloadChoice { name: workload.to_owned(), parameters }],
        seed: Seed(1),
        block: 0,
        size: Some(Bytes::from_mib(256)),
        verify: true,
        timeout: Nanos::from_secs(300),
    }
}

/// Some records of a log, which take a moment.
pub(crate) const LOG: &str = "fsync-append:records=4:record=4K:segment=16K:writers=1";

/// Runs a trial; `watch` sees each of its events.
pub(crate) fn run(
    testbed: &dyn Testbed,
    spec: &TrialSpec,
    stop: &Stop,
    watch: &mut dyn FnMut(&Event),
) -> Result<Vec<Event>, Stopped> {
    let mut events = Vec::new();
    let ended = testbed.run(spec, stop, &mut |event| {
        watch(&event);
        events.push(event);
    });
    let ends = events.iter().filter(|event| matches!(event, Event::Ended(_))).count();
    assert_eq!(ends, usize::from(ended.is_ok()), "{events:?}");
    ended.map(|()| events)
}

/// Runs a trial that has to succeed; what it ran on.
pub(crate) fn done(testbed: &dyn Testbed, spec: &TrialSpec) -> Made {
    assert_eq!(testbed.admit(std::slice::from_ref(spec)), []);
    let events = run(testbed, spec, &Stop::new(), &mut |_| {}).unwrap();
    assert_eq!(events.last(), Some(&Event::Ended(trial::Outcome::Done)), "{events:?}");
    let made = events.into_iter().find_map(|event| match event {
        Event::Made(made) => Some(*made),
        _ => None,
    });
    made.unwrap()
}

/// Why the testbed refuses the trial.
pub(crate) fn refusal(testbed: &dyn Testbed, spec: &TrialSpec) -> String {
    let refused = testbed.admit(&[self::spec("none", "ext4", "boot"), spec.clone()]);
    let found = refused.iter().find(|(at, _)| *at == 1);
    found.map(|(_, refusal)| refusal.to_string()).unwrap_or_default()
}
