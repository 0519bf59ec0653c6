//! The kernel's interface to ublk, Linux `include/uapi/linux/ublk_cmd.h` as of 6.1 and
//! later: constants and layouts, nothing else.

/// `struct ublksrv_ctrl_cmd`, the payload of a control command.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct ControlCommand {
    pub(super) dev_id: u32,
    pub(super) queue_id: u16,
    pub(super) len: u16,
    pub(super) addr: u64,
    pub(super) data: u64,
    pub(super) dev_path_len: u16,
    pub(super) pad: u16,
    pub(super) reserved: u32,
}

/// `struct ublksrv_ctrl_dev_info`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct DeviceInfo {
    pub(super) nr_hw_queues: u16,
    pub(super) queue_depth: u16,
    pub(super) state: u16,
    pub(super) pad0: u16,
    pub(super) max_io_buf_bytes: u32,
    pub(super) dev_id: u32,
    pub(super) ublksrv_pid: i32,
    pub(super) pad1: u32,
    pub(super) flags: u64,
    pub(super) ublksrv_flags: u64,
    pub(super) owner_uid: u32,
    pub(super) owner_gid: u32,
    pub(super) reserved1: u64,
    pub(super) reserved2: u64,
}

/// `struct ublk_params` with its basic and discard parts.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Parameters {
    pub(super) len: u32,
    pub(super) types: u32,
    pub(super) attrs: u32,
    pub(super) logical_bs_shift: u8,
    pub(super) physical_bs_shift: u8,
    pub(super) io_opt_shift: u8,
    pub(super) io_min_shift: u8,
    pub(super) max_sectors: u32,
    pub(super) chunk_sectors: u32,
    pub(super) dev_sectors: u64,
    pub(super) virt_boundary_mask: u64,
    pub(super) discard_alignment: u32,
    pub(super) discard_granularity: u32,
    pub(super) max_discard_sectors: u32,
    pub(super) max_write_zeroes_sectors: u32,
    pub(super) max_discard_segments: u16,
    pub(super) reserved0: u16,
}

/// `struct ublksrv_io_cmd`, the payload of a fetch or commit.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct IoCommand {
    pub(super) queue_id: u16,
    pub(super) tag: u16,
    pub(super) result: i32,
    pub(super) addr: u64,
}

/// `struct ublksrv_io_desc`, written by the kernel for each request.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct IoDescription {
    pub(super) op_flags: u32,
    pub(super) sectors: u32,
    pub(super) start_sector: u64,
    pub(super) addr: u64,
}

/// `_IOWR('u', number, size)`.
const fn command(number: u32, size: usize) -> u32 {
    (3 << 30) | ((size as u32) << 16) | ((b'u' as u32) << 8) | number
}

const CONTROL: usize = std::mem::size_of::<ControlCommand>();
const IO: usize = std::mem::size_of::<IoCommand>();

pub(super) const ADD_DEVICE: u32 = command(0x04, CONTROL);
pub(super) const START_DEVICE: u32 = command(0x06, CONTROL);
pub(super) const SET_PARAMETERS: u32 = command(0x08, CONTROL);
pub(super) const FETCH: u32 = command(0x20, IO);
pub(super) const COMMIT_AND_FETCH: u32 = command(0x21, IO);

pub(super) const FLAG_IOCTL_ENCODE: u64 = 1 << 6;
pub(super) const FLAG_USER_COPY: u64 = 1 << 7;

pub(super) const TYPE_BASIC: u32 = 1;
pub(super) const TYPE_DISCARD: u32 = 2;

pub(super) const ATTRIBUTE_ROTATIONAL: u32 = 1 << 1;
pub(super) const ATTRIBUTE_VOLATILE_CACHE: u32 = 1 << 2;
pub(super) const ATTRIBUTE_FUA: u32 = 1 << 3;

pub(super) const OP_READ: u32 = 0;
pub(super) const OP_WRITE: u32 = 1;
pub(super) const OP_FLUSH: u32 = 2;
pub(super) const OP_DISCARD: u32 = 3;
pub(super) const IO_FUA: u32 = 1 << 13;

/// Where requests' data begins in the character device's address space.
const IO_BUFFER: u64 = 0x8000_0000;
/// Bits of the offset within one request; the tag comes above, queue 0 above that.
const IO_BUFFER_BITS: u32 = 25;

/// The offset of byte `place` of the data of request `tag` of queue 0.
pub(super) const fn data_offset(tag: u16, place: u64) -> u64 {
    IO_BUFFER + ((tag as u64) << IO_BUFFER_BITS) + place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_the_kernels_sizes() {
        assert_eq!(CONTROL, 32);
        assert_eq!(IO, 16);
        assert_eq!(std::mem::size_of::<DeviceInfo>(), 64);
        assert_eq!(std::mem::size_of::<IoDescription>(), 24);
        // 8 bytes of head, 32 basic, 20 discard, padded to 8.
        assert_eq!(std::mem::size_of::<Parameters>(), 64);
        assert_eq!(std::mem::offset_of!(Parameters, discard_alignment), 40);
        assert_eq!(ADD_DEVICE, 0xc020_7504);
        assert_eq!(COMMIT_AND_FETCH, 0xc010_7521);
    }
}
