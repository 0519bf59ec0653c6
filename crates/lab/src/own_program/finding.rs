//! Finds a program or file of this machine, and says why it cannot run in a guest.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::LabError;

/// `EM_X86_64` of elf.h.
const X86_64: u16 = 62;
/// As much of a script's first line as the kernel reads (`BINPRM_BUF_SIZE`).
const FIRST_LINE: usize = 256;

/// The path of a program; a name without a slash is looked up in `search`.
///
/// # Errors
/// When it is not there, not executable, of another architecture, or a script whose interpreter is
/// not there.
pub fn find(program: &Path, search: &[PathBuf]) -> Result<PathBuf, LabError> {
    let path = file(program, search)?;
    let wrong = |problem: String| LabError::value(path.display().to_string(), problem);
    let found = std::fs::metadata(&path).map_err(LabError::at("look at", &path))?;
    if found.is_dir() {
        return Err(wrong("it is a directory, not a program".to_owned()));
    }
    if !found.is_file() {
        return Err(wrong("it is a pipe or a device, not a program".to_owned()));
    }
    if found.permissions().mode() & 0o111 == 0 {
        return Err(wrong(format!("it is not executable; `chmod +x {}`", path.display())));
    }
    let mut start = [0; FIRST_LINE];
    let read = std::fs::File::open(&path)
        .and_then(|file| std::os::unix::fs::FileExt::read_at(&file, &mut start, 0));
    let read = read.map_err(LabError::at("read", &path))?;
    match (&start[..4], start[4], u16::from_le_bytes([start[18], start[19]])) {
        (b"\x7fELF", 2, X86_64) if read >= 20 => Ok(path),
        (b"\x7fELF", class, machine) => Err(wrong(format!(
            "it is a program for {}, but the guest is x86_64",
            architecture(class, machine)
        ))),
        _ if start.starts_with(b"#!") => match no_interpreter(&start[2..read], &path) {
            Some(problem) => Err(wrong(problem)),
            None => Ok(path),
        },
        _ => Err(wrong(
            "it is neither an ELF program nor a script that begins with `#!` and its interpreter"
                .to_owned(),
        )),
    }
}

/// Why a script that begins so cannot be started.
fn no_interpreter(start: &[u8], path: &Path) -> Option<String> {
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.ends_with(b"\r") {
        let path = path.display();
        return Some(format!("its lines end with CR LF; `sed -i 's/\\r$//' {path}` mends it"));
    }
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let named = Path::new(OsStr::from_bytes(words.next().unwrap_or_default()));
    let named_alone = "its first line is `#!` without an interpreter";
    match named {
        _ if named.as_os_str().is_empty() => Some(named_alone.to_owned()),
        // The kernel would look for a relative one where the script works.
        _ if named.is_absolute() && !named.is_file() => Some(format!(
            "its first line names the interpreter {}, which is not there",
            named.display()
        )),
        _ => None,
    }
}

fn architecture(class: u8, machine: u16) -> String {
    match machine {
        3 => "32-bit x86".to_owned(),
        40 => "32-bit ARM".to_owned(),
        183 => "aarch64".to_owned(),
        243 => "RISC-V".to_owned(),
        X86_64 => format!("x86_64 with pointers of another size (class {class})"),
        other => format!("another architecture (machine {other} of elf.h)"),
    }
}

/// A whole command in quotes is the name of no program.
fn unfound(path: &Path) -> &'static str {
    match path.to_str().is_some_and(|name| name.contains(char::is_whitespace)) {
        true => {
            "there is no such file or program; a command is given without quotes: -- PROGRAM \
             ARGUMENT…, one for the shell as -- sh -c 'COMMAND'"
        }
        false => "there is no such file or program",
    }
}

/// The path of a file; if there is no file of that name, a name without a slash is looked up as a
/// program.
///
/// # Errors
/// When it is not there.
pub fn file(path: &Path, search: &[PathBuf]) -> Result<PathBuf, LabError> {
    if path.is_absolute() && path.exists() {
        return Ok(path.to_owned());
    }
    let name = path.file_name().unwrap_or_default();
    let looked_up = search.iter().map(|directory| directory.join(name));
    match looked_up.clone().find(|place| place.is_file()) {
        Some(found) if path.components().count() == 1 => Ok(found),
        _ => Err(LabError::value(path.display().to_string(), unfound(path))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_says_why() {
        let place = tempfile::tempdir().unwrap();
        let refused = |contents: &[u8], mode| {
            let path = place.path().join("program");
            std::fs::write(&path, contents).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            find(&path, &[]).unwrap_err().to_string()
        };
        let mut arm = std::fs::read("/bin/true").unwrap();
        arm[18] = 183;
        assert!(refused(&arm, 0o755).contains("a program for aarch64"));
        assert!(refused(b"#!/bin/sh", 0o644).contains("chmod +x"));
        assert!(refused(b"#!/bin/sh\r\ntrue\r\n", 0o755).contains("sed -i 's/\\r$//' /"));
        let missing = refused(b"#! /no/such -x\n", 0o755);
        assert!(missing.contains("the interpreter /no/such, which is not there"), "{missing}");
        assert!(refused(b"#!\n", 0o755).contains("without an interpreter"));
        assert!(refused(b"hello", 0o755).contains("neither an ELF program nor a script"));
        let missing = find(Path::new("/no/such"), &[]).unwrap_err().to_string();
        assert!(missing.contains("no such file or program"), "{missing}");
        let missing = find(Path::new("no-such"), &["/bin".into()]).unwrap_err().to_string();
        assert!(missing.starts_with("no-such:"), "{missing}");
    }
}
