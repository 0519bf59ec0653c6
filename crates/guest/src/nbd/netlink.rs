//! Making nbd devices: one generic netlink message each (Linux `include/uapi/linux/
//! {netlink,genetlink,nbd-netlink}.h`), answered when the device is there.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use units::SECTOR_BYTES;

use super::{HAS_FLAGS, SEND_FLUSH, SEND_FUA, SEND_TRIM};
use crate::order::DiskOrder;

const CONTROL_FAMILY: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const CONNECT: u8 = 1;
const INDEX: u16 = 1;
const SIZE_BYTES: u16 = 2;
const BLOCK_BYTES: u16 = 3;
const SERVER_FLAGS: u16 = 5;
const SOCKETS: u16 = 7;
const SOCKET_ITEM: u16 = 1;
const SOCKET_FILE: u16 = 1;
const NESTED: u16 = 1 << 15;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const ERROR: u16 = 2;
/// Bytes of a message's head, and of the generic head behind it.
const HEAD: usize = 16;
const GENERIC_HEAD: usize = 4;

/// Makes `/dev/nbdN` of `disk`, served at the other end of `socket`.
///
/// # Errors
/// When the kernel has no nbd, or refuses.
pub(crate) fn connect(nth: u32, disk: &DiskOrder, socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a new descriptor, owned from here on.
    let netlink = unsafe {
        let file = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 16);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(file)
    };
    let mut name = Vec::new();
    attribute(&mut name, FAMILY_NAME, b"nbd\0");
    let answer = ask(&netlink, CONTROL_FAMILY, GET_FAMILY, &name)?;
    let family = find(&answer, FAMILY_ID)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u16::from_ne_bytes)
        .ok_or_else(|| io::Error::other("nbd: the kernel did not report its family"))?;
    let queue = &disk.queue;
    let flag = |on: bool, flag: u64| if on { flag } else { 0 };
    let flags = HAS_FLAGS
        | flag(queue.volatile_cache, SEND_FLUSH)
        | flag(queue.volatile_cache && queue.fua, SEND_FUA)
        | flag(queue.discard, SEND_TRIM);
    let mut file = Vec::new();
    attribute(&mut file, SOCKET_FILE, &(socket.as_raw_fd() as u32).to_ne_bytes());
    let mut item = Vec::new();
    attribute(&mut item, SOCKET_ITEM | NESTED, &file);
    let mut attributes = Vec::new();
    attribute(&mut attributes, INDEX, &nth.to_ne_bytes());
    attribute(&mut attributes, SIZE_BYTES, &disk.capacity.0.to_ne_bytes());
    attribute(&mut attributes, BLOCK_BYTES, &SECTOR_BYTES.to_ne_bytes());
    attribute(&mut attributes, SERVER_FLAGS, &flags.to_ne_bytes());
    attribute(&mut attributes, SOCKETS | NESTED, &item);
    ask(&netlink, family, CONNECT, &attributes).map(drop)
}

/// Appends an attribute: length, kind, payload, to a multiple of four.
fn attribute(to: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    to.extend(((4 + payload.len()) as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(payload);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// The payload of the first attribute of a kind.
fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let [a, b, c, d, ..] = *attributes {
        let len = usize::from(u16::from_ne_bytes([a, b]));
        let payload = attributes.get(4..len)?;
        if u16::from_ne_bytes([c, d]) & !NESTED == wanted {
            return Some(payload);
        }
        attributes = attributes.get(len.next_multiple_of(4)..)?;
    }
    None
}

/// Sends a command and waits for its acknowledgement; returns the attributes it was answered
/// with, if any.
fn ask(netlink: &OwnedFd, family: u16, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
    let len = HEAD + GENERIC_HEAD + attributes.len();
    let mut message = Vec::with_capacity(len);
    message.extend((len as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend((REQUEST | ACKNOWLEDGE).to_ne_bytes());
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend(attributes);
    rustix::io::write(netlink, &message)?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = rustix::io::read(netlink, &mut buffer)?;
        let mut left = &buffer[..count];
        while left.len() >= HEAD {
            let len = u32::from_ne_bytes([left[0], left[1], left[2], left[3]]) as usize;
            let kind = u16::from_ne_bytes([left[4], left[5]]);
            let body =
                left.get(HEAD..len).ok_or_else(|| io::Error::other("nbd: half a message"))?;
            if kind == ERROR {
                let code = body.get(..4).and_then(|code| code.try_into().ok());
                return match code.map_or(-libc::EPROTO, i32::from_ne_bytes) {
                    0 => Ok(answer),
                    code => Err(io::Error::from_raw_os_error(-code)),
                };
            }
            answer = body.get(GENERIC_HEAD..).unwrap_or_default().to_vec();
            left = left.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_behind_padding() {
        let mut bytes = Vec::new();
        attribute(&mut bytes, FAMILY_NAME, b"nbd\0x");
        attribute(&mut bytes, FAMILY_ID | NESTED, &7_u16.to_ne_bytes());
        assert_eq!(bytes.len() % 4, 0);
        assert_eq!(find(&bytes, FAMILY_ID), Some(&7_u16.to_ne_bytes()[..]));
        assert_eq!(find(&bytes, FAMILY_NAME), Some(&b"nbd\0x"[..]));
        assert_eq!(find(&bytes, 99), None);
        assert_eq!(find(&bytes[..6], FAMILY_NAME), None);
    }
}
