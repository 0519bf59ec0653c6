//! What is handed out: an archive and a Debian package of the one static binary, with its man
//! pages and completions, below `target/dist`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, GzBuilder};

const BUILT: &str = "target/x86_64-unknown-linux-gnu/release/fstrial";
const FOLDER: &str = "target/dist";

/// Whom a package names; no address is promised yet.
const MAINTAINER: &str = "fstrial developers <fstrial@fstrial.invalid>";

/// Where a Debian system looks for a shell's completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/fstrial"),
    ("zsh", "usr/share/zsh/vendor-completions/_fstrial"),
    ("fish", "usr/share/fish/vendor_completions.d/fstrial.fish"),
];

/// It needs no library. What it runs on the machine itself is asked for by name when it is
/// missing (`fstrial doctor`), so none of these is a dependency.
const CONTROL: &str = "\
Section: admin
Priority: optional
Recommends: e2fsprogs, mount
Suggests: binutils, btrfs-progs, gcc, libc6-dev, patch, python3, xfsprogs, xz-utils
Description: compares filesystems so that the answer can be repeated
 Runs published workloads on any matrix of filesystems, options, layouts and
 disks, repeated and interleaved, and says which is faster, by how much, and
 whether that is more than noise.
 .
 Without spare hardware it runs real Linux filesystems in a guest whose clock
 is virtual and whose disks are models: the same question gives the same
 figure on any machine. On block devices and loop files it measures this
 machine. Studies that others published can be run again and their claims
 tested.
";

/// Why the package departs from what Debian's checker expects.
const OVERRIDES: &str = "\
# The same file is copied to servers and into a guest, so it stands on no library.
fstrial: statically-linked-binary [usr/bin/fstrial]
fstrial: shared-library-lacks-prerequisites [usr/bin/fstrial]
# It writes the package database of the system that the lab boots, in a folder of its own.
fstrial: uses-dpkg-database-directly [usr/bin/fstrial]
";

/// Builds, unless `binary` is given, and packs.
///
/// # Errors
/// When a tool is missing or a step fails.
pub(crate) fn make(binary: Option<PathBuf>) -> Result<()> {
    let binary = match binary {
        Some(given) => given,
        None => {
            run(Command::new("cargo").args(["build", "--release", "--locked", "-p", "cli"]))?;
            PathBuf::from(BUILT)
        }
    };
    let version = version(&binary)?;
    let name = format!("fstrial-{version}-x86_64");
    let root = Path::new(FOLDER).join("deb");
    for old in [root.clone(), Path::new(FOLDER).join(&name)] {
        if old.exists() {
            fs::remove_dir_all(&old)?;
        }
    }
    lay_out(&binary, &root, &version)?;
    settle_modes(&root)?;
    let archive = archive(&root, &name)?;
    let package = Path::new(FOLDER).join(format!("fstrial_{version}_amd64.deb"));
    run(Command::new("dpkg-deb")
        .args(["--build", "--root-owner-group"])
        .args([root.as_path(), &package]))
    .context("dpkg-deb comes in Debian's package dpkg")?;
    println!("{}\n{}", archive.display(), package.display());
    Ok(())
}

fn version(binary: &Path) -> Result<String> {
    let said = output(Command::new(binary).arg("--version"))?;
    let said = String::from_utf8(said)?;
    let version = said.split_whitespace().nth(1).context("`fstrial --version` names none")?;
    Ok(version.to_owned())
}

