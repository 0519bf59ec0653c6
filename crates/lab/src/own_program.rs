//! Brings the user's own program into a guest. The program and all that it loads from this machine
//! are packed into an archive, which becomes its root in the guest. Paths in the archive are those
//! of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use workload::Job;

use crate::apt::Archives;
use crate::cache::{open_cache, write_whole};
use crate::elf::Elf;
use crate::error::LabError;
use crate::packages::Source;
use crate::tools::{LIBRARIES, LIBRARY_DIRECTORIES, PROGRAM_DIRECTORIES};

/// `EM_X86_64` of elf.h.
const X86_64: u16 = 62;
/// Where to put programs that are in none of the directories in which a guest looks.
const ELSEWHERE: &str = "usr/local/bin";
/// Archives that are kept, the most recently used ones.
const KEPT: usize = 4;

/// The path of a program; a name without a slash is looked up in `search`.
///
/// # Errors
/// When it is not there, not executable, or of another architecture.
pub fn find(program: &Path, search: &[PathBuf]) -> Result<PathBuf, LabError> {
    let path = file(program, search)?;
    let wrong = |problem: String| LabError::value(path.display().to_string(), problem);
    let found = std::fs::metadata(&path).map_err(LabError::at("look at", &path))?;
    if found.is_dir() {
        return Err(wrong("it is a directory, not a program".to_owned()));
    }
    if found.permissions().mode() & 0o111 == 0 {
        return Err(wrong(format!("it is not executable; `chmod +x {}`", path.display())));
    }
    let mut start = [0; 20];
    let read = std::fs::File::open(&path)
        .and_then(|file| std::os::unix::fs::FileExt::read_at(&file, &mut start, 0));
    let read = read.map_err(LabError::at("read", &path))?;
    match (&start[..4], start[4], u16::from_le_bytes([start[18], start[19]])) {
        (b"\x7fELF", 2, X86_64) if read == 20 => Ok(path),
        (b"\x7fELF", class, machine) => Err(wrong(format!(
            "it is a program for {}, but the guest is x86_64",
            architecture(class, machine)
        ))),
        _ if start.starts_with(b"#!") => Ok(path),
        _ => Err(wrong(
            "it is neither an ELF program nor a script that begins with `#!` and its interpreter"
                .to_owned(),
        )),
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
        _ => Err(LabError::value(path.display().to_string(), "there is no such file or program")),
    }
}

/// Makes the archive of a job.
///
/// # Errors
/// When something it needs is not there.
pub fn archive(job: &Job, search: &[PathBuf], cache: &Path) -> Result<PathBuf, LabError> {
    open_cache(cache)?;
    let mut pack = Pack { files: BTreeMap::new(), search };
    if !job.packages.is_empty() {
        let tree = packages(&job.packages, cache)?;
        pack.tree(&tree, Path::new(""))?;
        for directory in ["bin", "sbin", "lib", "lib64"] {
            pack.merged(directory);
        }
    }
    for words in job.commands() {
        pack.program(&job.program(words))?;
    }
    for path in &job.files {
        pack.any(&file(&job.path(path), search).or_else(|_| file(path, search))?)?;
    }
    for path in &job.inputs {
        pack.any(&job.path(path))?;
    }
    let bytes = pack.tar()?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let directory = cache.join("programs");
    std::fs::create_dir_all(&directory).map_err(LabError::at("create", &directory))?;
    crate::cache::prune(&directory, KEPT);
    let path = directory.join(format!("{}.tar", &digest[..16]));
    write_whole(&path, |mut file| {
        std::io::Write::write_all(&mut file, &bytes).map_err(LabError::at("write", &path))
    })?;
    Ok(path)
}

