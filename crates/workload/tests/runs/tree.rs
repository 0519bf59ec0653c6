//! The workload `tree`, run for real with verification.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use skippable::{Ending, needs_program};
use workload::{Cache, Context, Inputs, Parameters, PhaseEvent, PhaseStatus, Seed, find};

use crate::support::{FakeHost, run};

const SMALL: &str = "files=400 bytes=2M";

pub(crate) fn a_synthetic_tree_goes_through_every_phase() {
    let digests = |seed: u64| -> Vec<(String, u64, u64)> {
        let target = tempfile::tempdir().unwrap();
        let ran = run("tree", target.path(), &Inputs::default(), seed, SMALL);
        assert!(ran.ended.is_ok(), "{:?}", ran.ended);
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
        let phases: Vec<_> =
            ran.phases.iter().map(|p| (p.phase.clone(), p.ops, p.digest)).collect();
        let untar = ran.phase("untar");
        assert_eq!((untar.write_bytes.0, untar.latencies["file"].count()), (2 << 20, 400));
        assert_eq!(ran.phase("copy").write_bytes, untar.write_bytes);
        assert!(matches!(ran.phase("copy").cache, Cache::Cold { .. }));
        assert!(ran.phase("tar").write_bytes > untar.write_bytes, "headers come on top");
        phases
    };
    let one = digests(1);
    let ops: Vec<_> = one.iter().map(|(name, ops, _)| (name.as_str(), *ops)).collect();
    // 400 files in 25 directories; a walk counts the directory it begins with.
    assert_eq!(
        ops,
        [
            ("copy-archive", 1),
            ("untar", 425),
            ("copy", 426),
            ("tar", 426),
            ("find", 426),
            ("remove", 2 * 426 + 2)
        ]
    );
    assert_eq!(one, digests(1));
    assert_ne!(one[1].2, digests(2)[1].2);
}

pub(crate) fn an_archive_of_gnu_tar_with_links_and_long_names_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("source");
    let deep = source.join("d".repeat(90)).join("e".repeat(90));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("long"), vec![7u8; 25_000]).unwrap();
    fs::write(source.join("one"), b"one").unwrap();
    fs::hard_link(source.join("one"), source.join("two")).unwrap();
    std::os::unix::fs::symlink("one", source.join("link")).unwrap();
    fs::write(source.join("empty"), b"").unwrap();
    let archive = home.path().join("a.tar");
    let status = Command::new("tar")
        .args(["--format=gnu", "-cf"])
        .arg(&archive)
        .arg("-C")
        .arg(home.path())
        .arg("source")
        .status()
        .unwrap();
    assert!(status.success());

    let target = tempfile::tempdir().unwrap();
    let inputs = Inputs { source_tree: Some(archive.clone()), ..Inputs::default() };
    let ran = run("tree", target.path(), &inputs, 1, "remove=off");
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    assert!(matches!(ran.phase("remove").status, PhaseStatus::Skipped { .. }));
    // GNU tar finds the archive we wrote equal to the tree it came from.
    let status = Command::new("tar")
        .arg("-df")
        .arg(target.path().join("tree/packed.tar"))
        .arg("-C")
        .arg(target.path().join("tree/copied"))
        .status()
        .unwrap();
    assert!(status.success(), "the copy has the contents, modes and times of the original");
    let copied = target.path().join("tree/copied/source");
    use std::os::unix::fs::MetadataExt;
    assert_eq!(fs::metadata(copied.join("one")).unwrap().nlink(), 2);
    assert_eq!(fs::read_link(copied.join("link")).unwrap().to_str(), Some("one"));
}

pub(crate) fn parts_of_one_tree_leave_it_for_the_next() {
    let whole = tempfile::tempdir().unwrap();
    let all = run("tree", whole.path(), &Inputs::default(), 1, SMALL);
    let target = tempfile::tempdir().unwrap();
    let part = |phases: &str| {
        let settings = format!("{SMALL} phases={phases}");
        run("tree", target.path(), &Inputs::default(), 1, &settings)
    };
    for (phases, expected) in [
        ("untar+copy-archive", &["copy-archive", "untar"][..]),
        ("copy", &["copy"]),
        ("tar+find", &["tar", "find"]),
        ("remove", &["remove"]),
    ] {
        let ran = part(phases);
        assert!(ran.ended.is_ok(), "{phases}: {:?}", ran.ended);
        let names: Vec<_> = ran.phases.iter().map(|phase| phase.phase.as_str()).collect();
        assert_eq!(names, expected, "what was not asked for is not reported");
        for phase in &ran.phases {
            let in_all = all.phase(&phase.phase);
            assert_eq!((phase.ops, phase.digest), (in_all.ops, in_all.digest), "{phases}");
        }
    }
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    let ran = part("copy");
    let message = ran.ended.as_ref().unwrap_err().to_string();
    assert!(message.contains("needs tree/untarred, which untar leaves"), "{message}");
    assert!(matches!(ran.phase("copy").status, PhaseStatus::Skipped { .. }));
}

