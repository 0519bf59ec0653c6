//! Runs over the cluster that is none.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use slurm::{Options, Order, SlurmTestbed, Spool};
use stack::{Contender, Refusal};
use store::Environment;
use testbed::{Share, Stop, Stopped, Testbed};
use trial::{Event, InputFiles, Outcome, TrialSpec};
use units::Nanos;
use workload::Seed;

use crate::cluster::CLUSTER;

/// What runs on the nodes: it tells whose trial it was.
pub(crate) struct Inner;

impl Testbed for Inner {
    fn name(&self) -> &'static str {
        "inner"
    }

    fn environment(&self) -> Environment {
        Environment::default()
    }

    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        let refused = specs.iter().enumerate().filter(|(_, spec)| spec.contender.name == "refused");
        refused.map(|(at, _)| (at, Refusal::new("it", "on order"))).collect()
    }

    fn run(&self, spec: &TrialSpec, _: &Stop, sink: &mut dyn FnMut(Event)) -> Result<(), Stopped> {
        if is_stopped(spec) {
            return Err(Stopped);
        }
        sink(Event::Note(spec.contender.name.clone()));
        sink(Event::Ended(Outcome::Done));
        Ok(())
    }
}

/// Whether it is stopped as soon as it begins.
pub(crate) fn is_stopped(spec: &TrialSpec) -> bool {
    spec.contender.name == "stopped"
}

fn spec(name: &str) -> TrialSpec {
    TrialSpec {
        contender: Contender { name: name.to_owned(), ..Contender::plain("ext4") },
        workloads: Vec::new(),
        seed: Seed(1),
        block: 0,
        size: None,
        verify: false,
        timeout: Nanos::from_secs(60),
    }
}

/// A run of a test: its spool, and what the user was told.
struct Run {
    test: &'static str,
    room: tempfile::TempDir,
    told: Arc<Mutex<Vec<String>>>,
}

impl Run {
    fn of(test: &'static str) -> Run {
        let run = Run { test, room: tempfile::tempdir().unwrap(), told: Arc::default() };
        run.spool().make().unwrap();
        run.spool().take(&std::env::current_exe().unwrap(), "fstrial").unwrap();
        run
    }

    fn spool(&self) -> Spool {
        Spool::at(&self.room.path().join("spool"))
    }

    fn testbed(&self, options: Options) -> SlurmTestbed {
        self.testbed_of(options, None)
    }

