//! `fstrial lab build`: the software of a lab, from packages or from the user's own files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::apt::Archives;
use crate::cache::{
    DEFAULT_LAB, key, link_tree, open_cache, sweep_unfinished, unfinished, write_whole,
};
use crate::contents::tree_digest;
use crate::emulator;
use crate::error::LabError;
use crate::kernel_source::{self, KernelSource, Plan};
use crate::lock::Lock;
use crate::names::{self, BUILDS};
use crate::optional::{self, Base, OptionalPart, directory_of};
use crate::own_kernel::{self, Given};
use crate::packages::Source;
use crate::progress::BuildProgress;
use crate::software::{MANIFEST, MANIFEST_VERSION, Manifest, OwnKernel, Software};
use crate::system;

/// What to build.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// The user's own kernel instead of Debian's: a bzImage, which needs `modules`, or a
    /// kernel's Debian package; of one that depends on others, these too. It is booted once before
    /// the lab is put in place.
    pub kernel: Vec<PathBuf>,
    /// Its modules, `lib/modules/RELEASE`.
    pub modules: Option<PathBuf>,
    /// A kernel to compile instead; likewise booted once.
    pub kernel_source: Option<KernelSource>,
    /// A tree of tools instead of Debian's.
    pub tools: Option<PathBuf>,
    /// The directory of an emulator that a lab was built with, instead of compiling one: `emulator`
    /// in another lab's directory.
    pub emulator: Option<PathBuf>,
    /// Rebuilds even if there is a lab.
    pub refresh: bool,
    /// The lab's name; [`DEFAULT_LAB`] where `None`.
    pub name: Option<String>,
    /// Names of optional parts ([`crate::OPTIONAL_PARTS`]) to build in addition to those the lab
    /// has.
    pub with: Vec<String>,
}

