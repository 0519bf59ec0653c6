//! What fstrial reads of others, with inputs that nobody meant: see crate `fuzz`.

use std::path::{Path, PathBuf};

use workload::corpora::{MailCorpus, own, synthetic};
use workload::{InputFacts, Kind, Parameters};

fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

fn below(directory: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory)
}

/// The files of a directory whose names end so.
fn files(directory: &str, end: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(below(directory))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no seeds in {directory}");
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn disks() {
    fuzz::run("disks", &files("crates/disk/parameters", ".toml"), |input| {
        let text = text(input);
        if let Ok(disk) = disk::DiskDescription::parse("a-disk", &text) {
            let _ = (disk.zones(), disk.revolution());
        }
    });
}

#[test]
fn profiles() {
    fuzz::run("profiles", &files("crates/lab/profiles", ".toml"), |input| {
        let _ = lab::MachineProfile::parse("a-profile", &text(input));
    });
}

#[test]
fn contenders_and_workloads() {
    let seeds = [
        "ext4,xfs,btrfs",
        "ext4:journal=data:lazy_init=on,xfs:era=2004",
        "btrfs@raid1,ext4@md-raid5:chunk=64K",
        "maildir-write:ops=100:fsync=none",
    ];
    let seeds = seeds.map(|seed| seed.as_bytes().to_vec());
    fuzz::run("contenders", &seeds, |input| {
        let text = text(input);
        let _ = stack::Contender::parse_list(&text);
        let _ = runner::parse_workload(&text);
        let _ = text.parse::<units::Bytes>();
        let _ = text.parse::<units::Nanos>();
    });
}

/// Documents that workloads take: phases of one's own, profiles, jobs.
#[test]
fn documents() {
    let takers = workload::WORKLOADS.iter().flat_map(|workload| {
        let documents = workload.describe().parameters.iter();
        documents.filter(|it| matches!(it.kind, Kind::Document(_))).map(move |it| (workload, it))
    });
    for (workload, parameter) in takers {
        let Kind::Document(shipped) = parameter.kind else { continue };
        let mut seeds: Vec<Vec<u8>> = shipped.iter().map(|it| it.1.as_bytes().to_vec()).collect();
        seeds.extend(files("crates/cli/tests/fuzz/seeds", ".toml"));
        let description = workload.describe();
        fuzz::run(&format!("document-{}", description.name), &seeds, |input| {
            let given = [(parameter.name.to_owned(), text(input))].into();
            if let Ok(parameters) = Parameters::resolve(description, &given, 1.0) {
                let _ = workload.space(&parameters, &InputFacts::default());
            }
        });
    }
}

#[test]
fn studies() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["study.toml", "claims.toml", "published.toml"];
    let shipped = below("studies/maildir-2004-full");
    for name in names.iter().filter(|name| shipped.join(name).is_file()) {
        let whole: Vec<u8> = std::fs::read(shipped.join(name)).unwrap();
        for other in names {
            let text = std::fs::read(shipped.join(other)).unwrap_or_default();
            std::fs::write(directory.path().join(other), text).unwrap();
        }
        fuzz::run(&format!("study-{name}"), &[whole], |input| {
            std::fs::write(directory.path().join(name), text(input)).unwrap();
            if let Ok(source) = study::Source::folder(directory.path()) {
                let _ = study::load(&source);
            }
        });
    }
}

#[test]
fn mail_packs() {
    let directory = tempfile::tempdir().unwrap();
    let pack = synthetic::ensure(directory.path(), 20, 1).unwrap();
    let seed = std::fs::read(&pack).unwrap();
    // The index of a pack is at an end of it: what matters is there as often as in the mails.
    let short = [&seed[..seed.len().min(2048)], &seed[seed.len().saturating_sub(2048)..]].concat();
    let changed = directory.path().join("changed.mailpack");
    fuzz::run("mail-packs", &[seed, short], |input| {
        std::fs::write(&changed, input).unwrap();
        if let Ok(mails) = MailCorpus::open(&changed) {
            let _ = (mails.mean_size(), mails.label(), mails.check_contents().is_ok());
            (0..mails.len().min(100)).for_each(|nth| drop(mails.mail(nth).to_vec()));
        }
    });
}

#[test]
fn mailboxes() {
    let directory = tempfile::tempdir().unwrap();
    let seeds = [
        "From a@b Mon Jan  1 00:00:00 2001\nSubject: one\n\nbody\n>From here\n\nFrom c@d x\n\nb\n",
        "From \n\nFrom \n\n\n",
        "Subject: no mailbox\n\nbody\n",
    ];
    let (mbox, pack) = (directory.path().join("mbox"), directory.path().join("pack"));
    fuzz::run("mailboxes", &seeds.map(|seed| seed.as_bytes().to_vec()), |input| {
        std::fs::write(&mbox, input).unwrap();
        let _ = std::fs::remove_file(&pack);
        if own::build(&mbox, &pack).is_ok() {
            MailCorpus::open(&pack).expect("what was built can be opened");
        }
    });
}

#[test]
fn stores() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    stored::write(&path, 2, 1, 1);
    let seed = std::fs::read(&path).unwrap();
    let changed = directory.path().join("changed.db");
    let compressed = store::compress(&seed).unwrap();
    fuzz::run("stores", &[seed, compressed], |input| {
        for end in ["", "-journal", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", changed.display()));
        }
        std::fs::write(&changed, input).unwrap();
        let Ok(store) = store::Store::open_existing(&changed) else { return };
        let _ = (store.runs(), store.each_run(), store.unfinished("latest"));
        if let Ok(run) = store.run("latest") {
            let _ = report::analyse(&run);
        }
    });
}

#[test]
fn what_a_guest_tells() {
    use trial::{Event, Outcome, Step, protocol};
    let events = [
        Event::Step(Step::Mkfs),
        Event::Note("a remark".to_owned()),
        Event::Ended(Outcome::Failed { step: Step::Mount, reason: "no".to_owned() }),
        Event::Phase(workload::PhaseEvent::Progress { ops_done: 7 }),
    ];
    let seeds = events.map(|event| {
        let mut line = Vec::new();
        protocol::write_event(&mut line, &event).unwrap();
        line
    });
    fuzz::run("guest-events", &seeds, |input| {
        for line in text(input).lines() {
            let _ = protocol::decode_event(line);
        }
        let _ = protocol::read_order::<trial::Job>(&mut &input[..]);
    });
}

#[path = "../../benches/cost/stored.rs"]
mod stored;
