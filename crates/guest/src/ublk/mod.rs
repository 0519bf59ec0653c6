//! The ublk front end: real block devices of the guest's kernel, served by this process.

mod abi;
mod control;
mod queue;

pub(crate) use control::Control;
pub(crate) use queue::Queues;

/// Largest request the kernel may send: what SCSI and SATA drivers of Linux allow.
pub(crate) const REQUEST_BYTES: usize = 1 << 20;

/// An io_uring payload as the bytes it is sent as, padded to the field's size.
fn payload<T: Copy, const SIZE: usize>(command: T) -> [u8; SIZE] {
    const { assert!(std::mem::size_of::<T>() <= SIZE) };
    let mut bytes = [0; SIZE];
    // SAFETY: `T` is one of the `repr(C)` structures without padding of `abi`, no larger
    // than `bytes`; both are plain memory of this function.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const command).cast::<u8>(),
            bytes.as_mut_ptr(),
            std::mem::size_of::<T>(),
        );
    }
    bytes
}
