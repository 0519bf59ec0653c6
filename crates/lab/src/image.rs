//! The guest's initramfs: the guest program, kernel modules and tools.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use guest::region::{KERNEL_LOG_AT, KERNEL_LOG_BYTES};
use guest::{FrontEndKind, MODULES_DIRECTORY, WHOLE_FILE};
use stack::filesystems::FILESYSTEMS;
use stack::layouts::LAYOUTS;
use units::Bytes;
use workload::ORIGINALS;

use crate::cpio::Archive;
use crate::error::LabError;
use crate::modules::{Module, ModuleTree};
use crate::parts::Parts;
use crate::tools;

/// Modules loaded before all others: checksums and encodings that filesystems request by aliases
/// which only modprobe would resolve, I/O schedulers, and the block driver of simulated disks.
const FIRST: &[&str] = &[
    "crc32c_generic",
    "crc32c_intel",
    "crc32_generic",
    // The names in Linux 6.18, which no longer has the others.
    "crc32c_cryptoapi",
    "crc32_cryptoapi",
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
    "ramoops",
];

/// Number of nbd devices: as many as a layout may have disks.
const NBD_DEVICES: usize = 16;
/// The first kernel whose ublk copies data for its server.
const UBLK_SINCE: (u32, u32) = (6, 5);

/// Memory that a guest needs to boot, in addition to twice its image: once as the emulator loads
/// it and once unpacked. Measured: with an image of 80.1 MiB it booted in 225 MiB, not in 223.
const KERNEL: Bytes = Bytes::from_mib(66);

/// An initramfs and facts about it.
#[derive(Debug)]
pub(crate) struct Initramfs {
    pub(crate) bytes: Vec<u8>,
    /// Bytes that stay in the guest's memory: all but the modules' files.
    pub(crate) resident: u64,
    /// The least RAM in which a guest boots.
    pub(crate) starts_in: Bytes,
    /// Tools that filesystems or layouts need, and modules that layouts need, which the trees do
    /// not have.
    pub(crate) missing: Vec<String>,
    /// How the kernel reaches simulated disks.
    pub(crate) front_end: FrontEndKind,
}

/// Builds it from the guest's program and a lab's parts; `region_base` is where the guest finds the
/// shared region.
///
/// # Errors
/// When a file cannot be read, or the kernel has no module for simulated disks.
pub(crate) fn initramfs(
    parts: &Parts,
    region_base: u64,
    front_end: Option<FrontEndKind>,
) -> Result<Initramfs, LabError> {
    let mut archive = Archive::new();
    for directory in ["dev", "proc", "sys", "run", "tmp", "mnt", "etc", "sbin", "lib", "lib64"] {
        archive.directory(directory);
    }
    archive.directory("lib/x86_64-linux-gnu");
    // mkfs.nilfs2 reads it to find out what is mounted.
    archive.link("etc/mtab", "/proc/self/mounts");
    archive.character_device("dev/console", 5, 1);
    archive.character_device("dev/null", 1, 3);
    archive.file("init", true, guest_image::PROGRAM);
    let mut resident = guest_image::PROGRAM.len() as u64;

    let optional = |what: &str| {
        let places = parts.optional.iter().map(|part| part.join(what));
        places.filter(|place| place.is_dir()).collect::<Vec<_>>()
    };
    let mut module_places = vec![parts.modules.clone()];
    module_places.extend(optional("modules"));
    let tree = ModuleTree::read(module_places)?;
    let front_end = choose(front_end, &parts.modules, &tree)?;
    let optional_tools = optional("tools");
    let mut trees = vec![parts.tools.as_path()];
    trees.extend(optional_tools.iter().map(PathBuf::as_path));
    let wanted = wanted_modules(front_end, &trees);
    add_modules(&mut archive, tree.collect(&wanted)?, region_base);

    let userland = tools::collect(&trees, programs(parts))?;
    for place in optional("files") {
        resident += add_tree(&mut archive, &place, "")?;
    }
    for (path, contents) in &userland.files {
        archive.file(path, true, contents);
        resident += contents.len() as u64;
    }
    let beside: u64 = parts.descriptions().map(|part| part.memory.0).sum();
    resident += beside;
    let mut missing = userland.missing;
    add_missing_modules(&mut missing, &tree);
    // The last entry: if the guest finds this file, the whole archive was unpacked.
    archive.file(WHOLE_FILE.trim_start_matches('/'), false, b"");
    let bytes = archive.finish();
    let starts_in = Bytes(2 * bytes.len() as u64 + KERNEL.0 + beside);
    Ok(Initramfs { bytes, resident, starts_in, missing, front_end })
}

/// The modules to load: the first ones, that of the front end, and those of all layouts and of the
/// filesystems whose tools are in these trees.
fn wanted_modules(front_end: FrontEndKind, trees: &[&Path]) -> Vec<&'static str> {
    let mut wanted: Vec<&str> = FIRST.to_vec();
    wanted.push(module_of(front_end));
    let has = |program: &&str| {
        trees.iter().any(|tree| tools::find(tree, &tools::PROGRAM_DIRECTORIES, program).is_some())
    };
    // A filesystem that cannot be made needs no module in the guest's memory.
    let filesystems = FILESYSTEMS.iter().map(|filesystem| filesystem.describe());
    let able = filesystems.filter(|description| description.programs.iter().all(has));
    wanted.extend(able.map(|description| description.module));
    wanted.extend(LAYOUTS.iter().flat_map(|layout| layout.describe().modules));
    wanted.extend(LAYOUTS.iter().flat_map(|layout| layout.describe().faster_with));
    wanted
}

