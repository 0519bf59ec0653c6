//! The user's own kernel: checked before anything is built with it, and booted once before the lab
//! is put in place.

use std::io::Read;
use std::path::{Path, PathBuf};

use stack::FILESYSTEMS;
use testbed::Stop;
use trial::InputFiles;

use crate::apt;
use crate::contents::tree_digest;
use crate::error::LabError;
use crate::lab::Lab;
use crate::profile::MachineProfile;
use crate::progress::BuildProgress;
use crate::software::{OwnKernel, Software};

/// The machine on which a kernel is tried: the smallest that is shipped.
const TRIED_ON: &str = "ideal";
/// Where a kernel's package is unpacked, relative to the lab's directory.
const UNPACKED: &str = "kernel-package";

/// The kind of a file that was given as kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// A bzImage, which needs its modules beside it.
    Image,
    /// A kernel's Debian package, with its modules in it.
    Package,
}

/// Finds out what a file given as kernel is.
///
/// # Errors
/// When it is missing, or not a kernel for x86-64.
pub(crate) fn look_at(path: &Path) -> Result<Given, LabError> {
    // The boot sector and its header: Linux, Documentation/arch/x86/boot.rst.
    let mut head = Vec::new();
    files::open_regular(path)?
        .take(0x238)
        .read_to_end(&mut head)
        .map_err(LabError::at("read the kernel", path))?;
    if head.starts_with(b"!<arch>\n") {
        return Ok(Given::Package);
    }
    // `xloadflags`: it has an entry for 64 bits.
    let has_64_bits = head.get(0x236).is_some_and(|flags| flags & 1 != 0);
    match head.get(0x202..0x206) {
        Some(b"HdrS") if has_64_bits => Ok(Given::Image),
        _ => Err(LabError::value(
            path.display().to_string(),
            "it is not a kernel for x86-64: give a bzImage (arch/x86/boot/bzImage, \
             /boot/vmlinuz-…) with --modules, or a kernel's Debian package",
        )),
    }
}

/// Finds out what the files given as kernel are: an image, or one or several packages.
///
/// # Errors
/// When one is missing or no kernel, or they are of both kinds.
pub(crate) fn look_at_all(paths: &[PathBuf]) -> Result<Option<Given>, LabError> {
    let kinds = paths.iter().map(|path| look_at(path)).collect::<Result<Vec<_>, _>>()?;
    match kinds[..] {
        [_, _, ..] if kinds.contains(&Given::Image) => Err(LabError::value(
            "--kernel",
            "give one kernel image, or the Debian packages of one kernel",
        )),
        _ => Ok(kinds.first().copied()),
    }
}

/// Checks that a directory contains kernel modules.
///
/// # Errors
/// When it has no list of modules.
pub(crate) fn check_modules(path: &Path) -> Result<(), LabError> {
    let lists = ["modules.dep", "modules.builtin", "modules.order"];
    if lists.iter().any(|list| path.join(list).is_file()) {
        return Ok(());
    }
    Err(LabError::value(
        path.display().to_string(),
        "it is not a directory of kernel modules: give lib/modules/RELEASE, as `make \
         modules_install` and depmod leave it",
    ))
}

/// Unpacks a kernel's packages below `work`, and those that they depend on and that lie beside them;
/// returns the relative paths of kernel and modules, and a description of the packages.
///
/// # Errors
/// When one is damaged, or they have no kernel or no modules in them.
pub(crate) fn unpack(
    packages: Vec<PathBuf>,
    work: &Path,
) -> Result<(PathBuf, PathBuf, OwnKernel), LabError> {
    let root = work.join(UNPACKED);
    std::fs::create_dir_all(&root).map_err(LabError::at("create", &root))?;
    let (packages, absent) = with_their_own(packages)?;
    for package in &packages {
        apt::unpack(package, &root)?;
    }
    files::without_set_id(&root)?;
    let first_package = packages.first().map(PathBuf::as_path).unwrap_or(Path::new(""));
    let lacks = |what: &str| {
        let problem = match &absent[..] {
            [] => format!("it has no {what} in it; give the package of a kernel's image"),
            absent => format!(
                "it has no {what} in it, but depends on {}: put their files beside it, or give each \
                 with a --kernel of its own",
                absent.join(", ")
            ),
        };
        LabError::value(first_package.display().to_string(), problem)
    };
    let (kernel, modules) = find(&root);
    let kernel = kernel.ok_or_else(|| lacks("kernel"))?;
    look_at(&kernel)?;
    let modules = modules.ok_or_else(|| lacks("modules"))?;
    let relative = |path: PathBuf| path.strip_prefix(work).map(Path::to_owned).unwrap_or(path);
    let (name, version) = apt::calls_itself(first_package)?;
    let key = tree_digest(&root)?;
    Ok((
        relative(kernel),
        relative(modules),
        OwnKernel { made_of: format!("{name} {version}"), key },
    ))
}

