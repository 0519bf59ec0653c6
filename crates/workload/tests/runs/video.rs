//! The workload `video`, emulated with verification and with the real ffmpeg.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;
use skippable::{Ending, needs_program};
use workload::{Inputs, PhaseStatus};

use crate::support::{run, scratch};
use crate::watching::refused;

pub(crate) fn every_phase_moves_the_bytes_it_should() {
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

pub(crate) fn real_media_go_through_real_tools() -> Ending {
    needs_program("ffmpeg", "ffmpeg")?;
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
    Ok(())
}

pub(crate) fn without_the_real_tool_nothing_is_emulated_in_its_name() {
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

pub(crate) fn a_recording_has_a_mebibyte_at_least() {
    let said = "video: size=1K: a size from 1M to 64T is expected";
    assert_eq!(refused("video", "size=1K").as_deref(), Some(said));
    let target = scratch();
    let ran = run("video", target.path(), &Inputs::default(), 1, "size=1M");
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let (copy, sum) = (ran.phase("copy"), ran.phase("md5"));
    // In blocks of 32 KiB.
    assert_eq!((copy.write_bytes.0, copy.ops), (1_048_576, 32));
    assert_eq!((sum.read_bytes.0, sum.ops), (1_048_576, 32));
}

/// Stands in for ffmpeg: keeps its arguments and the list of a cut, and makes files that are known.
/// The last argument is the file to make.
const FFMPEG: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
echo "$*" >>"$0.calls"
for to; do :; done
case "$*" in
*-version*) ;;
*lavfi*) head -c 300000 /dev/zero >"$to" ;;
*stream_loop*) head -c 1200000 /dev/zero | tr '\0' r >"$to" ;;
*concat*) cat "${10}" >"$0.list" && head -c 500 /dev/zero >"$to" ;;
*) head -c 1000 /dev/zero | tr '\0' m >"$to" ;;
esac
"#;

pub(crate) fn the_real_tool_is_asked_for_a_clip_its_repetition_a_remux_and_a_cut() {
    // Where programs can be started, which memory's filesystem may forbid.
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let pack = crate::support::corpus(home.path());
    let tool = home.path().join("ffmpeg");
    fs::write(&tool, FFMPEG).unwrap();
    fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(crate::support::program())
        .env("PATH", home.path())
        .arg("video")
        .arg(target.path())
        .arg(pack.path())
        .args(["size=1M", "mode=real", "keep=0.5", "cuts=1", "verify=on"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let events: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let phase = |name: &str| {
        let ended = |event: &&Value| event["event"] == "finished" && event["phase"] == name;
        events.iter().find(ended).expect("the phase was reported")
    };
    let moved = |name: &str| {
        let count = |what: &str| phase(name)[what].as_u64().unwrap();
        (count("ops"), count("read_bytes"), count("write_bytes"))
    };
    // 1,200,000 bytes are 36 blocks of 32 KiB and a part of another.
    assert_eq!(moved("copy"), (37, 0, 1_200_000));
    assert_eq!(moved("remux"), (1, 1_200_000, 1000));
    // What the tool reads for a cut is not known.
    assert_eq!(moved("cut"), (1, 0, 500));
    // By md5sum, of 1,200,000 times the letter r and of 1000 times the letter m.
    assert_eq!(phase("md5")["notes"][0], "MD5 e1bb05852b8cd85edd1c1deb99590a97");
    assert_eq!(phase("md5-remuxed")["notes"][0], "MD5 95bb91aeef71d32e01afb54beaa6d177");

    let calls = fs::read_to_string(home.path().join("ffmpeg.calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 5, "its version, a clip, the recording, a remux, a cut: {calls:?}");
    // Four clips of 300,000 bytes are the first to have a MiB: three after the first one.
    assert!(calls[2].contains(" -stream_loop 3 -i /proc/"), "{}", calls[2]);
    // They last 16 seconds; half of them, 4 at each end, are kept.
    let list = fs::read_to_string(home.path().join("ffmpeg.list")).unwrap();
    let remuxed = format!("file '{}/video/remuxed.mkv'\n", target.path().display());
    let expected = format!(
        "ffconcat version 1.0\n{remuxed}inpoint 0.000\noutpoint 4.000\n\
         {remuxed}inpoint 12.000\noutpoint 16.000\n"
    );
    assert_eq!(list, expected);
}
