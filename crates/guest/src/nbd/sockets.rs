//! Serving nbd devices: one socket a device. The data of a write follows its request, the
//! data of a read its reply, so both are kept here while the disk works.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use disk::Operation;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use units::{Lba, Nanos, SECTOR_BYTES};

use crate::server::{Arrival, Ending, FrontEnd};

/// `struct nbd_request` and `struct nbd_reply` of `linux/nbd.h`, big-endian.
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
const REQUEST_BYTES: usize = 28;
const COMMAND_FUA: u32 = 1 << 16;

/// The sockets of this guest's devices.
pub(crate) struct Sockets {
    disks: Vec<Disk>,
}

struct Disk {
    socket: UnixStream,
    /// The most requests taken at once: the rest wait in the socket, as they would in a
    /// controller.
    depth: usize,
    outstanding: usize,
    slots: Vec<Slot>,
}

/// A slot for a request in flight.
#[derive(Default, Clone)]
struct Slot {
    /// What its reply has to carry. Opaque: kernels before 6.5 write it in their own byte
    /// order, later ones big-endian.
    cookie: [u8; 8],
    data: Vec<u8>,
    taken: bool,
}

impl Sockets {
    /// The server's ends, each with the depth of its disk.
    pub(crate) fn new(disks: Vec<(UnixStream, u16)>) -> Sockets {
        let disks = disks.into_iter().map(|(socket, depth)| Disk {
            socket,
            depth: usize::from(depth),
            outstanding: 0,
            slots: Vec::new(),
        });
        Sockets { disks: disks.collect() }
    }

    /// The disks that have a request waiting.
    fn ready(&self, timeout: Option<Nanos>) -> io::Result<Vec<usize>> {
        let open = |disk: &&Disk| disk.outstanding < disk.depth;
        let mut files: Vec<PollFd<'_>> = self
            .disks
            .iter()
            .filter(open)
            .map(|disk| PollFd::new(&disk.socket, PollFlags::IN))
            .collect();
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as i64,
            tv_nsec: (timeout.0 % 1_000_000_000) as i64,
        });
        match poll(&mut files, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let numbers = self.disks.iter().enumerate().filter(|(_, disk)| open(disk));
        let ready = numbers.zip(&files).filter(|(_, file)| !file.revents().is_empty());
        Ok(ready.map(|((nth, _), _)| nth).collect())
    }
}

impl Disk {
    /// The first slot that no request in flight uses.
    fn free_slot(&mut self) -> usize {
        let free = self.slots.iter().position(|slot| !slot.taken);
        free.unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        })
    }

    fn take(&mut self, nth: usize) -> io::Result<Arrival> {
        let mut head = [0; REQUEST_BYTES];
        self.socket.read_exact(&mut head)?;
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if word(0) != REQUEST_MAGIC {
            return Err(io::Error::other("nbd: a request without its mark"));
        }
        let operation = match word(4) & 0xffff {
            0 => Operation::Read,
            1 => Operation::Write,
            3 => Operation::Flush,
            4 => Operation::Discard,
            other => return Err(io::Error::other(format!("nbd: command {other}"))),
        };
        let from = u64::from(word(16)) << 32 | u64::from(word(20));
        let bytes = word(24) as usize;
        let mut cookie = [0; 8];
        cookie.copy_from_slice(&head[8..16]);
        let slot = self.free_slot();
        let number = u16::try_from(slot)
            .map_err(|_| io::Error::other("nbd: more requests at once than have numbers"))?;
        let kept = &mut self.slots[slot];
        kept.taken = true;
        kept.cookie = cookie;
        kept.data.clear();
        if matches!(operation, Operation::Read | Operation::Write) {
            kept.data.resize(bytes, 0);
        }
        if operation == Operation::Write {
            self.socket.read_exact(&mut kept.data)?;
        }
        self.outstanding += 1;
        let moves = operation != Operation::Flush;
        Ok(Arrival {
            disk: nth,
            slot: number,
            operation,
            lba: Lba(if moves { from / SECTOR_BYTES } else { 0 }),
            sectors: if moves { bytes as u64 / SECTOR_BYTES } else { 0 },
            fua: operation == Operation::Write && word(4) & COMMAND_FUA != 0,
        })
    }
}

impl FrontEnd for Sockets {
    fn now(&self) -> Nanos {
        measure::now()
    }

    fn exclude_since(&self, began: Nanos) {
        measure::exclude_since(began);
    }

    fn spent(&self) -> Nanos {
        measure::spent_by_this_thread()
    }

    fn wait(&mut self, deadline: Option<Nanos>, arrived: &mut Vec<Arrival>) -> io::Result<()> {
        let mut timeout = deadline.map(|deadline| deadline.saturating_sub(measure::now()));
        loop {
            let ready = self.ready(timeout)?;
            if ready.is_empty() {
                return Ok(());
            }
            for nth in ready {
                arrived.push(self.disks[nth].take(nth)?);
            }
            timeout = Some(Nanos::ZERO);
        }
    }

    fn fetch(&mut self, of: &Arrival, piece: &mut [u8], place: u64) -> io::Result<()> {
        let data = &self.disks[of.disk].slots[usize::from(of.slot)].data;
        let from = data.get(place as usize..).and_then(|rest| rest.get(..piece.len()));
        piece.copy_from_slice(from.ok_or_else(|| io::Error::other("nbd: beyond the request"))?);
        Ok(())
    }

