//! Packages, unpacked but not configured, as one tree with the database that dpkg keeps of them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tar::EntryType;

use super::OURS;
use crate::error::LabError;

/// Paths left out: files for graphics hardware, which the display in memory does not need, and
/// files that only people read. (Manual pages are removed later, since some scripts look for them.)
const LEFT_OUT: &[&str] = &[
    "usr/share/doc/",
    "usr/share/locale/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/lib/x86_64-linux-gnu/dri/",
    "usr/lib/x86_64-linux-gnu/libLLVM",
    "usr/lib/x86_64-linux-gnu/libz3",
];

/// Where an entry of a package lies in a tree whose `/bin`, `/sbin` and `/lib` are links into
/// `/usr`; `None` for those links themselves and for what is left out.
fn place_of(path: &Path) -> Option<PathBuf> {
    let path: PathBuf = path.components().filter(|part| part.as_os_str() != ".").collect();
    let first = path.iter().next()?.to_str()?;
    let merged = ["bin", "sbin", "lib", "lib64"].contains(&first);
    if merged && path.iter().count() == 1 {
        return None;
    }
    let path = if merged { Path::new("usr").join(path) } else { path };
    let text = path.to_str()?;
    LEFT_OUT.iter().all(|left_out| !text.starts_with(left_out)).then_some(path)
}

/// Puts packages, unpacked but not configured, into one archive of a tree.
pub(super) fn assemble(packages: &[PathBuf], to: &Path) -> Result<(), LabError> {
    let failed = |error| LabError::at("write", to)(error);
    let file = File::create(to).map_err(failed)?;
    let mut tree = tar::Builder::new(io::BufWriter::with_capacity(1 << 20, file));
    let mut directories = BTreeSet::new();
    for name in ["usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "var", "var/lib"] {
        directory(&mut tree, &mut directories, Path::new(name)).map_err(failed)?;
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        let mut header = header(EntryType::Symlink, 0o777, 0);
        tree.append_link(&mut header, name, format!("usr/{name}")).map_err(failed)?;
    }
    let admin = Path::new("var/lib/dpkg");
    for name in ["", "info", "updates", "triggers", "alternatives", "parts"] {
        directory(&mut tree, &mut directories, &admin.join(name)).map_err(failed)?;
    }
    let mut status = String::new();
    for package in packages {
        let list = add_files(&mut tree, &mut directories, package)?;
        let control = control_files(package)?;
        let find = |name: &str| control.iter().find(|(known, _)| known == name);
        let text = find("control").map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
        let text = text.ok_or_else(|| LabError::damaged(package, "it has no control file"))?;
        let conffiles = find("conffiles").map(|(_, bytes)| String::from_utf8_lossy(bytes));
        status.push_str(&stanza(&text, conffiles.as_deref().unwrap_or_default()));
        let name = admin_name(&text);
        let kept = control.iter().filter(|(file, _)| file != "control" && file != "md5sums");
        for (file, bytes) in kept {
            let place = admin.join("info").join(format!("{name}.{file}"));
            let script = ["preinst", "postinst", "prerm", "postrm", "config"];
            let mode = if script.contains(&file.as_str()) { 0o755 } else { 0o644 };
            add(&mut tree, &place, mode, bytes).map_err(failed)?;
        }
        let place = admin.join("info").join(format!("{name}.list"));
        add(&mut tree, &place, 0o644, list.as_bytes()).map_err(failed)?;
    }
    add(&mut tree, &admin.join("status"), 0o644, status.as_bytes()).map_err(failed)?;
    add(&mut tree, &admin.join("available"), 0o644, b"").map_err(failed)?;
    for (path, mode, text) in OURS {
        let place = Path::new(path);
        if let Some(parent) = place.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            for above in parent.ancestors().collect::<Vec<_>>().into_iter().rev() {
                directory(&mut tree, &mut directories, above).map_err(failed)?;
            }
        }
        add(&mut tree, place, *mode, text.as_bytes()).map_err(failed)?;
    }
    let mut file = tree.into_inner().map_err(failed)?;
    file.flush().map_err(failed)
}

type Tree = tar::Builder<io::BufWriter<File>>;

fn header(kind: EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header
}

fn directory(tree: &mut Tree, known: &mut BTreeSet<PathBuf>, path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || !known.insert(path.components().collect()) {
        return Ok(());
    }
    tree.append_data(&mut header(EntryType::Directory, 0o755, 0), path, io::empty())
}

fn add(tree: &mut Tree, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    tree.append_data(&mut header(EntryType::Regular, mode, bytes.len() as u64), path, bytes)
}

/// Runs `dpkg-deb` and hands its output over.
fn dpkg_deb<R>(
    verb: &str,
    package: &Path,
    read: impl FnOnce(&mut dyn Read) -> Result<R, LabError>,
) -> Result<R, LabError> {
    let program = |said: String| LabError::Program {
        command: format!("dpkg-deb {verb} {}", package.display()),
        said,
        next: None,
    };
    let mut child = Command::new("dpkg-deb")
        .args([verb.as_ref(), package.as_os_str()])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| program(error.to_string()))?;
    let result = match child.stdout.take() {
        Some(mut output) => {
            let result = read(&mut output);
            // Reads the rest, an archive's padding, so that dpkg-deb is not ended by a closed pipe.
            let _ = io::copy(&mut output, &mut io::sink());
            result
        }
        None => Err(program("it has no output".to_owned())),
    };
    let status = child.wait().map_err(|error| program(error.to_string()))?;
    if !status.success() {
        return Err(program(status.to_string()));
    }
    result
}

