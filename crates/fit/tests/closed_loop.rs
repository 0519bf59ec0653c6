//! A drive that is hidden from the fit is found by its answers, in virtual time.

use disk::{Asked, DISKS, DiskDescription};
use fit::{Description, Kind, Plan, Role, Session, answers, fit, quality, serve, worst};
use units::Bytes;

fn shipped(name: &str) -> &'static str {
    DISKS.iter().find(|shipped| shipped.name == name).map_or("", |shipped| shipped.text)
}

/// Reads scattered by a multiplication: the test needs no generator of its own.
fn reads(session: &'static str, role: Role, count: u64, size: u64, salt: u64) -> Session {
    let place = |nth: u64| (nth * 2_654_435_761 + salt) % 400_000_000 * 8;
    let requests = (0..count).map(|nth| Asked::read(place(nth), size)).collect();
    Session { name: session, role, depth: 1, requests }
}

#[test]
fn a_hidden_drive_is_found_by_its_reads() {
    let text = shipped("seagate-st2000dm006");
    let hidden = text
        .replace("rpm = 7200", "rpm = 5900")
        .replace("average = \"8.5ms\"", "average = \"10.8ms\"")
        .replace("full = \"16ms\"", "full = \"19ms\"");
    assert_ne!(hidden, text);
    let hidden = DiskDescription::parse("hidden", &hidden).unwrap();
    let plan = Plan {
        kind: Kind::Drive,
        span: Bytes::from_gib(1600),
        sessions: vec![
            reads("fitted to", Role::Reads, 500, 8, 0),
            reads("held out", Role::HeldOut, 1500, 32, 77),
        ],
    };
    let measured = serve(&hidden, 5, &plan).unwrap();
    let start = Description::parse("start", text).unwrap();
    let against = |disk: &DiskDescription| {
        worst(&quality(&plan, &measured, &serve(disk, 1, &plan).unwrap())).unwrap()
    };
    assert!(against(&start.disk().unwrap()) > 0.1, "the two differ to begin with");
    let fitted = fit(&plan, &measured, start.clone(), 1, |_| {}).unwrap();
    let found = against(&fitted.description.disk().unwrap());
    assert!(found < 0.05, "{found}");
    assert_eq!(fit(&plan, &measured, start, 1, |_| {}).unwrap(), fitted, "equal arguments");

    // The file says of each parameter where it comes from, and can be read.
    let text = fitted.text("mine", "a drive of mine", 3_000_000_000, "measured here");
    let read = DiskDescription::parse("mine.toml", &text).unwrap();
    assert!(read.provenance.iter().any(|from| !from.assumed && from.text == "measured here"));
    assert!(read.provenance.iter().any(|from| from.assumed && from.of.contains(&"heads".into())));
}

#[test]
fn what_is_no_single_disk_is_refused() {
    for name in ["ideal", "areca-arc-1220"] {
        let error = Description::parse(name, shipped(name)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("neither"), "{error}");
    }
}

#[test]
fn a_device_is_asked_for_reads_alone() {
    for kind in [Kind::Drive, Kind::Ssd] {
        let plan = Plan::new(kind, Bytes::from_gib(1), false, 1);
        assert!(!plan.sessions.is_empty());
        let asked = plan.sessions.iter().flat_map(|session| &session.requests);
        for asked in asked {
            assert_eq!(asked.operation, disk::Operation::Read);
        }
    }
}

