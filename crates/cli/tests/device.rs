//! Testbed `device` on loop files of its own, as root.

mod sandbox;

use sandbox::{Sandbox, images, is_root};

const SMALL: &str = "--scale 0.002 --mail synthetic:count=50 --quiet";

#[test]
fn every_filesystem_is_made_worked_on_and_checked() {
    if !is_root() {
        return;
    }
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run(&format!(
            "run maildir-write maildir-read unpack --testbed device \
             --fs ext2,ext3,ext4,xfs,btrfs,tmpfs --repeats 1 --size 320M --verify --json - {SMALL}"
        ))
        .ended_with(0);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let trials = json["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6 * 3);
    let text = ran.stdout.as_str();
    assert!(text.contains("loop file, direct I/O, fully allocated"));
    assert!(text.contains("ext4.ko, feature set of ext2"));
    assert!(text.contains("unmounted and mounted again"), "read phases began cold");
    assert_eq!(images(&sandbox.path(".cache/fstrial/loop")), [] as [std::path::PathBuf; 0]);
}

#[test]
fn a_filesystem_that_is_too_small_fails_alone_with_its_reason() {
    if !is_root() {
        return;
    }
    let sandbox = Sandbox::new();
    // xfs needs 300 MB; the others go on.
    let ran = sandbox
        .run("run null:ops=1000 --testbed device --fs ext4,xfs --repeats 1 --size 64M --quiet")
        .ended_with(1);
    assert!(ran.stdout.contains("300 MiB"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 of 2 trials done"), "{}", ran.stdout);
}

#[test]
fn a_full_filesystem_fails_the_phase_and_not_the_run() {
    if !is_root() {
        return;
    }
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run(
            "run unpack:mails=20000 null:ops=1000 --testbed device --fs ext4,tmpfs --repeats 1 \
             --size 16M --mail synthetic:count=50 --quiet",
        )
        .ended_with(1);
    let unwrapped = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("No space left on device"), "{unwrapped}");
    assert!(unwrapped.contains("2 of 4 trials done, 2 failed"), "{unwrapped}");
}
