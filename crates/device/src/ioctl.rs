//! The block layer's and the loop driver's ioctls, each behind a safe function. All `unsafe`
//! of this crate is here.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

const BLKROGET: u64 = 0x125e;
const BLKFLSBUF: u64 = 0x1261;
const BLKGETSIZE64: u64 = 0x8008_1272;
const BLKGETDISKSEQ: u64 = 0x8008_1280;
const LOOP_CLR_FD: u64 = 0x4c01;
const LOOP_GET_STATUS64: u64 = 0x4c05;
const LOOP_CONFIGURE: u64 = 0x4c0a;
const LOOP_CTL_ADD: u64 = 0x4c80;
const LOOP_CTL_REMOVE: u64 = 0x4c81;
const LOOP_CTL_GET_FREE: u64 = 0x4c82;
const DM_DEV_REMOVE: u64 = 0xc138_fd04;
const FS_IOC_GETFLAGS: u64 = 0x8008_6601;
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_NOCOW_FL: c_int = 0x0080_0000;

pub(crate) const LO_FLAGS_AUTOCLEAR: u32 = 4;
pub(crate) const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LoopInfo {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) rdevice: u64,
    pub(crate) offset: u64,
    pub(crate) sizelimit: u64,
    pub(crate) number: u32,
    pub(crate) encrypt_type: u32,
    pub(crate) encrypt_key_size: u32,
    pub(crate) flags: u32,
    pub(crate) file_name: [u8; 64],
    pub(crate) crypt_name: [u8; 64],
    pub(crate) encrypt_key: [u8; 32],
    pub(crate) init: [u64; 2],
}

impl LoopInfo {
    const EMPTY: LoopInfo = LoopInfo {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        sizelimit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

// The sizes the kernel's headers give on every 64-bit machine.
const _: () = assert!(size_of::<LoopInfo>() == 232);
const _: () = assert!(size_of::<LoopConfig>() == 304);

/// `struct dm_ioctl` of linux/dm-ioctl.h.
#[repr(C)]
struct VolumeOrder {
    version: [u32; 3],
    data_size: u32,
    others: [u32; 6],
    dev: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

const _: () = assert!(size_of::<VolumeOrder>() == 312);

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// An ioctl that takes no argument or a plain number.
fn plain(fd: BorrowedFd<'_>, request: u64, argument: u64) -> io::Result<c_int> {
    // SAFETY: the requests passed here read their argument as a number, never as an address;
    // the descriptor is open as long as the borrow lives.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, argument) })
}

/// An ioctl that fills in or reads one value.
fn with_value<T>(fd: BorrowedFd<'_>, request: u64, value: &mut T) -> io::Result<c_int> {
    // SAFETY: each caller passes the type that its request is defined with, so the kernel
    // reads and writes inside `value`, which outlives the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, std::ptr::from_mut(value)) })
}

/// Whether the block device is read-only.
pub(crate) fn is_read_only(fd: impl AsFd) -> io::Result<bool> {
    let mut value: c_int = 0;
    with_value(fd.as_fd(), BLKROGET, &mut value)?;
    Ok(value != 0)
}

/// The block device's size in bytes.
pub(crate) fn size_bytes(fd: impl AsFd) -> io::Result<u64> {
    let mut value: u64 = 0;
    with_value(fd.as_fd(), BLKGETSIZE64, &mut value)?;
    Ok(value)
}

/// The disk sequence number: different for every disk that the kernel has seen since it started,
/// even if a name or a number is reused. Linux 5.15 and newer.
pub(crate) fn disk_sequence(fd: impl AsFd) -> io::Result<u64> {
    let mut value: u64 = 0;
    with_value(fd.as_fd(), BLKGETDISKSEQ, &mut value)?;
    Ok(value)
}

/// Writes back and drops what the kernel has cached of the block device itself, so that the
/// next read sees the medium.
pub(crate) fn flush_buffers(fd: impl AsFd) -> io::Result<()> {
    plain(fd.as_fd(), BLKFLSBUF, 0).map(drop)
}

/// The number of a loop device that was free a moment ago. Another process may be faster.
pub(crate) fn free_loop(control: impl AsFd) -> io::Result<u32> {
    plain(control.as_fd(), LOOP_CTL_GET_FREE, 0).map(|number| number as u32)
}

/// Makes the loop device of this number; `EEXIST` when there is one.
pub(crate) fn add_loop(control: impl AsFd, number: u32) -> io::Result<()> {
    plain(control.as_fd(), LOOP_CTL_ADD, u64::from(number)).map(drop)
}

/// Removes a loop device that has nothing attached and that nobody has open; `EBUSY`
/// otherwise.
pub(crate) fn remove_loop(control: impl AsFd, number: u32) -> io::Result<()> {
    plain(control.as_fd(), LOOP_CTL_REMOVE, u64::from(number)).map(drop)
}

/// Attaches `backing` to the loop device in one step. Fails with `EBUSY` when another
/// process attached a file first.
pub(crate) fn configure_loop(
    device: impl AsFd,
    backing: impl AsFd,
    block_size: u32,
    flags: u32,
    label: &[u8],
) -> io::Result<()> {
    let mut info = LoopInfo { flags, ..LoopInfo::EMPTY };
    // The last byte stays zero: the kernel reads the label as a C string.
    let length = label.len().min(info.file_name.len() - 1);
    info.file_name[..length].copy_from_slice(&label[..length]);
    let mut config =
        LoopConfig { fd: backing.as_fd().as_raw_fd() as u32, block_size, info, reserved: [0; 8] };
    with_value(device.as_fd(), LOOP_CONFIGURE, &mut config).map(drop)
}

/// What is attached to the loop device; `ENXIO` when nothing is.
pub(crate) fn loop_status(device: impl AsFd) -> io::Result<LoopInfo> {
    let mut info = LoopInfo::EMPTY;
    with_value(device.as_fd(), LOOP_GET_STATUS64, &mut info)?;
    Ok(info)
}

/// Detaches the loop device's file, at once or when its last user closes it.
pub(crate) fn detach_loop(device: impl AsFd) -> io::Result<()> {
    plain(device.as_fd(), LOOP_CLR_FD, 0).map(drop)
}

/// Removes the device-mapper volume of this name; refused while it is open.
pub(crate) fn remove_volume(name: &str) -> io::Result<()> {
    let control = std::fs::File::open("/dev/mapper/control")?;
    let mut order = VolumeOrder {
        version: [4, 0, 0],
        data_size: size_of::<VolumeOrder>() as u32,
        others: [0; 6],
        dev: 0,
        name: [0; 128],
        uuid: [0; 129],
        data: [0; 7],
    };
    // The last byte stays zero: the kernel takes a string.
    let room = order.name.len() - 1;
    let place = order.name.get_mut(..name.len()).filter(|place| place.len() <= room);
    place
        .ok_or_else(|| io::Error::from_raw_os_error(libc::ENAMETOOLONG))?
        .copy_from_slice(name.as_bytes());
    with_value(control.as_fd(), DM_DEV_REMOVE, &mut order).map(|_| ())
}

/// Requests in-place writes on copy-on-write filesystems that support the flag (btrfs). It can be
/// set only on an empty file.
pub(crate) fn set_no_copy_on_write(file: impl AsFd) -> io::Result<()> {
    // The kernel reads and writes an int here, though the request's number names a long.
    let mut flags: c_int = 0;
    with_value(file.as_fd(), FS_IOC_GETFLAGS, &mut flags)?;
    flags |= FS_NOCOW_FL;
    with_value(file.as_fd(), FS_IOC_SETFLAGS, &mut flags).map(drop)
}
