//! The recording in memory and the running of a tool, with the shell in its place.

use std::fs;

use tempfile::TempDir;

use super::super::{CUT, DIRECTORY, REMUX};
use super::*;

/// A recording of 1000 bytes.
fn real() -> (TempDir, Real) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(DIRECTORY)).unwrap();
    let mut recording = InMemory::new("recording").unwrap();
    recording.0.write_all(&bytes()).unwrap();
    let root = home.path().to_owned();
    let cuts = Cuts { keep: 0.5, count: 1 };
    (home, Real { root, recording, size: 1000, seconds: 4.0, cuts })
}

fn bytes() -> Vec<u8> {
    (0..=255).cycle().take(1000).collect()
}

/// The shell, which finds the file to make in `$3`: two arguments of ffmpeg precede it.
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh"]);
    command
}

#[test]
fn a_recording_is_read_from_memory_and_has_no_expected_sums() {
    let (_home, mut real) = real();
    assert_eq!(real.size(), 1000);
    let mut buffer = [0; 100];
    assert_eq!(real.recording(600, &mut buffer).unwrap(), &bytes()[600..700]);
    assert_eq!(real.recording(950, &mut buffer).unwrap_err().op, "read");
    assert_eq!(fs::read(real.recording.path()).unwrap(), bytes(), "by another program too");
    assert_eq!(real.expected(), None);
}

#[test]
fn what_a_tool_has_made_is_counted_and_what_a_remux_read() {
    let (home, real) = real();
    fs::write(home.path().join(RAW), "recorded").unwrap();
    let mut recorder = Recorder::for_thread(&REMUX);
    real.tool(&mut shell("printf abc >\"$3\""), (RAW, REMUXED), &mut recorder).unwrap();
    assert_eq!((recorder.ops_done(), recorder.read_bytes, recorder.write_bytes), (1, 8, 3));
    let mut recorder = Recorder::for_thread(&CUT);
    real.tool(&mut shell("printf ab >\"$3\""), (REMUXED, CUTTED), &mut recorder).unwrap();
    assert_eq!((recorder.ops_done(), recorder.read_bytes, recorder.write_bytes), (1, 0, 2));
    assert_eq!(fs::read(home.path().join(REMUXED)).unwrap(), b"abc");
    assert_eq!(fs::read(home.path().join(CUTTED)).unwrap(), b"ab");
}

#[test]
fn a_tool_that_fails_is_quoted() {
    let (_home, real) = real();
    let mut command = shell("echo one >&2; echo two >&2; exit 3");
    let mut recorder = Recorder::for_thread(&REMUX);
    let error = real.tool(&mut command, (RAW, REMUXED), &mut recorder).unwrap_err();
    assert_eq!((error.op, error.path.as_path()), ("run ffmpeg for", Path::new(REMUXED)));
    assert_eq!(error.source.to_string(), "ffmpeg ended with exit status: 3: one; two");
    assert_eq!(recorder.ops_done(), 0);
}