/// The kernel and the directory of modules in unpacked packages. Debian's kernels from 7.x on lie
/// beside their modules, earlier ones in `boot`.
fn find(root: &Path) -> (Option<PathBuf>, Option<PathBuf>) {
    let inside = |directory: PathBuf| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let places = ["lib/modules", "usr/lib/modules"].map(|place| root.join(place));
    let releases: Vec<PathBuf> = places.into_iter().flat_map(inside).collect();
    let kernel = [root.join("boot")].into_iter().chain(releases.clone()).find_map(|directory| {
        inside(directory).into_iter().find(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"))
        })
    });
    // What has a kernel and no module has no modules.
    let modules = releases.into_iter().find(|release| release.join("kernel").is_dir());
    (kernel, modules)
}

/// These packages and what they need of the same kernel from beside them; and the names of what is
/// not there. Debian's kernels from 7.x on come in three packages: of the binary, of the modules,
/// and one that depends on both.
fn with_their_own(mut packages: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<String>), LabError> {
    let mut names = Vec::new();
    for package in &packages {
        names.push(apt::calls_itself(package)?.0);
    }
    let (mut absent, mut seen) = (Vec::new(), 0);
    while let Some(package) = packages.get(seen).cloned() {
        seen += 1;
        for needed in apt::needs(&package)?.into_iter().filter(|name| is_of_kernel(name)) {
            if names.contains(&needed) {
                continue;
            }
            let beside = package.parent().map(|directory| beside(directory, &needed));
            match beside.flatten() {
                Some(path) => packages.push(path),
                None => absent.push(needed.clone()),
            }
            names.push(needed);
        }
    }
    Ok((packages, absent))
}

/// Whether a package is of a kernel with a release in its name: `linux-modules-7.3.4+deb14-amd64`.
fn is_of_kernel(name: &str) -> bool {
    let kinds = ["linux-image-", "linux-binary-", "linux-modules-", "linux-base-"];
    let release = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    release.is_some_and(|release| release.starts_with(|c: char| c.is_ascii_digit()))
}

/// The file of a package in a directory.
fn beside(directory: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            file.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('_') && rest.ends_with(".deb"))
        })
        .collect();
    found.sort();
    found.pop()
}

/// Boots a guest with the new software, so that a kernel that does not boot never gets into the
/// lab. Reports how the guest reaches its disks and what is missing.
///
/// # Errors
/// When it has no front end for simulated disks, or does not boot.
pub(crate) fn try_out(
    software: &Software,
    cache: &Path,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<(), LabError> {
    let profile = MachineProfile::find(TRIED_ON)?;
    let lab = Lab::open(software.parts()?, cache, profile, &InputFiles::default())?;
    lab.warm_up(&Stop::new())?;
    let known = FILESYSTEMS.iter().map(|filesystem| filesystem.describe());
    let able = known.filter(|description| {
        description.needs_device && lab.offer().refusal(description.name, description).is_none()
    });
    progress(BuildProgress::Booted {
        front_end: lab.front_end().name(),
        filesystems: able.map(|description| description.name).collect(),
        missing: lab.missing_tools().to_vec(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_head() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("kernel");
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        let other = image.clone();
        image[0x236] = 1;
        let mut cut = image.clone();
        cut.truncate(0x204);
        for (bytes, expected) in [
            (&image[..], Some(Given::Image)),
            (b"!<arch>\ndebian-binary", Some(Given::Package)),
            (&cut[..], None),
            // A kernel for 32 bits.
            (&other[..], None),
            (b"just a text\n", None),
            (b"\x7fELF\x02\x01", None),
            (b"", None),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(look_at(&path).ok(), expected);
        }
        let error = look_at(&room.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
        assert!(look_at(room.path()).is_err());
    }

    /// As Debian packed them up to 6.12, after `/usr` was merged, and from 7.x on.
    #[test]
    fn a_kernel_is_found_wherever_debian_puts_it() {
        for (kernel, modules) in [
            ("boot/vmlinuz-6.12.1", "lib/modules/6.12.1"),
            ("boot/vmlinuz-6.12.1", "usr/lib/modules/6.12.1"),
            ("usr/lib/modules/7.2.13/vmlinuz", "usr/lib/modules/7.2.13"),
        ] {
            let room = tempfile::tempdir().unwrap();
            let kernel = room.path().join(kernel);
            std::fs::create_dir_all(kernel.parent().unwrap()).unwrap();
            std::fs::write(&kernel, "").unwrap();
            assert_eq!(find(room.path()), (Some(kernel.clone()), None));
            let modules = room.path().join(modules);
            std::fs::create_dir_all(modules.join("kernel")).unwrap();
            assert_eq!(find(room.path()), (Some(kernel), Some(modules)));
        }
    }

    #[test]
    fn a_directory_without_modules_is_none_of_them() {
        let room = tempfile::tempdir().unwrap();
        let error = check_modules(room.path()).unwrap_err().to_string();
        assert!(error.contains("lib/modules/RELEASE"), "{error}");
        std::fs::write(room.path().join("modules.dep"), "").unwrap();
        check_modules(room.path()).unwrap();
    }
}
