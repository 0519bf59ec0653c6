//! Booting the system of the part `boot`, where it was built into this user's lab.
//! Building the part takes too long for a test: without it the test is ignored.

use std::collections::BTreeMap;

use lab::{Extras, Lab, MachineProfile};
use libtest_mimic::{Arguments, Trial};
use stack::Contender;
use testbed::Stop;
use trial::{Event, InputFiles, Outcome, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Parameters, PhaseEvent, PhaseResult, Seed};

fn main() {
    let arguments = Arguments::from_args();
    let lab = if arguments.list { None } else { open() };
    let missing = lab.is_none();
    if missing && !arguments.list {
        println!("skipped: the part `boot` is not built here (fstrial lab build --with boot)");
    }
    let test = Trial::test("two boots of one tree repeat", move || {
        two_boots_repeat(&lab.ok_or("the part `boot` is not built here")?);
        Ok(())
    });
    libtest_mimic::run(&arguments, vec![test.with_ignored_flag(missing)]).exit();
}

fn two_boots_repeat(lab: &Lab) {
    let (phases, log) = boots(lab);
    let (again, same_log) = boots(lab);
    assert_eq!(phases, again);
    assert_eq!(log, same_log, "the disk was asked for the same, at the same times");
    assert_eq!(phases.len(), VARIANTS.len());
    for boot in &phases {
        let figure = |name: &str| boot.figures.get(name).copied().expect("each boot has it");
        assert!(figure("login_s") < figure("desktop_s"), "{:?}", boot.figures);
        assert!(figure("desktop_s") < figure("uptime_s"), "mounting comes before");
        // Also the second boot of a tree, whose programs the first has just read.
        let read = boot.device.as_ref().expect("it has a disk").read_bytes;
        assert!(read > Bytes::from_mib(20), "a boot reads its programs: {read}");
    }
    assert!(phases[0].notes[0].starts_with("a tree of"), "{:?}", phases[0].notes);
    assert!(phases[1].notes[0].starts_with("the tree of the boot before; 0 files"));
    println!("two boots of one tree, {} and {}, repeat", phases[0].wall, phases[1].wall);
}

fn open() -> Option<Lab> {
    let cache = lab::cache_directory().ok()?;
    let parts = lab::find(&cache, lab::DEFAULT_LAB).ok()?.parts().ok()?;
    let files = InputFiles { system: Some(parts.system()?), ..InputFiles::default() };
    let profile = MachineProfile::find("laptop-2005").expect("it is shipped");
    Some(Lab::open(parts, &cache, profile, &files).expect("the lab is whole"))
}

/// The variants that are booted one after the other, from one tree.
const VARIANTS: [&str; 2] = ["default", "no-preload"];

/// The phases of these boots, and a digest of everything the disk was asked for.
fn boots(lab: &Lab) -> (Vec<PhaseResult>, String) {
    let description = workload::find("boot").expect("it is in the catalogue").describe();
    let workloads = VARIANTS.map(|variant| {
        let given = BTreeMap::from([("variant".to_owned(), variant.to_owned())]);
        let parameters = Parameters::resolve(description, &given, 1.0).expect("it is a variant");
        WorkloadChoice { name: "boot".to_owned(), parameters }
    });
    let spec = TrialSpec {
        contender: Contender::parse_list("ext3").expect("it is in the catalogue").remove(0),
        workloads: workloads.to_vec(),
        seed: Seed(1),
        block: 0,
        size: Some(Bytes::from_gib(4)),
        verify: false,
        timeout: Nanos::from_secs(3600),
    };
    let (mut results, mut outcome) = (Vec::new(), None);
    let carried = lab
        .carry_out(&spec, &Extras::default(), &Stop::new(), &mut |event| match event {
            Event::Phase(PhaseEvent::Finished(phase)) => results.push(*phase),
            Event::Ended(ended) => outcome = Some(ended),
            _ => {}
        })
        .expect("a guest starts");
    assert_eq!(outcome, Some(Outcome::Done), "{}", carried.said);
    (results, carried.log_digest)
}