/// Adds a package's files. Returns the file list that dpkg keeps for the package.
fn add_files(
    tree: &mut Tree,
    directories: &mut BTreeSet<PathBuf>,
    package: &Path,
) -> Result<String, LabError> {
    dpkg_deb("--fsys-tarfile", package, |output| {
        let damaged = |error| LabError::at("read", package)(error);
        let mut list = String::new();
        let mut archive = tar::Archive::new(output);
        for entry in archive.entries().map_err(damaged)? {
            let mut entry = entry.map_err(damaged)?;
            let path = entry.path().map_err(damaged)?.into_owned();
            list.push_str(&listed(&path));
            let Some(place) = place_of(&path) else { continue };
            let mut header = entry.header().clone();
            let kind = header.entry_type();
            if kind == EntryType::Directory && !directories.insert(place.clone()) {
                continue;
            }
            match kind {
                EntryType::Symlink | EntryType::Link => {
                    let target = entry.link_name().map_err(damaged)?.unwrap_or_default();
                    let target = match kind {
                        EntryType::Link => place_of(&target),
                        _ => Some(target.into_owned()),
                    };
                    let Some(target) = target else { continue };
                    tree.append_link(&mut header, place, target).map_err(damaged)?;
                }
                _ => tree.append_data(&mut header, place, &mut entry).map_err(damaged)?,
            }
        }
        Ok(list)
    })
}

/// A line of dpkg's file list. The root is `/.`: an empty name would damage the database.
fn listed(path: &Path) -> String {
    let path: PathBuf = path.components().filter(|part| part.as_os_str() != ".").collect();
    if path.as_os_str().is_empty() { "/.\n".to_owned() } else { format!("/{}\n", path.display()) }
}

/// The files of a package's control archive.
fn control_files(package: &Path) -> Result<Vec<(String, Vec<u8>)>, LabError> {
    dpkg_deb("--ctrl-tarfile", package, |output| {
        let damaged = |error| LabError::at("read", package)(error);
        let mut files = Vec::new();
        for entry in tar::Archive::new(output).entries().map_err(damaged)? {
            let mut entry = entry.map_err(damaged)?;
            if entry.header().entry_type() != EntryType::Regular {
                continue;
            }
            let path = entry.path().map_err(damaged)?.into_owned();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(damaged)?;
            files.push((name.to_owned(), bytes));
        }
        Ok(files)
    })
}

fn field<'a>(control: &'a str, name: &str) -> Option<&'a str> {
    control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The name under which dpkg keeps a package's files.
fn admin_name(control: &str) -> String {
    let name = field(control, "Package").unwrap_or_default();
    match (field(control, "Multi-Arch"), field(control, "Architecture")) {
        (Some("same"), Some(architecture)) => format!("{name}:{architecture}"),
        _ => name.to_owned(),
    }
}

/// The entry in dpkg's database for a package that is unpacked but not configured.
fn stanza(control: &str, conffiles: &str) -> String {
    let mut text = String::new();
    for line in control.trim_end().lines() {
        text.push_str(line);
        text.push('\n');
        if line.starts_with("Package:") {
            text.push_str("Status: install ok unpacked\n");
        }
    }
    let files: Vec<&str> = conffiles.lines().filter(|line| line.starts_with('/')).collect();
    if !files.is_empty() {
        text.push_str("Conffiles:\n");
        for file in files {
            text.push_str(&format!(" {} newconffile\n", file.trim_end()));
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_one_usr() {
        let place = |path: &str| place_of(Path::new(path)).map(|p| p.display().to_string());
        assert_eq!(place("./bin/ls").as_deref(), Some("usr/bin/ls"));
        assert_eq!(place("./lib/systemd/systemd").as_deref(), Some("usr/lib/systemd/systemd"));
        assert_eq!(place("./usr/bin/ls").as_deref(), Some("usr/bin/ls"));
        assert_eq!(place("./lib/"), None);
        assert_eq!(place("./"), None);
        assert_eq!(place("./usr/share/doc/dash/copyright"), None);
        assert_eq!(place("./etc/passwd").as_deref(), Some("etc/passwd"));
    }

    #[test]
    fn the_list_of_a_package_names_the_root_as_dpkg_does() {
        assert_eq!(listed(Path::new("./")), "/.\n");
        assert_eq!(listed(Path::new("./lib64/")), "/lib64\n");
    }

    #[test]
    fn the_database_says_unpacked() {
        let control = "Package: libx\nArchitecture: amd64\nMulti-Arch: same\nVersion: 1\n";
        assert_eq!(admin_name(control), "libx:amd64");
        let text = stanza(control, "/etc/x\nremove-on-upgrade /etc/y\n");
        assert!(text.contains("Package: libx\nStatus: install ok unpacked\n"), "{text}");
        assert!(text.ends_with("Conffiles:\n /etc/x newconffile\n\n"), "{text}");
    }

    #[test]
    fn packages_become_one_tree() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().join("package");
        std::fs::create_dir_all(root.join("DEBIAN")).unwrap();
        std::fs::create_dir_all(root.join("lib/x")).unwrap();
        std::fs::write(root.join("lib/x/file"), "contents").unwrap();
        let control = "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x>\n\
                       Description: x\n";
        std::fs::write(root.join("DEBIAN/control"), control).unwrap();
        let package = work.path().join("x.deb");
        let built = Command::new("dpkg-deb")
            .args(["--build", "--root-owner-group"])
            .args([&root, &package])
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        let tree = work.path().join("tree.tar");
        assemble(&[package], &tree).unwrap();
        let mut archive = tar::Archive::new(File::open(&tree).unwrap());
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        for expected in ["usr/lib/x/file", "lib", "var/lib/dpkg/status", "configure"] {
            assert!(names.iter().any(|name| name == expected), "{expected} of {names:?}");
        }
        let once: BTreeSet<&String> = names.iter().collect();
        assert_eq!(once.len(), names.len(), "each entry once");
    }
}
