//! The guest's initramfs: our own binary, modules, tools.

use std::collections::BTreeSet;
use std::path::Path;

use guest::MODULES_DIRECTORY;
use guest::region::{KERNEL_LOG_AT, KERNEL_LOG_BYTES};
use stack::filesystems::FILESYSTEMS;
use stack::layouts::LAYOUTS;

use crate::cpio::Archive;
use crate::error::LabError;
use crate::modules::ModuleTree;
use crate::tools;

/// Loaded before anything else: checksums and encodings that filesystems ask for by names
/// only modprobe would understand, schedulers, and the block device of simulated disks.
const FIRST: &[&str] = &[
    "crc32c_generic",
    "crc32c_intel",
    "crc32_generic",
    "xxhash_generic",
    "blake2b_generic",
    "sha256_generic",
    "sha256_ssse3",
    "nls_ascii",
    "nls_utf8",
    "nls_cp437",
    "nls_iso8859_1",
    "bfq",
    "kyber_iosched",
    "ublk_drv",
    "ramoops",
];

/// An initramfs and what is known of it.
#[derive(Debug)]
pub(crate) struct Initramfs {
    pub(crate) bytes: Vec<u8>,
    /// Bytes that stay in the guest's memory: all but the modules' files.
    pub(crate) resident: u64,
    /// Tools that filesystems or layouts want and the tree does not have.
    pub(crate) missing: Vec<String>,
}

/// Builds it from the binary, the modules and the tools' tree; `region_base` is where the
/// guest finds the shared region.
///
/// # Errors
/// When a file cannot be read, or the kernel has no module for simulated disks.
pub(crate) fn initramfs(
    binary: &[u8],
    modules: &Path,
    tools: &Path,
    region_base: u64,
) -> Result<Initramfs, LabError> {
    let mut archive = Archive::new();
    for directory in ["dev", "proc", "sys", "run", "tmp", "mnt", "etc", "sbin", "lib", "lib64"] {
        archive.directory(directory);
    }
    archive.directory("lib/x86_64-linux-gnu");
    // mkfs.nilfs2 looks there for what is mounted.
    archive.link("etc/mtab", "/proc/self/mounts");
    archive.character_device("dev/console", 5, 1);
    archive.character_device("dev/null", 1, 3);
    archive.file("init", true, binary);
    let mut resident = binary.len() as u64;

    let tree = ModuleTree::read(modules)?;
    if !tree.has("ublk_drv") {
        return Err(LabError::damaged(
            modules,
            "these modules have no ublk_drv, with which the guest offers its simulated disks",
        ));
    }
    let mut wanted: Vec<&str> = FIRST.to_vec();
    wanted.extend(FILESYSTEMS.iter().map(|filesystem| filesystem.describe().module));
    wanted.extend(LAYOUTS.iter().flat_map(|layout| layout.describe().modules));
    let directory = MODULES_DIRECTORY.trim_start_matches('/');
    archive.directory(directory);
    let mut order = String::new();
    for module in tree.collect(&wanted)? {
        let file = format!("{}.ko", module.name);
        archive.file(&format!("{directory}/{file}"), false, &module.image);
        order.push_str(&file);
        if module.name == "ramoops" {
            order.push_str(&kernel_log_options(region_base));
        }
        order.push('\n');
    }
    archive.file(&format!("{directory}/order"), false, order.as_bytes());

    let programs: BTreeSet<&str> = FILESYSTEMS
        .iter()
        .flat_map(|filesystem| filesystem.describe().programs)
        .chain(LAYOUTS.iter().flat_map(|layout| layout.describe().programs))
        .copied()
        .collect();
    let userland = tools::collect(tools, programs)?;
    for (path, contents) in &userland.files {
        archive.file(path, true, contents);
        resident += contents.len() as u64;
    }
    Ok(Initramfs { bytes: archive.finish(), resident, missing: userland.missing })
}

/// Where the kernel leaves its log at an oops or panic.
fn kernel_log_options(region_base: u64) -> String {
    let base = region_base + KERNEL_LOG_AT;
    let record = KERNEL_LOG_BYTES / 2;
    format!(
        " mem_address={base:#x} mem_size={KERNEL_LOG_BYTES:#x} record_size={record:#x} \
         console_size=0 ftrace_size=0 pmsg_size=0 ecc=0"
    )
}
