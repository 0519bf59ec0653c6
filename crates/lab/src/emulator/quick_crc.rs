//! A QEMU that computes checksums with the host's CRC32C instruction.
//!
//! The guest's kernel computes CRC32C with the processor's instruction for it; ext4, xfs and btrfs
//! checksum all their metadata this way. QEMU emulates that instruction bit by bit, in a loop of 64
//! rounds for each 8 bytes. That was 6 % of all processor time when records were appended to a file
//! on ext4. The copy executes the host's instruction instead, which gives the same result. Neither
//! figures nor counted instructions change.
//!
//! If the function does not look as expected, or the host has no such instruction, nothing is
//! changed, which is only slower.

use super::Change;

/// `helper_crc32` of Debian's QEMU 7.2: `u64 (u32 crc, u64 message, u32 bits)`, with `bits` 8, 16,
/// 32 or 64, from its first instruction to its return.
const BIT_BY_BIT: [u8; 76] = [
    0xb9, 0x40, 0, 0, 0, 0x48, 0x89, 0xf0, 0x48, 0xc7, 0xc6, 0xff, 0xff, 0xff, 0xff, 0x89, 0xff,
    0x29, 0xd1, 0x48, 0xd3, 0xee, 0x8d, 0x4a, 0xff, 0x48, 0x21, 0xc6, 0x48, 0x89, 0xf0, 0x48, 0x31,
    0xf8, 0x85, 0xd2, 0x74, 0x25, 0xbf, 0x78, 0x3b, 0xf6, 0x82, 0x0f, 0x1f, 0x44, 0, 0, 0x48, 0x89,
    0xc2, 0x48, 0xd1, 0xe8, 0x83, 0xe2, 0x01, 0x48, 0x89, 0xc6, 0x48, 0x31, 0xf8, 0x48, 0x85, 0xd2,
    0x48, 0x0f, 0x44, 0xc6, 0x83, 0xe9, 0x01, 0x73, 0xe5, 0xc3,
];

/// The same function with one CRC instruction for each width.
const AT_ONCE: [u8; 41] = [
    0x89, 0xf8, // mov %edi, %eax
    0x83, 0xfa, 0x20, // cmp $32, %edx
    0x77, 0x1b, // ja 64
    0x74, 0x13, // je 32
    0x83, 0xfa, 0x10, // cmp $16, %edx
    0x74, 0x07, // je 16
    0xf2, 0x40, 0x0f, 0x38, 0xf0, 0xc6, 0xc3, // crc32b %sil, %eax; ret
    0x66, 0xf2, 0x0f, 0x38, 0xf1, 0xc6, 0xc3, // 16: crc32w %si, %eax; ret
    0xf2, 0x0f, 0x38, 0xf1, 0xc6, 0xc3, // 32: crc32l %esi, %eax; ret
    0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc6, 0xc3, // 64: crc32q %rsi, %rax; ret
];

/// The change that makes QEMU use the host's instruction; `None` where the function is not found
/// exactly once, or the host has no such instruction.
pub(super) fn as_the_host_does(program: &[u8]) -> Option<Change> {
    if !std::is_x86_feature_detected!("sse4.2") {
        return None;
    }
    let mut found = program
        .windows(BIT_BY_BIT.len())
        .enumerate()
        .filter(|(_, window)| window[..5] == BIT_BY_BIT[..5] && *window == BIT_BY_BIT);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Some((at, AT_ONCE.to_vec())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executed here: the code refers to nothing but its arguments.
    fn computed(code: &[u8], crc: u32, message: u64, bits: u32) -> u64 {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        // SAFETY: new memory of this test alone, a page long, into which the code fits; the code
        // changes registers that a call may change, and returns.
        unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE | ProtFlags::EXEC;
            let memory =
                mmap_anonymous(std::ptr::null_mut(), 4096, protection, MapFlags::PRIVATE).unwrap();
            memory.cast::<u8>().copy_from_nonoverlapping(code.as_ptr(), code.len());
            let call: extern "sysv64" fn(u32, u64, u32) -> u64 = std::mem::transmute(memory);
            let result = call(crc, message, bits);
            munmap(memory, 4096).unwrap();
            result
        }
    }

    #[test]
    fn both_compute_the_same_at_every_width() {
        if !std::is_x86_feature_detected!("sse4.2") {
            assert_eq!(as_the_host_does(&BIT_BY_BIT), None);
            return;
        }
        let mut message = 0x0123_4567_89ab_cdef_u64;
        for turn in 0..200_u32 {
            message = message.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let crc = turn.wrapping_mul(0x9e37_79b9);
            for bits in [8, 16, 32, 64] {
                let slow = computed(&BIT_BY_BIT, crc, message, bits);
                assert_eq!(computed(&AT_ONCE, crc, message, bits), slow, "{crc} {message} {bits}");
            }
        }
        // RFC 3720, B.4: 32 bytes of zeros.
        let zeros = (0..4).fold(u32::MAX, |crc, _| computed(&AT_ONCE, crc, 0, 64) as u32);
        assert_eq!(!zeros, 0x8a91_36aa);
    }

    #[test]
    fn it_is_changed_where_it_stands_once() {
        let program =
            |copies: usize| [&[0x90; 9][..], &BIT_BY_BIT.repeat(copies), &[0; 9]].concat();
        let Some((at, new)) = as_the_host_does(&program(1)) else {
            assert!(!std::is_x86_feature_detected!("sse4.2"));
            return;
        };
        assert_eq!((at, new.len() <= BIT_BY_BIT.len()), (9, true));
        assert_eq!(as_the_host_does(&program(2)), None);
        assert_eq!(as_the_host_does(&program(0)), None);
    }
}
