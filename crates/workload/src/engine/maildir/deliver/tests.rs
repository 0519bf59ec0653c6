//! The writes that a copied mail becomes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;

use super::*;
use crate::Seed;
use crate::engine::file_io::open_target;

/// The writes of copying a mail line by line. A datagram socket takes the place of the new file:
/// it keeps them apart.
fn writes_of_a_copy(mail: &[u8]) -> Vec<Vec<u8>> {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("mail");
    fs::write(&source, mail).unwrap();
    let (file, seen) = UnixDatagram::pair().unwrap();
    // A test fails that would otherwise wait for the other end for ever.
    file.set_nonblocking(true).unwrap();
    seen.set_nonblocking(true).unwrap();
    let file = OwnedFd::from(file);

    let target = open_target(home.path()).unwrap();
    let tree = Tree { maildirs: 1, per_base: 1 };
    let manner = Manner { per_line: true, ..Manner::PLAIN };
    let from = Source::Files(Sources::write(1));
    let mut courier = Courier::new(target.as_fd(), tree, Names::new(Seed(1), 0), from, manner);
    let moved = courier.copy_file(File::open(&source).unwrap().into(), &file).unwrap();
    let size = mail.len() as u64;
    assert_eq!((moved.read, moved.wrote), (size, size));

    let mut buffer = vec![0; 10_000];
    let mut writes = Vec::new();
    loop {
        match seen.recv(&mut buffer) {
            Ok(got) => writes.push(buffer[..got].to_vec()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return writes;
            }
        }
    }
}

#[test]
fn a_line_that_two_reads_bring_is_one_write() {
    // The first read of 4096 bytes ends 1095 bytes into the second line.
    let mail = format!("{}\n{}\nc\nno newline", "a".repeat(3_000), "b".repeat(2_000));
    let writes = writes_of_a_copy(mail.as_bytes());
    let sizes: Vec<_> = writes.iter().map(Vec::len).collect();
    assert_eq!(sizes, [3_001, 2_001, 2, 10]);
    assert!(writes.concat() == mail.as_bytes(), "the bytes are those of the mail");
}
