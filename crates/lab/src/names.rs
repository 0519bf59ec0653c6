//! Names of labs: a small table says which directory of software each name stands for.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cache::{
    DEFAULT_LAB, apt_directory, has_unfinished, open_cache, sweep_all_unfinished, write_whole,
};
use crate::error::LabError;
use crate::kernel_source;
use crate::lock::Lock;
use crate::packages;
use crate::progress::BuildProgress;
use crate::software::{MANIFEST, Software, read_manifest};

const TABLE: &str = "labs.toml";
/// The file that named the default lab's directory before labs had names.
const UNNAMED: &str = "current";
const NAME_MAX: usize = 64;

/// The table: directories below `software` by the labs' names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    labs: BTreeMap<String, String>,
    /// By the labs' names: the optional parts that could not be built, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<String, BTreeMap<String, String>>,
}

/// The lock of everybody who builds a lab, shared; whoever removes one holds it alone.
pub(crate) const BUILDS: &str = "build.lock";

/// The lock of the table, held only while it is changed.
fn lock_table(cache: &Path) -> Result<Lock, LabError> {
    Lock::take(&cache.join("labs.lock"))
}

impl Table {
    fn read(cache: &Path) -> Result<Table, LabError> {
        let path = cache.join(TABLE);
        let mut table = match files::read_text(&path) {
            Ok(text) => toml::from_str::<Table>(&text)
                .map_err(|error| LabError::damaged(&path, error.to_string()))?,
            Err(error) if error.source.kind() == ErrorKind::NotFound => Table::default(),
            Err(error) => return Err(error.into()),
        };
        if let Some(directory) = table.labs.values().find(|name| !is_plain(name)) {
            return Err(LabError::damaged(&path, format!("it names a lab at `{directory}`")));
        }
        if let Ok(name) = files::read_text(&cache.join(UNNAMED))
            && is_plain(name.trim())
        {
            table.labs.entry(DEFAULT_LAB.to_owned()).or_insert_with(|| name.trim().to_owned());
        }
        Ok(table)
    }