/// Adds modules, and a file with their order and options.
fn add_modules(archive: &mut Archive, modules: Vec<Module>, region_base: u64) {
    let directory = MODULES_DIRECTORY.trim_start_matches('/');
    archive.directory(directory);
    let mut order = String::new();
    for module in modules {
        let file = format!("{}.ko", module.name);
        archive.file(&format!("{directory}/{file}"), false, &module.image);
        order.push_str(&file);
        match module.name.as_str() {
            "ramoops" => order.push_str(&kernel_log_options(region_base)),
            "nbd" => order.push_str(&format!(" nbds_max={NBD_DEVICES} max_part=0")),
            _ => {}
        }
        order.push('\n');
    }
    archive.file(&format!("{directory}/order"), false, order.as_bytes());
}

/// The programs that filesystems, layouts, workloads and the lab's optional parts want in a guest.
fn programs(parts: &Parts) -> BTreeSet<&'static str> {
    let run_by_originals = ORIGINALS
        .iter()
        .flat_map(|original| original.describe().programs().map(|program| program.name));
    FILESYSTEMS
        .iter()
        .flat_map(|filesystem| filesystem.describe().programs)
        .chain(FILESYSTEMS.iter().flat_map(|filesystem| filesystem.upkeep_programs()))
        .chain(trial::capabilities::PROGRAMS)
        .chain(LAYOUTS.iter().flat_map(|layout| layout.describe().programs))
        .chain(parts.descriptions().flat_map(|part| part.programs))
        .copied()
        .chain(run_by_originals)
        .collect()
}

/// Adds the modules of layouts that this kernel neither has nor has built in.
fn add_missing_modules(missing: &mut Vec<String>, tree: &ModuleTree) {
    for module in LAYOUTS.iter().flat_map(|layout| layout.describe().modules) {
        let is_there = tree.offers(module) == Some(true);
        if !is_there && !missing.iter().any(|other| other == module) {
            missing.push((*module).to_owned());
        }
    }
}

fn module_of(front_end: FrontEndKind) -> &'static str {
    match front_end {
        FrontEndKind::Ublk => "ublk_drv",
        FrontEndKind::Nbd => "nbd",
    }
}

/// The requested front end if there is a module for it. Without a request: ublk if the kernel's
/// version supports what the lab needs, otherwise nbd.
fn choose(
    asked: Option<FrontEndKind>,
    modules: &Path,
    tree: &ModuleTree,
) -> Result<FrontEndKind, LabError> {
    let has = |kind: &FrontEndKind| tree.offers(module_of(*kind)) == Some(true);
    let candidates = match asked {
        Some(asked) => vec![asked],
        None if release(modules).is_some_and(|release| release < UBLK_SINCE) => {
            vec![FrontEndKind::Nbd]
        }
        None => vec![FrontEndKind::Ublk, FrontEndKind::Nbd],
    };
    candidates.iter().copied().find(has).ok_or_else(|| {
        let names: Vec<&str> = candidates.iter().map(|kind| module_of(*kind)).collect();
        let names = names.join(" or ");
        LabError::damaged(
            modules,
            format!("these modules include no {names}, which a guest needs to reach its disks"),
        )
    })
}

/// The first two numbers in the name of a modules directory such as `6.12.117+deb12-amd64`.
fn release(modules: &Path) -> Option<(u32, u32)> {
    let mut numbers = modules.file_name()?.to_str()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
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
            let contents = files::read_file(&path, tools::PROGRAM_MAX)?;
            archive.file(&place, data.permissions().mode() & 0o111 != 0, &contents);
            added += data.len();
        }
    }
    Ok(added)
}

/// Module options that tell the kernel where to leave its log at an oops or panic.
fn kernel_log_options(region_base: u64) -> String {
    let base = region_base + KERNEL_LOG_AT;
    let record = KERNEL_LOG_BYTES / 2;
    format!(
        " mem_address={base:#x} mem_size={KERNEL_LOG_BYTES:#x} record_size={record:#x} \
         console_size=0 ftrace_size=0 pmsg_size=0 ecc=0"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_end_is_what_the_kernel_has_or_what_was_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let choice = |release: &str, modules: &[&str], asked| {
            let directory = directory.path().join(release);
            std::fs::create_dir_all(&directory).unwrap();
            for module in modules {
                std::fs::write(directory.join(format!("{module}.ko")), "").unwrap();
            }
            choose(asked, &directory, &ModuleTree::read(vec![directory.clone()]).unwrap())
        };
        let both = ["ublk_drv", "nbd"];
        assert_eq!(choice("6.12.1-amd64", &both, None).unwrap(), FrontEndKind::Ublk);
        let nbd = Some(FrontEndKind::Nbd);
        assert_eq!(choice("6.12.1-amd64", &both, nbd).unwrap(), FrontEndKind::Nbd);
        // Its ublk does not copy.
        assert_eq!(choice("6.1.0-9-amd64", &both, None).unwrap(), FrontEndKind::Nbd);
        assert_eq!(choice("6.6.0", &["nbd"], None).unwrap(), FrontEndKind::Nbd);
        let error = choice("6.7.0", &[], None).unwrap_err().to_string();
        let built_in = directory.path().join("6.8.0/modules.builtin");
        std::fs::create_dir_all(built_in.parent().unwrap()).unwrap();
        std::fs::write(built_in, "kernel/drivers/block/nbd.ko\n").unwrap();
        assert_eq!(choice("6.8.0", &[], None).unwrap(), FrontEndKind::Nbd);
        assert!(error.contains("ublk_drv or nbd"), "{error}");
    }
}
