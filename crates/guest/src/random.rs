//! The guest kernel's random numbers, seeded from the trial's seed, so that UUIDs and hash seeds
//! that a program draws for itself repeat with the seed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use workload::Seed;

const POOL_BYTES: usize = 64;
/// `_IOW('R', 3, int[2])` of `linux/random.h`.
const ADD_ENTROPY: u64 = 0x4008_5203;
/// `_IO('R', 7)`.
const RESEED: u64 = 0x5207;

/// `struct rand_pool_info` with its buffer.
#[repr(C)]
struct Entropy {
    bits: i32,
    bytes: i32,
    buffer: [u8; POOL_BYTES],
}

/// Mixes the seed into the entropy pool, credits it, and reseeds the generator at once.
///
/// # Errors
/// The kernel's.
pub(crate) fn seed_kernel(seed: Seed) -> io::Result<()> {
    let mut entropy =
        Entropy { bits: POOL_BYTES as i32 * 8, bytes: POOL_BYTES as i32, buffer: [0; POOL_BYTES] };
    seed.stream("guest kernel").fill(&mut entropy.buffer);
    let device = File::options().write(true).open("/dev/urandom")?;
    let check = |code: libc::c_int| match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: RNDADDENTROPY reads a `rand_pool_info` and as many bytes as it says, which is
    // what `entropy` is; RNDRESEEDCRNG takes no argument.
    unsafe {
        check(libc::ioctl(device.as_raw_fd(), ADD_ENTROPY as _, &raw const entropy))?;
        check(libc::ioctl(device.as_raw_fd(), RESEED as _))
    }
}
