//! The guest's initramfs: our own binary, modules, tools.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use guest::MODULES_DIRECTORY;
use guest::region::{KERNEL_LOG_AT, KERNEL_LOG_BYTES};
use stack::filesystems::FILESYSTEMS;
use stack::layouts::LAYOUTS;

use crate::cpio::Archive;
use crate::error::LabError;
use crate::lab::Parts;
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

/// Builds it from the binary and a lab's parts; `region_base` is where the guest finds the
/// shared region.
///
/// # Errors
/// When a file cannot be read, or the kernel has no module for simulated disks.
pub(crate) fn initramfs(
    binary: &[u8],
    parts: &Parts,
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

    let optional = |what: &str| {
        let places = parts.optional.iter().map(|part| part.join(what));
        places.filter(|place| place.is_dir()).collect::<Vec<_>>()
    };
    let mut module_places = vec![parts.modules.clone()];
    module_places.extend(optional("modules"));
    let tree = ModuleTree::read(module_places)?;
    if !tree.has("ublk_drv") {
        return Err(LabError::damaged(
            &parts.modules,
            "these modules have no ublk_drv, with which the guest offers its simulated disks",
        ));
    }
    let mut wanted: Vec<&str> = FIRST.to_vec();
    wanted.extend(FILESYSTEMS.iter().map(|filesystem| filesystem.describe().module));
    wanted.extend(LAYOUTS.iter().flat_map(|layout| layout.describe().modules));
    wanted.extend(LAYOUTS.iter().flat_map(|layout| layout.describe().faster_with));
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
        .chain(parts.descriptions().flat_map(|part| part.programs))
        .copied()
        .collect();
    let optional_tools = optional("tools");
    let mut trees = vec![parts.tools.as_path()];
    trees.extend(optional_tools.iter().map(PathBuf::as_path));
    let userland = tools::collect(&trees, programs)?;
    for place in optional("files") {
        resident += add_tree(&mut archive, &place, "")?;
    }
    for (path, contents) in &userland.files {
        archive.file(path, true, contents);
        resident += contents.len() as u64;
    }
    Ok(Initramfs { bytes: archive.finish(), resident, missing: userland.missing })
}

/// Adds the contents of a directory, below `place` in the guest; returns the bytes added.
fn add_tree(archive: &mut Archive, directory: &Path, place: &str) -> Result<u64, LabError> {
    let mut paths = std::fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(LabError::at("read", directory))?;
    paths.sort();
    let mut added = 0;
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("{place}{name}");
        let data = path.symlink_metadata().map_err(LabError::at("stat", &path))?;
        if data.is_dir() {
            archive.directory(&place);
            added += add_tree(archive, &path, &format!("{place}/"))?;
        } else if data.is_symlink() {
            let target = std::fs::read_link(&path).map_err(LabError::at("read", &path))?;
            archive.link(&place, &target.to_string_lossy());
        } else {
            let contents = std::fs::read(&path).map_err(LabError::at("read", &path))?;
            archive.file(&place, data.permissions().mode() & 0o111 != 0, &contents);
            added += data.len();
        }
    }
    Ok(added)
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
