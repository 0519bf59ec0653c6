//! Making ublk devices: `/dev/ublk-control`, one command at a time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use units::SECTOR_BYTES;

use super::{REQUEST_BYTES, abi, payload};
use crate::order::DiskOrder;

/// The control device.
pub(crate) struct Control {
    file: File,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
}

impl Control {
    /// Opens it.
    ///
    /// # Errors
    /// When the kernel has no ublk or no io_uring.
    pub(crate) fn open() -> io::Result<Control> {
        let file = File::options().read(true).write(true).open("/dev/ublk-control")?;
        Ok(Control { file, ring: IoUring::builder().build(4)? })
    }

    /// Makes device `id`, not yet started.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn add(&mut self, id: u32, disk: &DiskOrder) -> io::Result<()> {
        let queue = &disk.queue;
        let mut info = abi::DeviceInfo {
            nr_hw_queues: 1,
            queue_depth: queue.depth,
            max_io_buf_bytes: REQUEST_BYTES as u32,
            dev_id: id,
            ublksrv_pid: -1,
            flags: abi::FLAG_IOCTL_ENCODE | abi::FLAG_USER_COPY,
            ..Default::default()
        };
        self.send(abi::ADD_DEVICE, id, &mut info, 0)?;
        let sector_shift = SECTOR_BYTES.trailing_zeros() as u8;
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        let mut parameters = abi::Parameters {
            len: std::mem::size_of::<abi::Parameters>() as u32,
            types: abi::TYPE_BASIC | flag(queue.discard, abi::TYPE_DISCARD),
            attrs: flag(queue.rotational, abi::ATTRIBUTE_ROTATIONAL)
                | flag(queue.volatile_cache, abi::ATTRIBUTE_VOLATILE_CACHE)
                | flag(queue.volatile_cache && queue.fua, abi::ATTRIBUTE_FUA),
            logical_bs_shift: sector_shift,
            physical_bs_shift: queue.physical_sector.trailing_zeros() as u8,
            io_opt_shift: sector_shift,
            io_min_shift: queue.physical_sector.trailing_zeros() as u8,
            max_sectors: (REQUEST_BYTES as u64 / SECTOR_BYTES) as u32,
            dev_sectors: disk.capacity.0 / SECTOR_BYTES,
            ..Default::default()
        };
        if queue.discard {
            parameters.discard_granularity = queue.physical_sector;
            parameters.max_discard_sectors = 1 << 20;
            parameters.max_discard_segments = 1;
        }
        self.send(abi::SET_PARAMETERS, id, &mut parameters, 0)
    }

    /// Starts it, once its server is fetching; the block device exists when this returns.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn start(&mut self, id: u32, server: u32) -> io::Result<()> {
        self.send(abi::START_DEVICE, id, &mut (), u64::from(server))
    }

    fn send<T>(&mut self, command: u32, id: u32, buffer: &mut T, data: u64) -> io::Result<()> {
        let control = abi::ControlCommand {
            dev_id: id,
            queue_id: u16::MAX,
            len: std::mem::size_of::<T>() as u16,
            addr: (buffer as *mut T) as u64,
            data,
            ..Default::default()
        };
        let entry = opcode::UringCmd80::new(types::Fd(self.file.as_raw_fd()), command)
            .cmd(payload(control))
            .build();
        // SAFETY: the entry points to `buffer`, which outlives the wait for its completion
        // below.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        let completion = self.ring.completion().next();
        match completion.map(|completion| completion.result()) {
            Some(code) if code < 0 => Err(io::Error::from_raw_os_error(-code)),
            Some(_) => Ok(()),
            None => Err(io::Error::other("ublk: a command was not answered")),
        }
    }
}