/// Builds the lab's software in `cache`, unless it is there already. An interrupted build never
/// leaves anything that counts as a lab.
///
/// # Errors
/// No network, no room, not Debian: each says what to do.
pub fn build(
    cache: &Path,
    options: &BuildOptions,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Software, LabError> {
    let plan = check(options)?;
    open_cache(cache)?;
    let store = cache.join("software");
    std::fs::create_dir_all(&store).map_err(LabError::at("create", &store))?;
    let name = options.name.as_deref().unwrap_or(DEFAULT_LAB);
    let _builds = Lock::share(&cache.join(BUILDS), "a lab that is removed", progress)?;
    let lock = cache.join(format!("build-{name}.lock"));
    let _lock = Lock::take_for(&lock, &format!("the lab `{name}`"), progress)?;
    sweep_unfinished(&store);
    sweep_unfinished(cache);
    sweep_unfinished(&cache.join("built"));
    let own_kernel = !options.kernel.is_empty() || plan.is_some();
    let own = own_kernel || options.tools.is_some() || options.emulator.is_some();
    let present = names::find(cache, name).ok().filter(|software| software.parts().is_ok());
    let asked = options.with.iter().cloned();
    let with: BTreeSet<String> = match &present {
        Some(present) => asked.chain(present.manifest.with.iter().cloned()).collect(),
        None => asked.collect(),
    };
    let emulates = |lab: &Software| {
        lab.manifest.own.get(emulator::PLACE).is_some_and(|own| *own == emulator::recipe())
    };
    let present = present.filter(|lab| !options.refresh && !own && emulates(lab));
    if let Some(present) = &present
        && with.iter().all(|part| is_current(&present.manifest, part))
    {
        return Ok(present.clone());
    }
    let work = unfinished(&store.join("lab"));
    let finish = |built| finished(built, (cache, name), &work);
    let was_present = present.is_some();
    let mut software = match present {
        Some(present) => present,
        None => {
            let mut built = build_in(&work, cache, name, options, plan.as_ref(), progress);
            if let (Ok(manifest), true) = (&built, own_kernel) {
                let own = Software { directory: work.clone(), manifest: manifest.clone() };
                built = own_kernel::try_out(&own, cache, progress).and(built);
            }
            finish(built)?
        }
    };
    let mut failed = Vec::new();
    // One at a time: a part takes minutes, and if it fails, the others are kept.
    for part in with {
        if is_current(&software.manifest, &part) {
            continue;
        }
        let begun = extend(&work, &software);
        let grown = finish(begun.and_then(|m| add_part(&work, (cache, name), m, &part, progress)));
        names::note_part(cache, name, &part, grown.as_ref().err())?;
        match grown {
            Ok(grown) => software = grown,
            Err(error) => failed.push((part, error)),
        }
    }
    match failed.len() {
        0 => Ok(software),
        // Nothing but that was asked for.
        1 if was_present && options.with.len() == 1 => Err(failed.remove(0).1),
        _ => Err(LabError::Parts { name: name.to_owned(), failed }),
    }
}

/// Makes a lab of what was built in `work`, or removes it where that failed.
fn finished(
    built: Result<Manifest, LabError>,
    (cache, name): (&Path, &str),
    work: &Path,
) -> Result<Software, LabError> {
    if built.is_err() {
        let _ = std::fs::remove_dir_all(work);
    }
    let manifest = built?;
    let text = toml::to_string(&manifest)
        .map_err(|error| LabError::value("the manifest", error.to_string()))?;
    let path = work.join(MANIFEST);
    std::fs::write(&path, &text).map_err(LabError::at("write", &path))?;
    adopt(cache, name, (work, &tree_digest(work)?), &text)
}

/// Whether a lab has a part as this program would build it.
fn is_current(manifest: &Manifest, name: &str) -> bool {
    let own = optional::part(name).map(OptionalPart::own).unwrap_or_default();
    manifest.with.contains(name) && manifest.own.get(name).cloned().unwrap_or_default() == own
}

/// Checks the options before anything is made; returns the kernel to compile, if any.
fn check(options: &BuildOptions) -> Result<Option<Plan>, LabError> {
    let given = own_kernel::look_at_all(&options.kernel)?;
    if (given == Some(Given::Image)) != options.modules.is_some() {
        return Err(LabError::value(
            "--kernel and --modules",
            "give both: a kernel image only works with the modules that were built for it",
        ));
    }
    if let Some(modules) = &options.modules {
        own_kernel::check_modules(modules)?;
    }
    options.name.as_deref().map_or(Ok(()), names::check_name)?;
    for name in &options.with {
        optional::part(name)?;
    }
    options.kernel_source.as_ref().map(KernelSource::plan).transpose()
}

/// Begins a lab with the contents of another one: files are linked, not copied.
fn extend(work: &Path, present: &Software) -> Result<Manifest, LabError> {
    link_tree(&present.directory, work)?;
    let path = work.join(MANIFEST);
    // The manifest is a link too, and the other lab's must not be written to.
    std::fs::remove_file(&path).map_err(LabError::at("remove", &path))?;
    Ok(present.manifest.clone())
}

/// Builds a part into an unfinished lab.
fn add_part(
    work: &Path,
    (cache, lab): (&Path, &str),
    mut manifest: Manifest,
    name: &str,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Manifest, LabError> {
    let part = optional::part(name)?;
    let before = work.join(directory_of(name));
    match std::fs::remove_dir_all(&before) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(LabError::at("remove", &before)(error));
        }
        _ => {}
    }
    manifest.with.remove(name);
    let parts = Software { directory: work.to_owned(), manifest: manifest.clone() }.parts()?;
    let prepare_system =
        |packages: &Path, to: &Path| system::prepare(parts.clone(), cache, packages, to);
    let base = Base {
        cache,
        name: lab,
        lab: work,
        kernel: &work.join(&manifest.kernel),
        modules: &work.join(&manifest.modules),
        prepare_system: &prepare_system,
        packages: manifest.packages,
    };
    manifest.packages = optional::build_part(part, base, progress)?;
    manifest.with.insert(name.to_owned());
    let own = part.own();
    if !own.is_empty() {
        manifest.own.insert(name.to_owned(), own);
    }
    manifest.packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    manifest.packages.dedup();
    Ok(manifest)
}

/// Makes a finished directory the lab of this name.
pub(crate) fn adopt(
    cache: &Path,
    name: &str,
    (work, digest): (&Path, &str),
    manifest: &str,
) -> Result<Software, LabError> {
    let place = key(&[manifest.as_bytes()]);
    let directory = cache.join("software").join(&place);
    if directory.join(MANIFEST).exists() && tree_digest(&directory)? == digest {
        std::fs::remove_dir_all(work).map_err(LabError::at("remove", work))?;
    } else {
        // A lab of the same packages that has been damaged since.
        let damaged = unfinished(&directory);
        let _ = std::fs::rename(&directory, &damaged);
        std::fs::rename(work, &directory).map_err(LabError::at("rename", work))?;
        let _ = std::fs::remove_dir_all(&damaged);
    }
    let kept = Software::digest_file(&directory);
    let digests = kept.parent().unwrap_or(cache);
    std::fs::create_dir_all(digests).map_err(LabError::at("create", digests))?;
    write_whole(&kept, |mut file: &std::fs::File| {
        std::io::Write::write_all(&mut file, digest.as_bytes())
            .map_err(LabError::at("write", &kept))
    })?;
    names::name(cache, name, &place)?;
    names::find(cache, name)
}