/// The tree of these packages and all they depend on; unpacks them if that was not done before.
fn packages(names: &[String], cache: &Path) -> Result<PathBuf, LabError> {
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    for name in &names {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
            return Err(LabError::value(format!("package `{name}`"), "it is no package's name"));
        }
    }
    let place = cache.join("built").join(format!("packages-{}", names.join("_")));
    if place.is_dir() {
        return Ok(place);
    }
    let work = cache.join("built").join(format!("unfinished-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(LabError::at("create", &work))?;
    let unpacked = Source::new(cache, &work, Archives::default(), Vec::new(), &mut |_| ())
        .unpacked("program", "tree", &names, true)
        .and_then(|tree| {
            std::fs::rename(work.join(tree), &place).map_err(LabError::at("rename", &place))
        });
    let _ = std::fs::remove_dir_all(&work);
    unpacked.map(|()| place)
}

/// An entry of the archive.
enum Held {
    File { contents: Vec<u8>, executable: bool },
    Link(PathBuf),
}

struct Pack<'a> {
    /// By path from the root.
    files: BTreeMap<PathBuf, Held>,
    search: &'a [PathBuf],
}

impl Pack<'_> {
    fn has(&self, path: &Path) -> bool {
        self.files.contains_key(from_root(path))
    }

    /// Adds a program from a package, or one of this machine with all it loads.
    fn program(&mut self, program: &Path) -> Result<(), LabError> {
        let name = program.file_name().unwrap_or_default();
        let brought = PROGRAM_DIRECTORIES.iter().any(|it| self.has(&Path::new(it).join(name)));
        if brought && program.components().count() == 1 {
            return Ok(());
        }
        let path = find(program, self.search)?;
        self.loadable(&path)?;
        let looked_up = PROGRAM_DIRECTORIES.map(Path::new);
        let place = from_root(path.parent().unwrap_or(Path::new("/")));
        if program.components().count() == 1 && !looked_up.contains(&place) {
            self.files.insert(Path::new(ELSEWHERE).join(name), Held::Link(path));
        }
        Ok(())
    }

    /// Adds a file (if it is a program, with all it loads) or a directory with its contents.
    fn any(&mut self, path: &Path) -> Result<(), LabError> {
        if !path.is_dir() {
            return self.loadable(path);
        }
        self.tree(path, from_root(path))
    }

    /// Adds a file, with the libraries of a program or the interpreter of a script.
    fn loadable(&mut self, path: &Path) -> Result<(), LabError> {
        if self.has(path) {
            return Ok(());
        }
        let contents = self.file(path, from_root(path))?;
        if let Some(line) = contents.strip_prefix(b"#!") {
            let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line).into_owned();
            let mut words = line.split_whitespace();
            let interpreter = Path::new(words.next().unwrap_or_default());
            self.program(interpreter)?;
            if interpreter.ends_with("env")
                && let Some(name) = words.find(|word| !word.starts_with('-'))
            {
                self.program(Path::new(name))?;
            }
            return Ok(());
        }
        let Some(elf) = Elf::parse(&contents) else { return Ok(()) };
        if let Some(loader) = elf.interpreter() {
            self.loadable(Path::new(&loader))?;
        }
        let origin = path.parent().unwrap_or(Path::new("/")).display().to_string();
        let own: Vec<PathBuf> = elf
            .library_paths()
            .iter()
            .map(|place| place.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin).into())
            .collect();
        for library in elf.libraries() {
            self.library(&library, &own, path)?;
        }
        Ok(())
    }

    fn library(&mut self, name: &str, own: &[PathBuf], by: &Path) -> Result<(), LabError> {
        let usual = LIBRARY_DIRECTORIES.map(|place| Path::new("/").join(place));
        let mut known = own.iter().chain(&usual).map(|place| place.join(name));
        if known.any(|path| self.has(&path)) || self.has(&Path::new(LIBRARIES).join(name)) {
            return Ok(());
        }
        if let Some(path) =
            own.iter().chain(&usual).map(|place| place.join(name)).find(|path| path.is_file())
        {
            return self.loadable(&path);
        }
        let listed = listed_directories();
        let found = listed.iter().map(|place| place.join(name)).find(|path| path.is_file());
        let path = found.ok_or_else(|| {
            let problem = format!("it needs the library {name}, which this machine does not have");
            LabError::value(by.display().to_string(), problem)
        })?;
        self.loadable(&path)?;
        self.files.insert(Path::new(LIBRARIES).join(name), Held::Link(path));
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<Vec<u8>, LabError> {
        let contents = std::fs::read(from).map_err(LabError::at("read", from))?;
        let found = std::fs::metadata(from).map_err(LabError::at("look at", from))?;
        let executable = found.permissions().mode() & 0o111 != 0;
        let held = Held::File { contents: contents.clone(), executable };
        self.files.insert(to.to_owned(), held);
        Ok(contents)
    }

    fn tree(&mut self, from: &Path, to: &Path) -> Result<(), LabError> {
        let entries = std::fs::read_dir(from).map_err(LabError::at("read", from))?;
        for entry in entries {
            let entry = entry.map_err(LabError::at("read", from))?;
            let (path, place) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(LabError::at("look at", &path))?;
            if kind.is_dir() {
                self.tree(&path, &place)?;
            } else if kind.is_symlink() {
                let target = std::fs::read_link(&path).map_err(LabError::at("read", &path))?;
                self.files.insert(place, Held::Link(target));
            } else if kind.is_file() {
                self.file(&path, &place)?;
            }
        }
        Ok(())
    }

    /// Adds the symlinks of a merged /usr: packages put everything below /usr, but their programs
    /// also look for it in the root.
    fn merged(&mut self, directory: &str) {
        let here = Path::new(directory);
        let there = Path::new("usr").join(directory);
        if !self.files.keys().any(|path| path.starts_with(here))
            && self.files.keys().any(|path| path.starts_with(&there))
        {
            self.files.insert(here.to_owned(), Held::Link(there));
        }
    }

    /// The archive's bytes, which are equal for equal files.
    fn tar(self) -> Result<Vec<u8>, LabError> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, held) in &self.files {
            let failed = |error| LabError::at("pack", path)(error);
            let mut header = tar::Header::new_gnu();
            header.set_mtime(0);
            match held {
                Held::File { contents, executable } => {
                    header.set_size(contents.len() as u64);
                    header.set_mode(if *executable { 0o755 } else { 0o644 });
                    builder.append_data(&mut header, path, &contents[..]).map_err(failed)?;
                }
                Held::Link(target) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_size(0);
                    header.set_mode(0o777);
                    builder.append_link(&mut header, path, target).map_err(failed)?;
                }
            }
        }
        builder.into_inner().map_err(LabError::at("pack", Path::new("the program's files")))
    }
}