    fn deliver(&mut self, of: &Arrival, piece: &[u8], place: u64) -> io::Result<()> {
        let data = &mut self.disks[of.disk].slots[usize::from(of.slot)].data;
        let to = data.get_mut(place as usize..).and_then(|rest| rest.get_mut(..piece.len()));
        to.ok_or_else(|| io::Error::other("nbd: beyond the request"))?.copy_from_slice(piece);
        Ok(())
    }

    fn complete(&mut self, of: &Arrival, ending: Ending) -> io::Result<()> {
        let disk = &mut self.disks[of.disk];
        let code: u32 = match ending {
            Ending::Done => 0,
            Ending::NoSpace => libc::ENOSPC as u32,
            Ending::Error => libc::EIO as u32,
        };
        let slot = &mut disk.slots[usize::from(of.slot)];
        slot.taken = false;
        let mut reply = Vec::with_capacity(16 + slot.data.len());
        reply.extend(REPLY_MAGIC.to_be_bytes());
        reply.extend(code.to_be_bytes());
        reply.extend(slot.cookie);
        if of.operation == Operation::Read && code == 0 {
            reply.extend(&slot.data);
        }
        disk.outstanding -= 1;
        disk.socket.write_all(&reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: u32, tag: u16, from: u64, bytes: u32, data: &[u8]) -> Vec<u8> {
        let cookie = (0xabcd_u64 << 32 | u64::from(tag)).to_be_bytes();
        with_cookie(kind, cookie, from, bytes, data)
    }

    fn with_cookie(kind: u32, cookie: [u8; 8], from: u64, bytes: u32, data: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        message.extend(REQUEST_MAGIC.to_be_bytes());
        message.extend(kind.to_be_bytes());
        message.extend(cookie);
        message.extend(from.to_be_bytes());
        message.extend(bytes.to_be_bytes());
        message.extend(data);
        message
    }

    #[test]
    fn requests_carry_their_data_and_replies_go_to_their_cookie() {
        let (ours, mut kernel) = UnixStream::pair().unwrap();
        let mut sockets = Sockets::new(vec![(ours, 2)]);
        kernel.write_all(&request(1 | COMMAND_FUA, 7, 4096, 512, &[9; 512])).unwrap();
        kernel.write_all(&request(0, 300, 512, 512, &[])).unwrap();
        kernel.write_all(&request(3, 5, 0, 0, &[])).unwrap();
        let mut arrived = Vec::new();
        sockets.wait(None, &mut arrived).unwrap();
        // A third is left in the socket: this disk takes two.
        assert_eq!(arrived.len(), 2);
        let (write, read) = (arrived[0], arrived[1]);
        assert!(write.fua && write.lba == Lba(8) && write.slot != read.slot);
        let mut piece = [0; 512];
        sockets.fetch(&write, &mut piece, 0).unwrap();
        assert_eq!(piece, [9; 512]);
        assert!(sockets.fetch(&write, &mut piece, 1).is_err());
        sockets.deliver(&read, &[3; 512], 0).unwrap();
        sockets.complete(&read, Ending::Done).unwrap();
        let mut reply = [0; 16 + 512];
        kernel.read_exact(&mut reply).unwrap();
        assert_eq!(reply[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
        assert_eq!(reply[8..16], (0xabcd_u64 << 32 | 300).to_be_bytes());
        assert_eq!(reply[16..], [3; 512]);
        arrived.clear();
        sockets.wait(Some(Nanos::ZERO), &mut arrived).unwrap();
        assert_eq!(arrived[0].operation, Operation::Flush);
        sockets.complete(&write, Ending::NoSpace).unwrap();
        kernel.read_exact(&mut reply[..16]).unwrap();
        assert_eq!(reply[7], libc::ENOSPC as u8);
    }

    /// 32 reads at once, answered in another order, with cookies as Linux writes them before
    /// 6.5 (`memcpy` of a number in the processor's order) and since.
    #[test]
    fn requests_under_way_at_once_keep_apart_whatever_the_kernel() {
        const DEPTH: u64 = 32;
        for order in [u64::to_le_bytes, u64::to_be_bytes] {
            let (ours, mut kernel) = UnixStream::pair().unwrap();
            let mut sockets = Sockets::new(vec![(ours, DEPTH as u16)]);
            for round in 0..3u64 {
                // The kernel counts up the higher half each time a tag is used again.
                let cookie = |tag: u64| order(round << 32 | tag);
                for tag in 0..DEPTH {
                    let read = with_cookie(0, cookie(tag), tag * 4096, 512, &[]);
                    kernel.write_all(&read).unwrap();
                }
                let mut arrived = Vec::new();
                sockets.wait(None, &mut arrived).unwrap();
                assert_eq!(arrived.len() as u64, DEPTH);
                let mut slots: Vec<_> = arrived.iter().map(|arrival| arrival.slot).collect();
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len() as u64, DEPTH, "each has a slot of its own");
                assert!(slots.iter().all(|slot| u64::from(*slot) < DEPTH), "slots are used again");
                arrived.sort_by_key(|arrival| (arrival.lba.0 * 7) % 29);
                for arrival in &arrived {
                    let tag = (arrival.lba.0 / 8) as u8;
                    sockets.deliver(arrival, &[tag; 512], 0).unwrap();
                }
                for arrival in &arrived {
                    sockets.complete(arrival, Ending::Done).unwrap();
                    let tag = arrival.lba.0 / 8;
                    let mut reply = [0; 16 + 512];
                    kernel.read_exact(&mut reply).unwrap();
                    assert_eq!(reply[8..16], cookie(tag), "the reply is this request's");
                    assert_eq!(reply[16..], [tag as u8; 512], "with its data");
                }
            }
        }
    }
}
