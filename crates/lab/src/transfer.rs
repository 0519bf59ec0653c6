//! `fstrial lab export` and `import`: a lab as one file, so that it can be kept when distributions
//! drop its kernel. The file contains a digest of all contents, which an import checks.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use units::Bytes;

use crate::archive::{self, DIGEST, LAB, Survey};
use crate::build::adopt;
use crate::cache::{open_cache, sweep_unfinished, unfinished};
use crate::contents::tree_digest_counted;
use crate::error::LabError;
use crate::lock::Lock;
use crate::names::{BUILDS, check_name};
use crate::progress::{Counted, Transfer, Transferred};
use crate::software::{MANIFEST_VERSION, Manifest, Software};

/// Writes a lab to `file`, with its emulator.
///
/// # Errors
/// When the lab uses the user's own files, which are not copied, or there is no room.
pub fn export(
    software: &Software,
    file: &Path,
    progress: &mut dyn FnMut(Transferred),
) -> Result<(), LabError> {
    let manifest = &software.manifest;
    for path in [&manifest.kernel, &manifest.modules, &manifest.tools, &manifest.emulator] {
        if path.is_absolute() {
            let problem = "files of your own are not exported; build a lab from packages only";
            return Err(LabError::value(path.display().to_string(), problem));
        }
        let path = software.directory.join(path);
        let found = std::fs::symlink_metadata(&path).map_err(LabError::at("look at", &path))?;
        if !found.is_file() && !found.is_dir() {
            let problem = "it is neither a file nor a directory; `fstrial lab build` makes it anew";
            return Err(LabError::value(path.display().to_string(), problem));
        }
    }
    let mut size = 0;
    let digest = tree_digest_counted(&software.directory, &mut |bytes| size += bytes)?;
    let counted = Counted::new(Transfer::Packing, Bytes(size), progress);
    files::write_output(file, |output| {
        let failed = |error| LabError::at("write", file)(error);
        let mut archive = tar::Builder::new(BufWriter::new(Watched { output, counted }));
        archive.follow_symlinks(false);
        archive.sparse(false);
        let mut header = tar::Header::new_gnu();
        header.set_size(digest.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, DIGEST, digest.as_bytes()).map_err(failed)?;
        let failed = |error| LabError::at("write", file)(error);
        archive.append_dir_all(LAB, &software.directory).map_err(failed)?;
        let failed = |error| LabError::at("write", file)(error);
        let mut output = archive.into_inner().map_err(failed)?;
        output.flush().map_err(LabError::at("write", file))
    })
}

/// A file that counts what is written to it.
struct Watched<'f, 'p> {
    output: &'f mut File,
    counted: Counted<'p>,
}

impl Write for Watched<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.counted.add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.output.flush()
    }
}

/// Reads an exported lab and makes it the lab of this name in `cache`.
///
/// # Errors
/// When the file is cut off, changed or no lab, or there is no room. Nothing is left then.
pub fn import(
    cache: &Path,
    name: &str,
    file: &Path,
    progress: &mut dyn FnMut(Transferred),
) -> Result<Software, LabError> {
    check_name(name)?;
    let input = archive::open(file)?;
    let survey = Survey::of(&input, file)?;
    check_manifest(&survey, file)?;
    open_cache(cache)?;
    let store = cache.join("software");
    std::fs::create_dir_all(&store).map_err(LabError::at("create", &store))?;
    let _lock = Lock::share(&cache.join(BUILDS), "a lab that is removed", &mut |_| {})?;
    sweep_unfinished(&store);
    let work = unfinished(&store.join("import"));
    let adopted = unpack(&survey, (&input, file), &work, progress)
        .and_then(|directory| adopt(cache, name, (&directory, &survey.digest), &survey.text));
    let _ = std::fs::remove_dir_all(&work);
    adopted
}

fn check_manifest(survey: &Survey, file: &Path) -> Result<(), LabError> {
    let not_ours = |problem: &str| {
        LabError::value(file.display().to_string(), format!("{problem}: not an exported lab"))
    };
    if survey.digest.is_empty() {
        return Err(not_ours("it has no digest"));
    }
    if survey.text.is_empty() {
        return Err(not_ours("it has no manifest"));
    }
    let manifest: Manifest =
        toml::from_str(&survey.text).map_err(|error| not_ours(&error.to_string()))?;
    if manifest.version != MANIFEST_VERSION {
        return Err(not_ours(&format!("manifest version {}", manifest.version)));
    }
    if let Some(outside) = manifest.outside() {
        return Err(not_ours(&format!("its manifest names {}", outside.display())));
    }
    survey.check_manifest(&manifest).map_err(|problem| not_ours(&problem))
}