    fn write(&self, cache: &Path) -> Result<(), LabError> {
        let path = cache.join(TABLE);
        let text = toml::to_string(self)
            .map_err(|error| LabError::value("the table of labs", error.to_string()))?;
        write_whole(&path, |mut file| {
            file.write_all(text.as_bytes()).map_err(LabError::at("write", &path))
        })?;
        // The table has its entry now.
        let _ = std::fs::remove_file(cache.join(UNNAMED));
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    !name.is_empty() && name.len() <= NAME_MAX && !name.starts_with('.') && name.chars().all(plain)
}

/// Refuses what cannot be a lab's name.
///
/// # Errors
/// When it is empty, too long, or has other characters than letters, digits and `-_.+`.
pub(crate) fn check_name(name: &str) -> Result<(), LabError> {
    if is_plain(name) {
        return Ok(());
    }
    let problem = format!(
        "not a valid lab name: use 1 to {NAME_MAX} letters, digits and -_.+, no dot at the start"
    );
    Err(LabError::value(format!("`{name}`"), problem))
}

/// The lab in `cache` that has this name.
///
/// # Errors
/// When there is none or it is damaged.
pub fn find(cache: &Path, name: &str) -> Result<Software, LabError> {
    check_name(name)?;
    let table = match cache.is_dir() {
        true => Table::read(cache)?,
        false => Table::default(),
    };
    let missing = || match name {
        DEFAULT_LAB => LabError::NotBuilt(cache.to_owned()),
        _ => LabError::NoSuchLab {
            name: name.to_owned(),
            known: table.labs.keys().cloned().collect::<Vec<_>>().join(", "),
        },
    };
    let directory = cache.join("software").join(table.labs.get(name).ok_or_else(missing)?);
    open_cache(cache)?;
    if directory.is_dir() {
        open_cache(&directory)?;
    }
    let path = directory.join(MANIFEST);
    let text = files::read_text(&path).map_err(|error| match error.source.kind() {
        ErrorKind::NotFound => missing(),
        _ => error.into(),
    })?;
    Ok(Software { manifest: read_manifest(&path, &text)?, directory })
}

/// The names of all labs in `cache`, in order.
///
/// # Errors
/// When their table is damaged.
pub fn names(cache: &Path) -> Result<Vec<String>, LabError> {
    Ok(Table::read(cache)?.labs.into_keys().collect())
}

/// Makes this name stand for a directory below `software`. The caller shares the lock of builds.
pub(crate) fn name(cache: &Path, name: &str, directory: &str) -> Result<(), LabError> {
    check_name(name)?;
    let _lock = lock_table(cache)?;
    let mut table = Table::read(cache)?;
    table.labs.insert(name.to_owned(), directory.to_owned());
    table.write(cache)
}

/// The optional parts that could not be built into a lab when they were asked for, each with the
/// reason.
///
/// # Errors
/// When the table of labs is damaged.
pub fn failed_parts(cache: &Path, name: &str) -> Result<BTreeMap<String, String>, LabError> {
    Ok(Table::read(cache)?.failed.remove(name).unwrap_or_default())
}

/// Notes that a part could not be built, or that it was.
pub(crate) fn note_part(
    cache: &Path,
    name: &str,
    part: &str,
    failed: Option<&LabError>,
) -> Result<(), LabError> {
    let _lock = lock_table(cache)?;
    let mut table = Table::read(cache)?;
    let before = table.clone();
    let parts = table.failed.entry(name.to_owned()).or_default();
    match failed {
        Some(error) => _ = parts.insert(part.to_owned(), error.to_string()),
        None => _ = parts.remove(part),
    }
    table.failed.retain(|_, parts| !parts.is_empty());
    if table == before { Ok(()) } else { table.write(cache) }
}

/// Removes a lab: its name, and its software unless another name stands for the same. Software
/// without a name and packages that no lab is made of are removed too.
///
/// # Errors
/// When there is none of this name, or something cannot be removed.
pub fn remove(
    cache: &Path,
    name: &str,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<(), LabError> {
    find(cache, name).map(drop).or_else(|error| match error {
        LabError::Damaged { .. } => Ok(()),
        error => Err(error),
    })?;
    let _lock = Lock::take_for(&cache.join(BUILDS), "the builds of labs", progress)?;
    let _table = lock_table(cache)?;
    let mut table = Table::read(cache)?;
    table.labs.remove(name);
    table.failed.remove(name);
    table.write(cache)?;
    let _ = std::fs::remove_dir_all(cache.join(apt_directory(name)));
    let software = cache.join("software");
    for entry in std::fs::read_dir(&software).map_err(LabError::at("read", &software))?.flatten() {
        let left = entry.file_name();
        if !table.labs.values().any(|kept| left == kept.as_str()) {
            let path = entry.path();
            std::fs::remove_dir_all(&path).map_err(LabError::at("remove", &path))?;
            let _ = std::fs::remove_file(Software::digest_file(&path));
        }
    }
    let kept = table.labs.keys().filter_map(|name| find(cache, name).ok());
    let (mut kept_packages, mut kept_kernels) = (Vec::new(), Vec::new());
    for manifest in kept.map(|software| software.manifest) {
        kept_packages.extend(manifest.packages);
        kept_kernels.extend(manifest.own_kernel.map(|own| own.key));
    }
    kernel_source::forget_all_but(cache, &kept_kernels)?;
    packages::forget_all_but(cache, &kept_packages)
}

/// Removes what killed builds and imports left of labs, unless one is going on. For every start.
pub fn sweep_labs(cache: &Path) {
    let store = cache.join("software");
    if has_unfinished(&store)
        && let Ok(cache) = open_cache(cache)
        && let Some(_lock) = Lock::try_take(&cache.join(BUILDS))
    {
        sweep_all_unfinished(&cache.join("software"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(cache: &Path, directory: &str) {
        let place = cache.join("software").join(directory);
        std::fs::create_dir_all(&place).unwrap();
        let text =
            "version = 2\nkernel = \"k\"\nmodules = \"m\"\ntools = \"t\"\nemulator = \"e\"\n";
        std::fs::write(place.join(MANIFEST), text).unwrap();
    }

    #[test]
    fn labs_stand_side_by_side_and_one_is_removed_without_the_others() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        for directory in ["one", "two"] {
            lab(cache, directory);
        }
        std::fs::write(cache.join(UNNAMED), "one").unwrap();
        assert!(find(cache, DEFAULT_LAB).unwrap().directory.ends_with("one"));
        name(cache, "own", "two").unwrap();
        name(cache, "same", "two").unwrap();
        assert_eq!(names(cache).unwrap(), ["default", "own", "same"]);
        assert!(find(cache, DEFAULT_LAB).unwrap().directory.ends_with("one"));

        remove(cache, "own", &mut |_| {}).unwrap();
        assert!(find(cache, "same").is_ok(), "another name stands for it");
        let error = find(cache, "own").unwrap_err().to_string();
        assert!(error.contains("own") && error.contains("default, same"), "{error}");
        assert!(error.contains("lab build --name own"), "{error}");
        remove(cache, "same", &mut |_| {}).unwrap();
        assert!(!cache.join("software/two").exists() && cache.join("software/one").exists());
        assert!(remove(cache, "same", &mut |_| {}).is_err());
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        for bad in ["", "..", "../x", "a/b", "a b", ".hidden", "a\nb"] {
            assert!(name(cache.path(), bad, "x").is_err(), "{bad}");
            assert!(find(cache.path(), bad).is_err(), "{bad}");
        }
        std::fs::write(cache.path().join(TABLE), "[labs]\ndefault = \"../../etc\"\n").unwrap();
        assert!(matches!(find(cache.path(), DEFAULT_LAB), Err(LabError::Damaged { .. })));
    }

    #[test]
    fn a_part_that_failed_is_noted_until_it_is_built() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        lab(cache, "one");
        name(cache, "own", "one").unwrap();
        let error = LabError::value("librbd", "it is gone");
        note_part(cache, "own", "fio", Some(&error)).unwrap();
        let failed = failed_parts(cache, "own").unwrap();
        assert_eq!(failed["fio"], "librbd: it is gone");
        assert!(failed_parts(cache, DEFAULT_LAB).unwrap().is_empty());
        note_part(cache, "own", "fio", None).unwrap();
        assert!(failed_parts(cache, "own").unwrap().is_empty());
        note_part(cache, "own", "zfs", Some(&error)).unwrap();
        remove(cache, "own", &mut |_| {}).unwrap();
        assert!(failed_parts(cache, "own").unwrap().is_empty());
    }

    #[test]
    fn no_lab_says_how_to_get_one() {
        let cache = tempfile::tempdir().unwrap();
        let error = find(cache.path(), DEFAULT_LAB).unwrap_err().to_string();
        assert!(error.contains("fstrial lab build"), "{error}");
    }

    /// Also those of a process whose number another has by now, unless a lab is being built.
    #[test]
    fn labs_left_half_made_are_swept_at_the_next_start() {
        let cache = tempfile::tempdir().unwrap();
        let store = cache.path().join("software");
        let (left, lab) = (crate::cache::unfinished(&store.join("import")), store.join("abc"));
        for path in [&left, &lab] {
            std::fs::create_dir_all(path.join("lab")).unwrap();
        }
        let lock = Lock::share(&cache.path().join(BUILDS), "", &mut |_| {}).unwrap();
        sweep_labs(cache.path());
        assert!(left.exists());
        drop(lock);
        sweep_labs(cache.path());
        assert!(!left.exists() && lab.exists());
        sweep_labs(&cache.path().join("none"));
    }
}
