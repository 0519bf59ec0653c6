//! Serving ublk devices: one queue a device, all on one ring.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use disk::Operation;
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::mm::{MapFlags, ProtFlags};
use units::{Lba, Nanos};

use super::{REQUEST_BYTES, abi, payload};
use crate::server::{Arrival, Ending, FrontEnd};

/// The queues of this guest's devices.
pub(crate) struct Queues {
    ring: IoUring<squeue::Entry, cqueue::Entry>,
    devices: Vec<Device>,
    /// Buffer for data: the kernel copies between a request and ordinary memory, and the store's
    /// memory is not ordinary memory.
    bounce: Vec<u8>,
}

struct Device {
    file: File,
    descriptions: NonNull<abi::IoDescription>,
    map_bytes: usize,
    depth: u16,
}

impl Queues {
    /// Opens the character devices of `depths.len()` devices, from 0, and asks for their
    /// requests.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn open(depths: &[u16]) -> io::Result<Queues> {
        let entries: u32 = depths.iter().map(|&depth| u32::from(depth)).sum();
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entries.next_power_of_two())?;
        let mut queues = Queues { ring, devices: Vec::new(), bounce: vec![1; REQUEST_BYTES] };
        for (nth, &depth) in depths.iter().enumerate() {
            queues.devices.push(Device::open(nth, depth)?);
            for tag in 0..depth {
                queues.push(nth, tag, abi::FETCH, -1)?;
            }
        }
        Ok(queues)
    }

    fn push(&mut self, disk: usize, tag: u16, command: u32, result: i32) -> io::Result<()> {
        let io = abi::IoCommand { queue_id: 0, tag, result, addr: 0 };
        let entry =
            opcode::UringCmd16::new(types::Fd(self.devices[disk].file.as_raw_fd()), command)
                .cmd(payload(io))
                .build()
                .user_data(((disk as u64) << 16) | u64::from(tag));
        // SAFETY: the command refers to no memory of ours; the file lives as long as the
        // ring.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    fn take(&mut self, arrived: &mut Vec<Arrival>) -> io::Result<()> {
        for completion in self.ring.completion() {
            if completion.result() < 0 {
                return Err(io::Error::from_raw_os_error(-completion.result()));
            }
            let disk = (completion.user_data() >> 16) as usize;
            let tag = completion.user_data() as u16;
            arrived.push(self.devices[disk].arrival(disk, tag)?);
        }
        Ok(())
    }
}

impl FrontEnd for Queues {
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
        let wait = deadline.map(|deadline| deadline.saturating_sub(measure::now()));
        let timeout = wait.map(|wait| {
            types::Timespec::new().sec(wait.0 / 1_000_000_000).nsec((wait.0 % 1_000_000_000) as u32)
        });
        let mut arguments = types::SubmitArgs::new();
        if let Some(timeout) = &timeout {
            arguments = arguments.timespec(timeout);
        }
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        self.take(arrived)
    }

    fn fetch(&mut self, of: &Arrival, piece: &mut [u8], place: u64) -> io::Result<()> {
        let bounce = &mut self.bounce[..piece.len()];
        let offset = abi::data_offset(of.slot, place);
        self.devices[of.disk].file.read_exact_at(bounce, offset)?;
        piece.copy_from_slice(bounce);
        Ok(())
    }

    fn deliver(&mut self, of: &Arrival, piece: &[u8], place: u64) -> io::Result<()> {
        let bounce = &mut self.bounce[..piece.len()];
        bounce.copy_from_slice(piece);
        self.devices[of.disk].file.write_all_at(bounce, abi::data_offset(of.slot, place))
    }

    fn complete(&mut self, of: &Arrival, ending: Ending) -> io::Result<()> {
        let result = match ending {
            Ending::Done => (of.sectors * units::SECTOR_BYTES) as i32,
            Ending::NoSpace => -libc::ENOSPC,
            Ending::Error => -libc::EIO,
        };
        self.push(of.disk, of.slot, abi::COMMIT_AND_FETCH, result)
    }
}

impl Device {
    fn open(id: usize, depth: u16) -> io::Result<Device> {
        let file = File::options().read(true).write(true).open(format!("/dev/ublkc{id}"))?;
        let bytes = usize::from(depth) * std::mem::size_of::<abi::IoDescription>();
        let map_bytes = bytes.next_multiple_of(4096);
        // SAFETY: a new mapping at an address of the kernel's choice; this device owns it.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                map_bytes,
                ProtFlags::READ,
                MapFlags::SHARED.union(MapFlags::POPULATE),
                &file,
                0,
            )?
        };
        let descriptions =
            NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Device { file, descriptions, map_bytes, depth })
    }

    fn arrival(&self, disk: usize, tag: u16) -> io::Result<Arrival> {
        if tag >= self.depth {
            return Err(io::Error::other(format!("ublk: request {tag} of {}", self.depth)));
        }
        // SAFETY: the mapping holds `depth` descriptions; the kernel wrote this one before
        // it completed the fetch and leaves it alone until the commit.
        let description =
            unsafe { self.descriptions.as_ptr().add(usize::from(tag)).read_volatile() };
        let operation = match description.op_flags & 0xff {
            abi::OP_READ => Operation::Read,
            abi::OP_WRITE => Operation::Write,
            abi::OP_FLUSH => Operation::Flush,
            abi::OP_DISCARD => Operation::Discard,
            other => return Err(io::Error::other(format!("ublk: operation {other}"))),
        };
        let moves = operation != Operation::Flush;
        Ok(Arrival {
            disk,
            slot: tag,
            operation,
            lba: Lba(if moves { description.start_sector } else { 0 }),
            sectors: if moves { u64::from(description.sectors) } else { 0 },
            fua: description.op_flags & abi::IO_FUA != 0,
        })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the mapping is this device's own; no reference into it exists.
        let _ = unsafe { rustix::mm::munmap(self.descriptions.as_ptr().cast(), self.map_bytes) };
    }
}