fn unpack(
    survey: &Survey,
    archive: (&File, &Path),
    work: &Path,
    progress: &mut dyn FnMut(Transferred),
) -> Result<PathBuf, LabError> {
    std::fs::create_dir_all(work).map_err(LabError::at("create", work))?;
    survey.unpack(archive, work, &mut *progress)?;
    let directory = work.join(LAB);
    let mut counted = Counted::new(Transfer::Checking, Bytes(survey.size), progress);
    if tree_digest_counted(&directory, &mut |bytes| counted.add(bytes))? != survey.digest {
        let problem = "its contents are not what was exported; copy the file again";
        return Err(LabError::value(archive.1.display().to_string(), problem));
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::DEFAULT_LAB;
    use crate::contents::tree_digest;
    use crate::names::find;
    use crate::software::MANIFEST;

    fn lab(cache: &Path) -> Software {
        let work = cache.join("software").join("made");
        std::fs::create_dir_all(work.join("modules")).unwrap();
        std::fs::create_dir_all(work.join("tools/sbin")).unwrap();
        std::fs::create_dir_all(work.join("emulator")).unwrap();
        std::fs::write(work.join("kernel"), "kernel").unwrap();
        std::fs::write(work.join("modules/ublk_drv.ko"), "module").unwrap();
        std::os::unix::fs::symlink("mke2fs", work.join("tools/sbin/mkfs.ext4")).unwrap();
        let manifest = Manifest {
            version: MANIFEST_VERSION,
            kernel: "kernel".into(),
            modules: "modules".into(),
            tools: "tools".into(),
            emulator: "emulator".into(),
            own_kernel: None,
            with: Default::default(),
            own: Default::default(),
            packages: Vec::new(),
        };
        let text = toml::to_string(&manifest).unwrap();
        std::fs::write(work.join(MANIFEST), &text).unwrap();
        let digest = tree_digest(&work).unwrap();
        adopt(cache, DEFAULT_LAB, (&work, &digest), &text).unwrap()
    }

    #[test]
    fn a_lab_travels() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let software = lab(here.path());
        let file = here.path().join("lab.tar");
        export(&software, &file, &mut |_| ()).unwrap();
        let arrived = import(there.path(), DEFAULT_LAB, &file, &mut |_| ()).unwrap();
        assert_eq!(arrived.manifest, software.manifest);
        assert_eq!(
            tree_digest(&arrived.directory).unwrap(),
            tree_digest(&software.directory).unwrap()
        );
        assert_eq!(find(there.path(), DEFAULT_LAB).unwrap(), arrived);
        // Once more is no mistake, and mends what was damaged since.
        std::fs::write(arrived.directory.join("kernel"), "damaged").unwrap();
        assert_eq!(import(there.path(), DEFAULT_LAB, &file, &mut |_| ()).unwrap(), arrived);
        assert_eq!(std::fs::read(arrived.directory.join("kernel")).unwrap(), b"kernel");
        arrived.check_files().unwrap();
    }

    #[test]
    fn an_archive_that_names_files_outside_itself_is_refused() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = here.path().join("lab.tar");
        for (from, to) in [
            ("kernel = \"kernel\"", "kernel = \"/etc/shadow\""),
            ("modules = \"modules\"", "modules = \"../../..\""),
            ("tools = \"tools\"", "tools = \"tools/../../x\""),
            ("emulator = \"emulator\"", "emulator = \"/tmp/q\""),
            ("modules = \"modules\"", "modules = \"modules\"\nwith = [\"../x\"]"),
        ] {
            let mut software = lab(here.path());
            let path = software.directory.join(MANIFEST);
            let text = std::fs::read_to_string(&path).unwrap().replace(from, to);
            std::fs::write(&path, text).unwrap();
            software.manifest.kernel = "kernel".into();
            export(&software, &file, &mut |_| ()).unwrap();
            let error =
                import(there.path(), DEFAULT_LAB, &file, &mut |_| ()).unwrap_err().to_string();
            assert!(error.contains("names"), "{to}: {error}");
            assert!(find(there.path(), DEFAULT_LAB).is_err());
            std::fs::remove_dir_all(here.path().join("software")).unwrap();
        }
    }

    #[test]
    fn nothing_that_lends_rights_is_kept() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let software = lab(here.path());
        let program = software.directory.join("kernel");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o6777)).unwrap();
        let file = here.path().join("lab.tar");
        export(&software, &file, &mut |_| ()).unwrap();
        let arrived = import(there.path(), DEFAULT_LAB, &file, &mut |_| ()).unwrap();
        let mode = arrived.directory.join("kernel").metadata().unwrap().mode();
        assert_eq!(mode & 0o7777, 0o755);
    }

    #[test]
    fn what_is_cut_off_or_changed_leaves_nothing() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = here.path().join("lab.tar");
        export(&lab(here.path()), &file, &mut |_| ()).unwrap();
        let whole = std::fs::read(&file).unwrap();
        let place = whole.windows(6).position(|window| window == b"module").unwrap();
        let mut changed = whole.clone();
        // The contents of the module, not its name.
        let contents = whole.windows(7).position(|window| window == b"module\0").unwrap_or(place);
        changed[contents] = b'M';
        for bad in [&whole[..whole.len() / 2], &changed[..], b"something else"] {
            std::fs::write(&file, bad).unwrap();
            assert!(import(there.path(), DEFAULT_LAB, &file, &mut |_| ()).is_err());
            assert!(find(there.path(), DEFAULT_LAB).is_err());
            let left = std::fs::read_dir(there.path().join("software")).into_iter().flatten();
            assert_eq!(left.count(), 0);
        }
    }

    /// Whatever an archive holds, it is refused or a lab in the cache: nothing lies outside.
    #[test]
    fn any_archive_stays_inside() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (seed, file) = (here.path().join("seed.tar"), there.path().join("lab.tar"));
        export(&lab(here.path()), &seed, &mut |_| ()).unwrap();
        let cache = there.path().join("cache");
        fuzz::run("archives", &[std::fs::read(&seed).unwrap()], |input| {
            std::fs::write(&file, input).unwrap();
            let _ = import(&cache, DEFAULT_LAB, &file, &mut |_| ());
            let all = std::fs::read_dir(there.path()).unwrap().flatten();
            let mut names: Vec<_> = all.map(|entry| entry.file_name()).collect();
            names.sort();
            assert!(names == ["cache", "lab.tar"], "{names:?}");
        });
    }
}
