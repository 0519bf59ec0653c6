//! What a trial tells its workloads of the last mount; guards that can cut the power and others.

use super::*;

struct Plain;

impl Guard for Plain {
    fn permit(&self, _: &Command) -> Result<(), String> {
        Ok(())
    }

    fn ran(&self, _: &Command) {}
}

#[test]
fn a_guard_that_says_nothing_of_power_has_no_switch() {
    for on in [false, true] {
        assert!(!Plain.switch_power(on));
        assert!(!Unguarded::default().switch_power(on));
    }
}

#[test]
fn the_power_of_simulated_disks_is_switched() {
    let seen = RefCell::new(Vec::new());
    let switch = |on: bool| seen.borrow_mut().push(on);
    let guard = Unguarded::with_power(&switch);
    assert!(guard.switch_power(false));
    assert!(guard.switch_power(true));
    assert_eq!(*seen.borrow(), [false, true]);
}

#[test]
fn the_time_of_the_last_mount_is_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let contender = stack::Contender::plain("tmpfs");
    let request = Request {
        contender: &contender,
        data: None,
        members: Vec::new(),
        journal: None,
        size: Bytes::from_mib(1),
        uuid: String::new(),
        hash_seed: String::new(),
    };
    let plan = stack::filesystems::find("tmpfs").unwrap().plan(&request).unwrap();
    let job = Job {
        spec: TrialSpec {
            contender: contender.clone(),
            workloads: Vec::new(),
            seed: workload::Seed(1),
            block: 0,
            size: None,
            verify: false,
            timeout: Nanos::from_secs(60),
        },
        site: Site::Directory { path: directory.path().to_owned(), drop_machine_caches: false },
        inputs: InputFiles::default(),
        tool_path: Vec::new(),
    };
    let guard = Unguarded::default();
    let mut ignored = |_: Event| ();
    let sink: &mut dyn FnMut(Event) = &mut ignored;
    let execution = Execution {
        job: &job,
        guard: &guard,
        sink: RefCell::new(sink),
        step: RefCell::new(Step::Prepare),
        programs: Programs::new(&[]),
    };
    let mounted = Mounted::formerly(directory.path(), Nanos(7));
    let took = |cooling| {
        let target = RefCell::new(Target::of(directory.path()).unwrap());
        TrialHost { execution: &execution, target, cooling, stand: None }.mount_took()
    };
    let remount = cold::Cooling::Remount {
        mounted: &mounted,
        plan: &plan,
        devices: Vec::new(),
        alone: false,
    };
    assert_eq!(took(remount), Some(Nanos(7)));
    assert_eq!(took(cold::Cooling::Directory { drop_machine_caches: false }), None);
}