/// The package's tree as it will lie on a system.
fn lay_out(binary: &Path, root: &Path, version: &str) -> Result<()> {
    let program = root.join("usr/bin/fstrial");
    folder_of(&program)?;
    run(Command::new("strip").arg("-o").args([&program, binary]))
        .context("strip comes in Debian's package binutils")?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    for (shell, place) in COMPLETIONS {
        let script = output(Command::new(binary).args(["completions", shell]))?;
        write(&root.join(place), &script)?;
    }
    let pages = Path::new(FOLDER).join("man");
    run(Command::new(binary).arg("man").arg(&pages))?;
    for page in fs::read_dir(&pages)? {
        let page = page?.path();
        let name = page.file_name().context("a page has a name")?.to_string_lossy().into_owned();
        pack(&root.join(format!("usr/share/man/man1/{name}.gz")), &fs::read(&page)?)?;
    }
    fs::remove_dir_all(&pages)?;
    let documents = root.join("usr/share/doc/fstrial");
    pack(&documents.join("NEWS.gz"), &fs::read("CHANGELOG.md")?)?;
    pack(&documents.join("changelog.gz"), changelog(version)?.as_bytes())?;
    write(&documents.join("copyright"), copyright(&fs::read_to_string("LICENSE-MIT")?).as_bytes())?;
    write(&root.join("usr/share/lintian/overrides/fstrial"), OVERRIDES.as_bytes())?;
    let size = size_of(&root.join("usr"))?.div_ceil(1024);
    let control = format!(
        "Package: fstrial\nVersion: {version}\nArchitecture: amd64\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {size}\n{CONTROL}"
    );
    write(&root.join("DEBIAN/control"), control.as_bytes())
}

/// The change log in Debian's form, which leads to ours. Its date is the commit's, so that a
/// second build is the same.
fn changelog(version: &str) -> Result<String> {
    let date = output(Command::new("git").args(["log", "-1", "--format=%cD"]))?;
    let date = String::from_utf8(date)?;
    Ok(format!(
        "fstrial ({version}) unstable; urgency=medium\n\n  * What changed is in NEWS.gz.\n\n \
         -- {MAINTAINER}  {}\n",
        date.trim()
    ))
}

/// Both licences in the form that Debian reads.
fn copyright(mit: &str) -> String {
    let indented: Vec<String> = mit
        .lines()
        .map(|line| if line.is_empty() { " .".to_owned() } else { format!(" {line}") })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n\
         Files: *\nCopyright: 2026, the fstrial developers\nLicense: Expat or Apache-2.0\n\n\
         License: Expat\n{}\n\n\
         License: Apache-2.0\n On Debian systems the text of this licence is in\n \
         /usr/share/common-licenses/Apache-2.0.\n",
        indented.join("\n")
    )
}

/// The archive for every other system: the same tree below one folder, without Debian's own.
fn archive(root: &Path, name: &str) -> Result<PathBuf> {
    let archive = Path::new(FOLDER).join(format!("{name}.tar.gz"));
    run(Command::new("tar")
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"])
        .arg("--transform")
        .arg(format!("s,^usr,{name},"))
        .args(["--exclude=usr/share/lintian", "-czf"])
        .arg(fs::canonicalize(FOLDER)?.join(format!("{name}.tar.gz")))
        .arg("usr")
        .current_dir(root))?;
    Ok(archive)
}

/// Modes that do not depend on the umask of whoever builds.
fn settle_modes(root: &Path) -> Result<()> {
    run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(root))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    folder_of(path)?;
    fs::write(path, bytes).with_context(|| path.display().to_string())
}

/// Compresses as Debian asks: at best, without name and time.
fn pack(path: &Path, bytes: &[u8]) -> Result<()> {
    folder_of(path)?;
    let mut writer = GzBuilder::new().write(File::create(path)?, Compression::best());
    writer.write_all(bytes)?;
    writer.finish()?;
    Ok(())
}

fn folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}

fn size_of(folder: &Path) -> Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        size += if found.is_dir() { size_of(&entry.path())? } else { found.len() };
    }
    Ok(size)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let said = command.output().with_context(|| format!("{command:?}"))?;
    if !said.status.success() {
        bail!("{command:?}: {}: {}", said.status, String::from_utf8_lossy(&said.stderr).trim());
    }
    Ok(said.stdout)
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_line_of_a_licence_stays_in_its_paragraph() {
        let text = super::copyright("one\n\ntwo\n");
        assert!(text.contains("License: Expat\n one\n .\n two\n\nLicense: Apache-2.0\n"), "{text}");
    }
}
