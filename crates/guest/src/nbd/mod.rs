//! The nbd front end, for kernels without ublk: the kernel's network block device, whose
//! other end is a socket of this process. Requests and data pass through that socket, which costs
//! more of the guest's time than ublk.

mod limits;
mod netlink;
mod sockets;

pub(crate) use limits::cover;
pub(crate) use netlink::connect;
pub(crate) use sockets::Sockets;

/// What a device offers, bits of `linux/nbd.h`.
const HAS_FLAGS: u64 = 1 << 0;
const SEND_FLUSH: u64 = 1 << 2;
const SEND_FUA: u64 = 1 << 3;
const SEND_TRIM: u64 = 1 << 5;