fn from_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// Library directories in the configuration of this machine's loader.
fn listed_directories() -> Vec<PathBuf> {
    let configured = std::fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten();
    let files = configured.map(|entry| entry.path());
    let texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
    let lines: Vec<PathBuf> = texts
        .flat_map(|text| text.lines().map(|line| PathBuf::from(line.trim())).collect::<Vec<_>>())
        .filter(|path| path.is_absolute())
        .collect();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(words: &[&str]) -> Job {
        Job::of_command(words.iter().map(|word| (*word).to_owned()).collect(), Path::new("/"))
    }

    fn names(job: &Job) -> BTreeSet<String> {
        let cache = tempfile::tempdir().unwrap();
        let search: Vec<PathBuf> = ["/usr/bin".into(), "/bin".into()].into();
        let path = archive(job, &search, &cache.path().join("lab")).unwrap();
        let mut tar = tar::Archive::new(std::fs::File::open(path).unwrap());
        let entries = tar.entries().unwrap();
        entries.map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
    }

    #[test]
    fn a_program_comes_with_its_loader_and_its_libraries() {
        let names = names(&job(&["ls"]));
        for part in ["usr/bin/ls", "lib64/ld-linux-x86-64.so.2"] {
            assert!(names.contains(part), "{part}: {names:?}");
        }
        assert!(names.iter().any(|name| name.ends_with("/libc.so.6")), "{names:?}");
    }

    #[test]
    fn a_script_comes_with_its_interpreter() {
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("script");
        std::fs::write(&script, "#!/usr/bin/env sh\necho\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let names = names(&job(&[&script.display().to_string()]));
        assert!(names.iter().any(|name| name.ends_with("bin/env")), "{names:?}");
        assert!(names.iter().any(|name| name.ends_with("bin/sh")), "{names:?}");
    }

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
        assert!(refused(b"hello", 0o755).contains("neither an ELF program nor a script"));
        let missing = find(Path::new("/no/such"), &[]).unwrap_err().to_string();
        assert!(missing.contains("no such file or program"), "{missing}");
        let missing = find(Path::new("no-such"), &["/bin".into()]).unwrap_err().to_string();
        assert!(missing.starts_with("no-such:"), "{missing}");
    }
}