/// A small SSD's plan: few pages, so that it is soon filled.
fn of_a_small_ssd() -> Plan {
    let pages = 4096;
    let session = |name, role, depth, requests| Session { name, role, depth, requests };
    let reads = |count: u64, size: u64, salt: u64| -> Vec<Asked> {
        let place = |nth: u64| (nth * 2_654_435_761 + salt) % pages * 8 / size * size;
        (0..count).map(|nth| Asked::read(place(nth), size)).collect()
    };
    let filling = (0..pages * 8 / 2048).map(|piece| Asked::write(piece * 2048, 2048)).collect();
    Plan {
        kind: Kind::Ssd,
        span: Bytes(pages * 4096),
        sessions: vec![
            session("filling", Role::Prepare, 1, filling),
            session("one", Role::Reads, 1, reads(200, 8, 0)),
            session("large", Role::Reads, 1, reads(200, 128, 0)),
            session("eight", Role::Reads, 8, reads(2000, 8, 5)),
            session("held out", Role::HeldOut, 6, reads(2000, 8, 77)),
        ],
    }
}

#[test]
fn an_ssd_is_found_by_its_reads_with_as_many_dies() {
    let text = shipped("samsung-870-evo");
    let hidden = text
        .replace("channels = 8", "channels = 10")
        .replace("read = \"46us\"", "read = \"57us\"")
        .replace("command_interval = \"3us\"", "command_interval = \"2.5us\"");
    let hidden = DiskDescription::parse("hidden", &hidden).unwrap();
    let plan = of_a_small_ssd();
    let measured = serve(&hidden, 5, &plan).unwrap();
    let start = Description::parse("start", text).unwrap();
    let fitted = fit(&plan, &measured, start, 1, |_| {}).unwrap();
    let found = answers(&fitted.description.disk().unwrap(), 1, &plan).unwrap();
    let found = worst(&quality(&plan, &measured, &found)).unwrap();
    assert!(found < 0.02, "{found}");
    let table: toml::Table = fitted.description.text().parse().unwrap();
    let count = |key: &str| table["ssd"][key].as_integer().unwrap();
    assert_eq!(count("channels") * count("dies_per_channel"), 20);
}

#[test]
fn a_plan_leaves_its_last_session_a_third_of_five_minutes() {
    let slow = shipped("seagate-st2000dm006-fitted")
        .replace("rpm = 7200", "rpm = 5040")
        .replace("average = \"13.4ms\"", "average = \"17.4ms\"")
        .replace("full = \"24ms\"", "full = \"31.2ms\"");
    for (kind, text) in [(Kind::Drive, slow.as_str()), (Kind::Ssd, shipped("samsung-870-evo"))] {
        let disk = DiskDescription::parse("slow", text).unwrap();
        let span = if kind == Kind::Drive { Bytes::from_gib(1800) } else { Bytes::from_mib(256) };
        let plan = Plan::new(kind, span, true, 1);
        let answered = serve(&disk, 1, &plan).unwrap();
        let taken = plan.sessions.iter().zip(&answered).map(|(session, times)| {
            times.iter().map(|time| time.0 as f64 / 1e9).sum::<f64>() / session.depth as f64
        });
        // The last session has what time the others leave.
        let taken: f64 = taken.take(plan.sessions.len() - 1).sum();
        assert!(taken < 200.0, "{kind:?}: {taken} s");
    }
}

#[test]
fn more_answers_of_a_model_are_of_the_same_disk() {
    let drive = DiskDescription::parse("drive", shipped("seagate-st2000dm006")).unwrap();
    let along = (0..50).map(|nth| Asked::read(nth * 512, 512)).collect();
    let plan = Plan {
        kind: Kind::Drive,
        span: Bytes::from_gib(1600),
        sessions: vec![
            reads("at random", Role::HeldOut, 1000, 8, 0),
            Session { name: "along", role: Role::HeldOut, depth: 1, requests: along },
        ],
    };
    let (once, often) = (serve(&drive, 1, &plan).unwrap(), answers(&drive, 1, &plan).unwrap());
    assert!(often[0].len() > 2 * once[0].len());
    // Other answers to the same requests, and what runs along the disk still does.
    let seen: std::collections::BTreeSet<_> = often[0].iter().collect();
    assert!(seen.len() > 2 * once[0].iter().collect::<std::collections::BTreeSet<_>>().len());
    assert!(worst(&quality(&plan, &once, &often)).unwrap() < 0.1);
}
