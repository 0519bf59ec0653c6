//! The workload `video`, emulated with verification and with the real ffmpeg.

use std::process::Command;

use workload::{Inputs, PhaseStatus};

use crate::support::{run, scratch};

#[test]
fn every_phase_moves_the_bytes_it_should() {
    let target = scratch();
    let size = 5_000_000;
    let ran =
        run("video", target.path(), &Inputs::default(), 1, &format!("size={size} keep=0.5 cuts=3"));
    assert!(ran.ended.is_ok(), "verification compares all three files: {:?}", ran.ended);
    assert_eq!(ran.phase("copy").write_bytes.0, size);
    assert_eq!(ran.phase("md5").read_bytes.0, size);
    // Of each 188 bytes 184 stay, in 77 clusters, with an index and a header before and after.
    let payload = size / 188 * 184 + size % 188 - 4;
    let clusters = payload.div_ceil((64 << 10) - 32);
    let remuxed = 4096 + payload + clusters * (32 + 16);
    assert_eq!(ran.phase("remux").read_bytes.0, size);
    assert_eq!((ran.phase("remux").ops, ran.phase("remux").write_bytes.0), (clusters, remuxed));
    assert_eq!(ran.phase("md5-remuxed").read_bytes.0, remuxed);
    let kept = ran.phase("cut").ops;
    assert!(kept.abs_diff(clusters / 2) <= 4, "{kept} of {clusters}");
    assert_eq!(ran.phase("delete").ops, 2);
    let total: u64 = ran.phases.iter().map(|phase| phase.wall.0).sum();
    assert_eq!(ran.phase("delete").figures["total_s"], total as f64 / 1e9);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn real_media_go_through_real_tools() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("skipped: the real tool is not installed (apt-get install ffmpeg)");
        return;
    }
    let target = scratch();
    let ran = run("video", target.path(), &Inputs::default(), 1, "size=20M mode=real cuts=1");
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let bytes = |phase: &str| ran.phase(phase).write_bytes.0 as f64;
    assert!(bytes("copy") >= 20e6 && bytes("copy") < 50e6, "{}", bytes("copy"));
    let share = bytes("remux") / bytes("copy");
    assert!(share > 0.8 && share < 1.0, "another container for the same streams: {share}");
    let share = bytes("cut") / bytes("remux");
    assert!(share > 0.6 && share < 0.95, "three quarters, to the next whole picture: {share}");
    assert!(ran.phase("remux").cpu.total().0 > 0, "the tool's time counts");
}

#[test]
fn without_the_real_tool_nothing_is_emulated_in_its_name() {
    let target = scratch();
    let pack = crate::support::corpus(target.path());
    let output = Command::new(crate::support::program())
        .env("PATH", "/nowhere")
        .arg("video")
        .arg(target.path())
        .arg(pack.path())
        .args(["size=1M", "mode=real"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("apt-get install ffmpeg"), "{error}");
    let ran = run("video", target.path(), &Inputs::default(), 1, "size=1M");
    assert!(ran.phases.iter().all(|phase| phase.status == PhaseStatus::Completed));
}
