//! Events made by hand, and those of the kernel where this is root.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{FdFlags, fcntl_getfd};
use rustix::process::{Uid, geteuid};
use tempfile::TempDir;

use super::*;

/// A directory with files, by the name that the kernel has for it; in memory where there is any,
/// since fewer programs open files there.
fn tree() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let root = home.path().canonicalize().unwrap();
    for (name, contents) in [("a", "1"), ("b", "2"), ("empty", "")] {
        fs::write(root.join(name), contents).unwrap();
    }
    fs::create_dir(root.join("directory")).unwrap();
    (home, root)
}

/// An event as the kernel writes it: its length first, the descriptor at byte 16.
fn event(length: u32, descriptor: i32) -> Vec<u8> {
    let mut event = vec![0; length as usize];
    event[..4].copy_from_slice(&length.to_ne_bytes());
    event[16..20].copy_from_slice(&descriptor.to_ne_bytes());
    event
}

/// What is taken, as text.
fn taken(opened: &mut Opened) -> Vec<String> {
    let paths = opened.take().unwrap();
    paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

#[test]
fn files_with_contents_are_taken_once_in_the_order_of_their_opening() {
    let (_home, root) = tree();
    let (_elsewhere, other) = tree();
    let (group, mut kernel) = UnixStream::pair().unwrap();
    group.set_nonblocking(true).unwrap();
    let mut opened = Opened { group: File::from(OwnedFd::from(group)), root: root.clone() };
    // The descriptors are given away, as the kernel's are.
    let open = |path: PathBuf| File::open(path).unwrap().into_raw_fd();
    let mut events = Vec::new();
    events.extend(event(24, open(root.join("b"))));
    events.extend(event(24, open(root.join("directory"))));
    // Longer than its known part, and one without a file: the queue was full.
    events.extend(event(32, open(root.join("empty"))));
    events.extend(event(24, -1));
    events.extend(event(32, open(root.join("a"))));
    events.extend(event(24, open(root.join("b"))));
    // On no mount of this process: the path is that in the system already.
    events.extend(event(24, open(other.join("a"))));
    kernel.write_all(&events).unwrap();
    let outside = other.join("a").display().to_string();
    assert_eq!(taken(&mut opened), ["/b", "/a", outside.as_str()]);
    kernel.write_all(&event(24, open(root.join("b")))).unwrap();
    assert_eq!(taken(&mut opened), ["/b"], "since the last call");
    assert!(taken(&mut opened).is_empty());
}

#[test]
fn a_group_that_cannot_be_read_is_an_error() {
    let (_home, root) = tree();
    let mut opened = Opened { group: File::open(&root).unwrap(), root };
    assert_eq!(opened.take().unwrap_err().kind(), ErrorKind::IsADirectory);
}

#[test]
fn only_a_file_with_contents_has_a_path() {
    let (_home, root) = tree();
    let opened = Opened { group: File::open(&root).unwrap(), root: root.clone() };
    let path = |name: &str| {
        let file = File::open(root.join(name)).unwrap();
        opened.path_of(&file, file.as_raw_fd())
    };
    assert_eq!(path("a").as_deref(), Some(&b"/a"[..]));
    assert_eq!(path("empty"), None);
    assert_eq!(path("directory"), None);
}

#[test]
fn the_kernel_tells_what_is_opened_on_a_filesystem() {
    if !geteuid().is_root() {
        eprintln!("skipped: listening to a filesystem needs root");
        return;
    }
    let (_home, root) = tree();
    let mut opened = Opened::listen(&root).unwrap();
    // Before anything is read: without these flags reading would wait for ever.
    assert_eq!(fcntl_getfd(&opened.group), Ok(FdFlags::CLOEXEC));
    assert!(fcntl_getfl(&opened.group).unwrap().contains(OFlags::NONBLOCK));
    let number = opened.group.as_raw_fd();
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap();
    let flags = text.lines().find_map(|line| line.strip_prefix("fanotify flags:")).unwrap();
    let (group, event) = flags.split_once(" event-flags:").unwrap();
    let [group, event] = [group, event].map(|flags| u32::from_str_radix(flags.trim(), 16).unwrap());
    // FAN_UNLIMITED_QUEUE of linux/fanotify.h; what is inherited by no program.
    assert_eq!(group & 0x10, 0x10, "{flags}");
    assert_eq!(event & libc::O_CLOEXEC as u32, libc::O_CLOEXEC as u32, "{flags}");

    for name in ["b", "empty", "a", "b"] {
        drop(File::open(root.join(name)).unwrap());
    }
    let mut paths = taken(&mut opened);
    // Other programs open other files of this filesystem meanwhile.
    paths.retain(|path| ["/a", "/b", "/empty"].contains(&path.as_str()));
    assert_eq!(paths, ["/b", "/a"]);
}

#[test]
fn without_the_right_to_listen_there_is_an_error() {
    let refused = thread::scope(|scope| {
        // In a thread that is not root. The kernel has a user for each thread.
        let user = scope.spawn(|| {
            if geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            Opened::listen(Path::new("/")).err().map(|error| error.kind())
        });
        user.join().unwrap()
    });
    assert_eq!(refused, Some(ErrorKind::PermissionDenied));
}
