//! Booting the system of the part `boot`, where it was built into this user's lab. This
//! program is also the guest's first process and the system's preloader, which is why it has
//! no test harness. Building the part takes too long for a test: without it, it says so.

use std::collections::BTreeMap;

use lab::{Extras, Lab, MachineProfile};
use stack::Contender;
use testbed::Stop;
use trial::{Event, InputFiles, Outcome, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Parameters, PhaseEvent, PhaseResult, Seed};

fn main() {
    if guest::is_guest() {
        guest::run();
    }
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == workload::PRELOAD_COMMAND) {
        workload::preload_main(words.map(Into::into));
        return;
    }
    let Some(lab) = open() else {
        println!("skipped: the part `boot` is not built here (fstrial lab build --with boot)");
        return;
    };
    let (first, log) = boot(&lab);
    let (second, same_log) = boot(&lab);
    assert_eq!((&first.wall, &first.figures), (&second.wall, &second.figures));
    assert_eq!(log, same_log, "the disk was asked for the same, at the same times");
    let figure = |name: &str| first.figures.get(name).copied().expect("each boot has it");
    assert!(figure("login_s") < figure("desktop_s"), "{:?}", first.figures);
    assert!(figure("desktop_s") < figure("uptime_s"), "mounting comes before");
    let read = first.device.expect("it has a disk").read_bytes;
    assert!(read > Bytes::from_mib(20), "a boot reads its programs: {read}");
    println!("two boots, {} each, are one", first.wall);
}

fn open() -> Option<Lab> {
    let cache = lab::cache_directory().ok()?;
    let parts = lab::current(&cache).ok()?.parts().ok()?;
    let files = InputFiles { system: Some(parts.system()?), ..InputFiles::default() };
    let binary = std::env::current_exe().expect("this program has a path");
    let profile = MachineProfile::find("laptop-2005").expect("it is shipped");
    Some(Lab::open(parts, &binary, &cache, profile, &files).expect("the lab is whole"))
}

/// One boot: its phase, and a digest of everything the disk was asked for.
fn boot(lab: &Lab) -> (PhaseResult, String) {
    let description = workload::find("boot").expect("it is in the catalogue").describe();
    let parameters = Parameters::resolve(description, &BTreeMap::new(), 1.0).expect("defaults");
    let spec = TrialSpec {
        contender: Contender::parse_list("ext3").expect("it is in the catalogue").remove(0),
        workloads: vec![WorkloadChoice { name: "boot".to_owned(), parameters }],
        seed: Seed(1),
        block: 0,
        size: Some(Bytes::from_gib(4)),
        verify: false,
        timeout: Nanos::from_secs(3600),
    };
    let (mut result, mut outcome) = (None, None);
    let carried = lab
        .carry_out(&spec, &Extras::default(), &Stop::new(), &mut |event| match event {
            Event::Phase(PhaseEvent::Finished(phase)) => result = Some(*phase),
            Event::Ended(ended) => outcome = Some(ended),
            _ => {}
        })
        .expect("a guest starts");
    assert_eq!(outcome, Some(Outcome::Done), "{}", carried.said);
    (result.expect("a boot is a phase"), carried.log_digest)
}
