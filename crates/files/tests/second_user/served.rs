//! A filesystem that a program of the other user's serves: its files are what he says.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use files::{Directory, Reach};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use skippable::{Ending, needs_driver};

use crate::scene::OTHER_USER;

/// The mode shows a directory of root's that nobody else may write to.
pub(crate) fn by_him() -> Ending {
    needs_driver("fuse", "/dev/fuse")?;
    std::thread::spawn(look).join().unwrap();
    Ok(())
}

fn look() {
    use std::os::fd::AsRawFd;
    skippable::own_mounts();
    let place = tempfile::tempdir().unwrap();
    let kernel = File::options().read(true).write(true).open("/dev/fuse").unwrap();
    let options = format!(
        "fd={},rootmode=40755,user_id={OTHER_USER},group_id={OTHER_USER},allow_other",
        kernel.as_raw_fd()
    );
    let options = std::ffi::CString::new(options).unwrap();
    mount("his", place.path(), "fuse", MountFlags::empty(), Some(options.as_c_str())).unwrap();
    let server = std::thread::spawn(move || serve(kernel));
    let found = reach_of(place.path());
    unmount(place.path(), UnmountFlags::DETACH).unwrap();
    server.join().unwrap();
    assert_eq!(found, Err(Reach::Server(OTHER_USER)));
}

fn reach_of(path: &Path) -> Result<(), Reach> {
    let held = Directory::hold(path).unwrap();
    held.check_private().map_err(|in_reach| in_reach.by)
}

/// Answers until it is unmounted (linux/fuse.h): one directory of root's.
fn serve(mut kernel: File) {
    const LOOKED_AT: u32 = 3;
    const FREE_SPACE: u32 = 17;
    const BEGIN: u32 = 26;
    const OPEN_DIRECTORY: u32 = 27;
    let mut request = vec![0; 1 << 17];
    while let Ok(length) = kernel.read(&mut request) {
        let word = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
        assert!(length >= 40);
        let body = match word(4) {
            BEGIN => words(64, &[(0, 7), (4, 31), (20, 4096)]),
            // The number, mode and links of the root; its owner is 0.
            LOOKED_AT => words(104, &[(16, 1), (76, 0o40755), (80, 2)]),
            FREE_SPACE => words(80, &[(40, 4096), (44, 255), (48, 4096)]),
            OPEN_DIRECTORY => words(16, &[]),
            _ => Vec::new(),
        };
        let error = if body.is_empty() { -libc::ENOSYS } else { 0 };
        let mut answer = (16 + body.len() as u32).to_ne_bytes().to_vec();
        answer.extend(error.to_ne_bytes());
        answer.extend(&request[8..16]);
        answer.extend(body);
        // Nobody waits for an answer to some of them.
        let _ = kernel.write(&answer);
    }
}

/// So many bytes, with these numbers in their places.
fn words(length: usize, numbers: &[(usize, u32)]) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for (at, number) in numbers {
        bytes[*at..at + 4].copy_from_slice(&number.to_ne_bytes());
    }
    bytes
}