    /// The testbed of a run with this lab.
    fn testbed_of(&self, options: Options, lab_id: Option<String>) -> SlurmTestbed {
        let order = Order {
            token: self.test.to_owned(),
            options,
            testbed: serde_json::Value::Null,
            inputs: InputFiles::default(),
            room: 0,
            inodes: 0,
            lab_id,
            lab_software: None,
        };
        let told = Arc::clone(&self.told);
        let tell = Box::new(move |line| told.lock().unwrap().push(line));
        SlurmTestbed::new(Box::new(Inner), self.spool(), order, tell)
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    /// The calls of this test whose first word this is.
    fn calls(&self, command: &str) -> Vec<String> {
        let cluster = PathBuf::from(std::env::var_os(CLUSTER).unwrap());
        let calls = fs::read_to_string(cluster.join(self.test)).unwrap_or_default();
        let calls = calls.lines().filter(|line| line.starts_with(command));
        calls.map(str::to_owned).collect()
    }
}

/// Trials from this place in the run on, each named after its place.
fn pending(first: u32, count: u32) -> Vec<(u32, TrialSpec)> {
    (first..first + count).map(|ordinal| (ordinal, spec(&format!("trial {ordinal}")))).collect()
}

fn result(testbed: &SlurmTestbed, spec: &TrialSpec, stop: &Stop) -> Result<Vec<Event>, Stopped> {
    let mut events = Vec::new();
    testbed.run(spec, stop, &mut |event| events.push(event)).map(|()| events)
}

fn assert_done(events: &[Event], name: &str) {
    let [Event::Note(note), Event::Took(_), Event::Ended(Outcome::Done)] = events else {
        panic!("{events:?}")
    };
    assert_eq!(note, name);
}

/// Places 998 to 1001 are in two arrays.
pub(crate) fn each_trial_is_a_task_and_its_events_come_back() {
    let run = Run::of("plain");
    let options = Options {
        partition: Some("long".to_owned()),
        at_once: Some(2),
        further: vec!["--account=fs".to_owned()],
        ..Options::default()
    };
    let testbed = run.testbed(options);
    assert_eq!((testbed.name(), testbed.share()), ("inner", Share::Nothing));
    assert_eq!(testbed.admit(&[spec("good"), spec("refused")])[0].0, 1);
    let pending = pending(998, 4);
    testbed.begin(&pending).unwrap();
    for (_, spec) in pending.iter().rev() {
        let events = result(&testbed, spec, &Stop::new()).unwrap();
        assert_done(&events, &spec.contender.name);
    }
    let calls = run.calls("sbatch");
    let [first, second] = &calls[..] else { panic!("{calls:?}") };
    assert!(first.contains("--job-name=plain-0 --array=998-999%2 "), "{first}");
    assert!(second.contains("--job-name=plain-1 --array=0-1%2 "), "{second}");
    for call in &calls {
        assert!(call.contains(" --partition=long --account=fs "), "{call}");
    }
    let told = run.told();
    assert!(told.len() == 1 && told[0].contains(": 4 tasks, logs in "), "{told:?}");
    let again = result(&testbed, &pending[0].1, &Stop::new()).unwrap();
    let [Event::Ended(Outcome::Failed { reason, .. })] = &again[..] else { panic!("{again:?}") };
    assert!(reason.contains("not handed over"), "each place is given once: {reason}");
}

pub(crate) fn what_is_there_already_is_not_submitted_again() {
    let run = Run::of("resumed");
    let pending = pending(0, 3);
    run.testbed(Options::default()).begin(&pending[..2]).unwrap();
    run.told();
    let written = || fs::metadata(run.spool().directory().join("trials/0.json")).unwrap().ino();
    let before = written();
    let testbed = run.testbed(Options::default());
    testbed.begin(&pending).unwrap();
    assert_eq!(written(), before, "a task may be reading it");
    let calls = run.calls("sbatch");
    assert!(calls.len() == 2 && calls[1].contains("--array=2 "), "{calls:?}");
    let told = run.told();
    assert_eq!(told[0], "slurm: 2 results are there already, 0 tasks still wait or run");
    for (_, spec) in &pending {
        assert_done(&result(&testbed, spec, &Stop::new()).unwrap(), &spec.contender.name);
    }
}

/// Of the second array, task 0 was cancelled by somebody, task 1 was on a node that failed, task 2
/// runs.
pub(crate) fn a_lost_task_is_submitted_again_and_a_cancelled_one_stops_the_run() {
    let run = Run::of("lossy");
    let testbed = run.testbed(Options::default());
    let pending = pending(1000, 3);
    testbed.begin(&pending).unwrap();
    run.told();
    let results: Vec<_> = std::thread::scope(|scope| {
        let waits: Vec<_> = pending
            .iter()
            .map(|(_, spec)| scope.spawn(|| result(&testbed, spec, &Stop::new())))
            .collect();
        waits.into_iter().map(|wait| wait.join().unwrap()).collect()
    });
    assert_eq!(results[0], Err(Stopped), "the user ended it");
    assert_done(results[1].as_ref().unwrap(), "trial 1001");
    assert_done(results[2].as_ref().unwrap(), "trial 1002");
    let calls = run.calls("sbatch");
    assert!(calls.len() == 2 && calls[1].contains("--array=1 "), "{calls:?}");
    let told = run.told();
    assert!(told[0].starts_with("slurm: 1 lost tasks submitted again, as job "), "{told:?}");
}

pub(crate) fn a_run_that_is_stopped_cancels_its_tasks() {
    let run = Run::of("endless");
    let testbed = run.testbed(Options::default());
    let pending = pending(1000, 2);
    testbed.begin(&pending).unwrap();
    let stop = Stop::new();
    stop.ask();
    for (_, spec) in &pending {
        assert_eq!(result(&testbed, spec, &stop), Err(Stopped));
    }
    assert_eq!(run.calls("scancel"), ["scancel --name endless-1"], "once for all of them");
    // The tasks are still there when the run goes on.
    run.told();
    run.testbed(Options::default()).begin(&pending).unwrap();
    assert_eq!(run.told(), ["slurm: 0 results are there already, 2 tasks still wait or run"]);
    assert_eq!(run.calls("sbatch").len(), 1);
}

pub(crate) fn a_task_that_ends_without_a_result_is_tried_three_times() {
    let run = Run::of("hopeless");
    let testbed = run.testbed(Options::default());
    let pending = pending(1, 1);
    testbed.begin(&pending).unwrap();
    let stop = Stop::new();
    let at_last = stop.clone();
    std::thread::spawn(move || {
        waiting::pause(std::time::Duration::from_secs(60), "it ends by itself");
        at_last.ask();
    });
    let events = result(&testbed, &pending[0].1, &stop).expect("it ends by itself");
    let [Event::Ended(Outcome::Lost { reason })] = &events[..] else { panic!("{events:?}") };
    assert!(reason.contains("3 times without a result, last on node7"), "{reason}");
    assert_eq!(run.calls("sbatch").len(), 3);
}

/// It is run again when the run goes on.
pub(crate) fn a_task_that_is_stopped_leaves_no_result() {
    let run = Run::of("halted");
    run.testbed(Options::default()).begin(&[(0, spec("stopped")), (1, spec("good"))]).unwrap();
    let results = fs::read_dir(run.spool().directory().join("results")).unwrap();
    let results: Vec<_> = results.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(results, ["1.events"]);
}

pub(crate) fn a_node_with_another_lab_has_no_figure_for_the_run() {
    let run = Run::of("lab");
    let testbed = run.testbed_of(Options::default(), Some("abc".to_owned()));
    let pending = pending(0, 1);
    testbed.begin(&pending).unwrap();
    let events = result(&testbed, &pending[0].1, &Stop::new()).unwrap();
    let [Event::Ended(Outcome::Failed { reason, .. })] = &events[..] else { panic!("{events:?}") };
    assert!(reason.contains("this node's lab is none, the run's is abc"), "{reason}");
}

pub(crate) fn lanes_are_the_processors_and_what_is_asked_for() {
    let run = Run::of("lanes");
    let specs = vec![spec("one"); 20];
    let lanes =
        |at_once, specs| run.testbed(Options { at_once, ..Options::default() }).lanes(specs);
    assert_eq!(lanes(None, &specs), 8);
    assert_eq!(lanes(Some(5), &specs), 5);
    assert_eq!(lanes(Some(5), &specs[..3]), 3);
    assert_eq!(lanes(None, &[]), 1);
}
