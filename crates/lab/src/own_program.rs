//! Brings the user's own program into a guest. The program and all that it loads from this machine
//! are packed into an archive, which becomes its root in the guest. Paths in the archive are those
//! of this machine.

mod finding;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use workload::Job;

pub use self::finding::{file, find};
use crate::apt::Archives;
use crate::cache::{open_cache, write_whole};
use crate::elf::Elf;
use crate::error::LabError;
use crate::inputs::INPUTS_MAX;
use crate::lock::Lock;
use crate::packages::Source;
use crate::tools::{LIBRARIES, LIBRARY_DIRECTORIES, PROGRAM_DIRECTORIES};

/// Where to put programs that are in none of the directories in which a guest looks.
const ELSEWHERE: &str = "usr/local/bin";
/// Archives that are kept, the most recently used ones.
const KEPT: usize = 4;

/// The paths that an argument may be: itself, and what follows a `=` in it.
pub fn files_named(word: &str) -> impl Iterator<Item = &Path> {
    let behind = word.split_once('=').map(|(_, behind)| behind);
    let is_path = |text: &&str| !text.is_empty() && !text.starts_with('-') && !text.contains('{');
    [Some(word), behind].into_iter().flatten().filter(is_path).map(Path::new)
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
    }
    for words in job.commands() {
        pack.program(&job.program(words))?;
    }
    for path in &job.files {
        pack.any(&file(&job.path(path), search).or_else(|_| file(path, search))?)?;
    }
    for path in job.inputs.iter().chain(&job.carried) {
        pack.any(&job.path(path))?;
    }
    for word in job.commands().flat_map(|words| words.iter().skip(1)) {
        for named in files_named(word).filter(|named| named.is_absolute() && named.is_file()) {
            pack.any(named)?;
        }
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
    const USER: &str = ".programs";
    let _lock = Lock::take(&cache.join("programs.lock"))?;
    if place.is_dir() {
        return Ok(place);
    }
    let work = cache.join("built").join(format!("unfinished-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(LabError::at("create", &work))?;
    let unpacked = Source::new(cache, USER, &work, Archives::default(), Vec::new(), &mut |_| ())
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

/// Directories of the root that are symlinks into /usr: packages put everything there, and programs
/// look for it in both.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// Where a path of this machine or of a package lies in the archive.
fn place(path: &Path) -> PathBuf {
    let path = from_root(path);
    match MERGED.iter().any(|merged| path.starts_with(merged)) {
        true => Path::new("usr").join(path),
        false => path.to_owned(),
    }
}

impl Pack<'_> {
    fn has(&self, path: &Path) -> bool {
        self.files.contains_key(&place(path))
    }

    fn put(&mut self, path: &Path, held: Held) {
        // What a package has in place of these directories is a symlink like ours.
        if !MERGED.iter().any(|merged| path == Path::new(merged)) {
            self.files.insert(place(path), held);
        }
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
        let directory = from_root(path.parent().unwrap_or(Path::new("/")));
        if program.components().count() == 1 && !looked_up.contains(&directory) {
            self.put(&Path::new(ELSEWHERE).join(name), Held::Link(path));
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
        self.modules(path)?;
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
        self.put(&Path::new(LIBRARIES).join(name), Held::Link(path));
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<Vec<u8>, LabError> {
        let contents = files::read_file(from, INPUTS_MAX.0)?;
        let found = std::fs::metadata(from).map_err(LabError::at("look at", from))?;
        let executable = found.permissions().mode() & 0o111 != 0;
        let held = Held::File { contents: contents.clone(), executable };
        self.put(to, held);
        Ok(contents)
    }

    fn tree(&mut self, from: &Path, to: &Path) -> Result<(), LabError> {
        let entries = std::fs::read_dir(from).map_err(LabError::at("read", from))?;
        for entry in entries {
            let entry = entry.map_err(LabError::at("read", from))?;
            let (path, below) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(LabError::at("look at", &path))?;
            if kind.is_dir() {
                self.tree(&path, &below)?;
            } else if kind.is_symlink() {
                let target = std::fs::read_link(&path).map_err(LabError::at("read", &path))?;
                self.put(&below, Held::Link(target));
            } else if kind.is_file() {
                self.file(&path, &below)?;
            }
        }
        Ok(())
    }

    /// The archive's bytes, which are equal for equal files.
    fn tar(self) -> Result<Vec<u8>, LabError> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut files = self.files;
        for merged in MERGED {
            let there = Path::new("usr").join(merged);
            if files.keys().any(|path| path.starts_with(&there)) {
                files.insert(merged.into(), Held::Link(there));
            }
        }
        for (path, held) in &files {
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
        for part in ["usr/bin/ls", "usr/lib64/ld-linux-x86-64.so.2", "lib64"] {
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
    fn what_is_named_by_an_argument_comes_along() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        std::fs::write(&data, "x").unwrap();
        let names = names(&job(&["ls", &format!("--file={}", data.display())]));
        assert!(names.contains(from_root(&data).to_str().unwrap()), "{names:?}");
    }

    #[test]
    fn the_root_is_merged_so_that_a_shell_has_one_place() {
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let names = names(&job(&[&script.display().to_string()]));
        assert!(names.contains("usr/bin/sh") && names.contains("bin"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("bin/")), "{names:?}");
    }
}