fn build_in(
    work: &Path,
    cache: &Path,
    name: &str,
    options: &BuildOptions,
    plan: Option<&Plan>,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Manifest, LabError> {
    std::fs::create_dir_all(work).map_err(LabError::at("create", work))?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(LabError::at("find", path));
    let compiled =
        plan.map(|plan| kernel_source::build(plan, cache, name, work, progress)).transpose()?;
    let mut own_kernel = None;
    let mut source = Source::new(cache, name, work, Archives::default(), Vec::new(), progress);
    let (kernel, modules) = match (&options.kernel[..], &options.modules, compiled) {
        (_, _, Some(compiled)) => {
            source.packages.extend(compiled.package);
            own_kernel = Some(OwnKernel { made_of: compiled.made_of, key: compiled.key });
            (compiled.kernel, compiled.modules)
        }
        ([kernel], Some(modules), _) => (absolute(kernel)?, absolute(modules)?),
        (packages @ [_, ..], _, _) => {
            let packages = packages.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?;
            let (kernel, modules, from) = own_kernel::unpack(packages, work)?;
            own_kernel = Some(from);
            (kernel, modules)
        }
        _ => source.kernel()?,
    };
    let tools = match &options.tools {
        Some(tools) => absolute(tools)?,
        None => source.tools(&optional::packages())?,
    };
    let mut packages = source.packages;
    let mut own = BTreeMap::new();
    let emulator = match &options.emulator {
        Some(emulator) => absolute(emulator)?,
        None => {
            packages.extend(emulator::build((cache, name), work, progress)?);
            own.insert(emulator::PLACE.to_owned(), emulator::recipe());
            emulator::PLACE.into()
        }
    };
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    packages.dedup();
    Ok(Manifest {
        version: MANIFEST_VERSION,
        kernel,
        modules,
        tools,
        emulator,
        own_kernel,
        with: BTreeSet::new(),
        own,
        packages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_its_modules_is_refused_before_anything_is_made() {
        let (cache, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let image = own.path().join("vmlinuz");
        let mut bytes = vec![0; 0x400];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x236] = 1;
        std::fs::write(&image, bytes).unwrap();
        std::fs::write(own.path().join("text"), "no kernel").unwrap();
        let with = |kernel: &str, modules: Option<&str>| {
            let options = BuildOptions {
                kernel: vec![own.path().join(kernel)],
                modules: modules.map(|modules| own.path().join(modules)),
                ..BuildOptions::default()
            };
            build(cache.path(), &options, &mut |_| {}).unwrap_err().to_string()
        };
        assert!(with("vmlinuz", None).contains("--modules"));
        assert!(with("none", Some("")).contains("none"));
        assert!(with("text", Some("")).contains("not a kernel for x86-64"));
        assert!(with("vmlinuz", Some("")).contains("not a directory of kernel modules"));
        assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_part_that_does_not_exist_is_refused_before_anything_is_made() {
        let cache = tempfile::tempdir().unwrap();
        let options = BuildOptions { with: vec!["zsf".to_owned()], ..BuildOptions::default() };
        let error = build(cache.path(), &options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("there is no such part"), "{error}");
        assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lab_that_gets_a_part_leaves_the_one_without_it_as_it_was() {
        let cache = tempfile::tempdir().unwrap();
        let store = cache.path().join("software");
        let work = store.join("made");
        std::fs::create_dir_all(work.join("modules/6.12")).unwrap();
        std::fs::write(work.join("modules/6.12/ublk_drv.ko"), "module").unwrap();
        std::os::unix::fs::symlink("absent", work.join("link")).unwrap();
        let manifest = Manifest {
            version: MANIFEST_VERSION,
            kernel: "kernel".into(),
            modules: "modules/6.12".into(),
            tools: "tools".into(),
            emulator: "emulator".into(),
            own_kernel: None,
            with: BTreeSet::new(),
            own: BTreeMap::new(),
            packages: Vec::new(),
        };
        let text = toml::to_string(&manifest).unwrap();
        std::fs::write(work.join(MANIFEST), &text).unwrap();
        let plain =
            adopt(cache.path(), DEFAULT_LAB, (&work, &tree_digest(&work).unwrap()), &text).unwrap();

        let grown = store.join("grown");
        let mut manifest = extend(&grown, &plain).unwrap();
        manifest.with.insert("zfs".to_owned());
        assert!(is_current(&manifest, "zfs") && !is_current(&manifest, "boot"));
        // One whose part has what this program put into it once.
        manifest.with.insert("boot".to_owned());
        assert!(!is_current(&manifest, "boot"));
        let own = optional::part("boot").unwrap().own();
        manifest.own.insert("boot".to_owned(), own);
        assert!(is_current(&manifest, "boot"));
        let more = toml::to_string(&manifest).unwrap();
        std::fs::write(grown.join(MANIFEST), &more).unwrap();
        let grown =
            adopt(cache.path(), DEFAULT_LAB, (&grown, &tree_digest(&grown).unwrap()), &more)
                .unwrap();
        assert_ne!(grown.directory, plain.directory);
        assert_eq!(names::find(cache.path(), DEFAULT_LAB).unwrap(), grown);
        assert_eq!(std::fs::read_to_string(plain.directory.join(MANIFEST)).unwrap(), text);
        assert!(grown.directory.join("modules/6.12/ublk_drv.ko").is_file());
        assert!(grown.directory.join("link").is_symlink());
    }
}