pub(crate) fn an_archive_is_needed_only_when_asked_for() {
    let target = tempfile::tempdir().unwrap();
    let ran = run("tree", target.path(), &Inputs::default(), 1, "source=archive");
    let message = ran.ended.unwrap_err().to_string();
    assert!(message.contains("no source tree"), "{message}");
}

pub(crate) fn a_synthetic_tree_is_drawn_though_the_trial_has_another() {
    let target = tempfile::tempdir().unwrap();
    // Whoever reads it fails.
    let missing = target.path().join("missing.tar");
    let inputs = Inputs { source_tree: Some(missing), ..Inputs::default() };
    let settings = "files=16 bytes=10K phases=copy-archive";
    let ran = run("tree", target.path(), &inputs, 1, settings);
    assert!(ran.ended.is_err(), "the given one is taken unless another is asked for");
    let ran = run("tree", target.path(), &inputs, 1, &format!("{settings} source=synthetic"));
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    assert_eq!(ran.phase("copy-archive").notes, ["the source tree is synthetic"]);
}

pub(crate) fn a_removal_announces_both_trees_and_both_archives() {
    let target = tempfile::tempdir().unwrap();
    fs::create_dir(target.path().join("tree")).unwrap();
    let tree = find("tree").unwrap();
    let given = [("files", "40"), ("bytes", "100K"), ("phases", "remove")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let parameters = Parameters::resolve(tree.describe(), &BTreeMap::from(given), 1.0).unwrap();
    let (host, inputs) = (FakeHost::default(), Inputs::default());
    let to = target.path().to_owned();
    let mut context = Context::new(&host, tree.describe(), to, parameters, &inputs, Seed(1), true);
    tree.run(&mut context).unwrap();
    let events = host.events.borrow();
    let Some(PhaseEvent::Started { phase, ops_planned, .. }) = events.first() else {
        panic!("{events:?}");
    };
    // 40 files in 2 directories and the root are 43 entries of each tree, and there are 2 archives.
    assert_eq!((phase.as_str(), *ops_planned), ("remove", 88));
    assert!(!target.path().join("tree").exists());
}

/// How often each call touches what lies below `copied`, by strace.
fn calls_on(copied: &str, command: &str) -> BTreeMap<String, usize> {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("strace");
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "400", "-o"])
        .arg(&log)
        .args(["sh", "-c", command])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("strace is installed").success(), "{command}");
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let Some((_, line)) = line.split_once(' ') else { continue };
        let line = line.trim_start();
        let call = line.split('(').next().unwrap_or("");
        let call = match call {
            "mkdirat" => "mkdir",
            "fchownat" => "chown",
            "fchmodat" | "fchmodat2" => "chmod",
            "write" | "openat" | "mkdir" | "chown" | "chmod" | "fchown" | "fchmod"
            | "utimensat" | "newfstatat" => call,
            _ => continue,
        };
        if line.contains(copied) {
            *counts.entry(call.to_owned()).or_default() += 1;
        }
    }
    counts
}

pub(crate) fn the_copy_makes_the_calls_of_cpio() -> Ending {
    needs_program("cpio", "cpio")?;
    let home = crate::support::scratch();
    let path = home.path().display();
    let pack = crate::support::corpus(home.path());
    let ours = format!(
        "{} tree {path} {} files=40 bytes=100K remove=off cold=off",
        crate::support::program().display(),
        pack.path().display()
    );
    let ours = calls_on("tree/copied/linux", &ours);
    let theirs =
        format!("cd {path}/tree/untarred && mkdir {path}/out && find linux | cpio -pdm {path}/out");
    let theirs = calls_on("/out/linux", &theirs);
    assert!(theirs["write"] > 200 && theirs["openat"] == 40, "{theirs:?}");
    assert_eq!(ours, theirs);
    Ok(())
}
