//! A process that makes things of the ledger, to be killed.

use std::io::BufRead;
use std::path::Path;

use std::process::{Child, Command, ExitCode, Stdio};

use device::Ledger;
use units::Bytes;

use crate::queues;
use crate::scratch::run;

const SIZE: Bytes = Bytes::from_mib(64);
/// Names the stage and the place of a victim in its environment.
pub(crate) const VICTIM: &str = "FSTRIAL_TEST_VICTIM";

/// What the process that is killed in the tests does: this test program, started again with a
/// stage to reach.
pub(crate) fn act(part: &str) -> ExitCode {
    let (stage, place) = part.split_once(' ').unwrap();
    let place = Path::new(place);
    let ledger = Ledger::open(&place.join("ledger")).unwrap();
    let directory = ledger.make_directory(place).unwrap();
    std::fs::create_dir_all(directory.path().join("a/b")).unwrap();
    std::fs::write(directory.path().join("a/b/file"), "ours").unwrap();
    let mut loop_file = None;
    let mut queue = None;
    if stage == "queue" {
        let node = std::fs::read_to_string(place.join("node")).unwrap();
        queue = Some(queues::note_and_change(&ledger, Path::new(&node)));
    } else if stage != "directory" {
        let file = ledger.make_loop_file(directory.path(), SIZE).unwrap();
        if stage == "mounted" {
            let node = file.device();
            run("mkfs.ext4", &["-q", "-E", "nodiscard", node.to_str().unwrap()]);
            let point = directory.path().join("mnt");
            std::fs::create_dir(&point).unwrap();
            run("mount", &[node.to_str().unwrap(), point.to_str().unwrap()]);
            std::fs::write(point.join("mail"), "someone's").unwrap();
        }
        loop_file = Some(file);
    }
    println!("victim ready");
    // Until it is killed, or its parent is gone.
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    drop((loop_file, queue));
    ExitCode::SUCCESS
}

/// A victim that has reached its stage.
pub(crate) struct Victim {
    child: Child,
}

impl Victim {
    pub(crate) fn at(stage: &str, place: &Path, private_mounts: bool) -> Victim {
        let exe = std::env::current_exe().unwrap();
        let mut command = if private_mounts {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private"]).arg(exe);
            command
        } else {
            Command::new(exe)
        };
        let mut child = command
            .env(VICTIM, format!("{stage} {}", place.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        let ready = stdout.lines().any(|line| line.unwrap().contains("victim ready"));
        assert!(ready, "the victim ended early: {:?}", child.wait());
        Victim { child }
    }

    /// SIGKILL. The process stays a zombie until the value is dropped.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
