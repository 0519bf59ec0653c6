//! The first bytes of formats that need a kernel driver this machine may lack, or a tool
//! that writes more than the label.

/// Bitwise CRC-32 (reflected 0xEDB88320) without final inversion, from a given start.
fn crc32(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
        crc
    })
}

/// An LVM2 physical volume's label, for the first KiB: in sector 1, with its checksum.
pub(crate) fn lvm_label() -> Vec<u8> {
    let mut label = vec![0u8; 512];
    label[..8].copy_from_slice(b"LABELONE");
    label[8..16].copy_from_slice(&1u64.to_le_bytes());
    label[20..24].copy_from_slice(&32u32.to_le_bytes());
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].copy_from_slice(b"abcdefghijklmnopqrstuvwxyz012345");
    let crc = crc32(0xf597_a6cf, &label[20..]);
    label[16..20].copy_from_slice(&crc.to_le_bytes());
    [vec![0u8; 512], label].concat()
}

/// An md superblock of version 1.2, for byte 4096 of a member of this many sectors.
pub(crate) fn md_superblock_1_2(sectors: u64) -> Vec<u8> {
    let mut block = vec![0u8; 4096];
    let mut put = |offset: usize, bytes: &[u8]| {
        block[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    put(0, &0xa92b_4efc_u32.to_le_bytes());
    put(4, &1u32.to_le_bytes());
    put(16, b"fstrial-md-uuid.");
    put(32, b"host:0");
    put(72, &1u32.to_le_bytes()); // raid1
    put(80, &(sectors - 2048).to_le_bytes());
    put(92, &2u32.to_le_bytes()); // devices
    put(128, &2048u64.to_le_bytes()); // data offset
    put(136, &(sectors - 2048).to_le_bytes());
    put(144, &8u64.to_le_bytes()); // this superblock's own place
    put(168, b"fstrial-devuuid.");
    put(220, &2u32.to_le_bytes()); // entries of the role table behind the header
    put(256, &[0, 0, 1, 0]);
    // The kernel's sum: 32-bit words, carry folded in once, over header and roles.
    let sum: u64 = block[..260]
        .chunks(4)
        .map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap())))
        .sum();
    let checksum = (sum & 0xffff_ffff) as u32;
    let checksum = checksum.wrapping_add((sum >> 32) as u32);
    block[216..220].copy_from_slice(&checksum.to_le_bytes());
    block
}

/// A ZFS vdev label of 256 KiB: uberblocks in its second half.
pub(crate) fn zfs_label() -> Vec<u8> {
    let mut label = vec![0u8; 256 << 10];
    for slot in 0..16u64 {
        let offset = (128 << 10) + slot as usize * 1024;
        for (index, value) in
            [0x00ba_b10c_u64, 5000, 100 + slot, 42, 1_100_000_000].iter().enumerate()
        {
            label[offset + index * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
    }
    label
}

/// A LUKS1 header: magic, version and UUID.
pub(crate) fn luks_header() -> Vec<u8> {
    let mut header = vec![0u8; 592];
    header[..6].copy_from_slice(b"LUKS\xba\xbe");
    header[6..8].copy_from_slice(&1u16.to_be_bytes());
    header[8..11].copy_from_slice(b"aes");
    header[40..51].copy_from_slice(b"xts-plain64");
    header[72..78].copy_from_slice(b"sha256");
    header[168..204].copy_from_slice(b"6a7d1c0e-0000-4000-8000-0123456789ab");
    header
}
