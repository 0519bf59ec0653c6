//! Where a study runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runner::TestbedRequest;
use stack::Contender;
use study::{Part, Source, Study};

use crate::arguments::{StudyRun, TestbedName};
use crate::exit::{Exit, Failure};
use crate::files::cache_directory;

/// The testbed as asked for.
pub(super) enum Place {
    /// The study's hardware, simulated: a profile for each part.
    Lab { name: Option<String>, profiles: BTreeMap<String, String> },
    /// The user's disks, or loop files.
    Device { devices: Vec<PathBuf>, destroy: Vec<PathBuf>, loop_directory: PathBuf },
    /// A directory for each contender.
    Dir { directories: Vec<PathBuf>, contenders: Vec<Contender> },
}

/// Reads the command line.
pub(super) fn of(arguments: &StudyRun, _source: &Source, study: &Study) -> Result<Place, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let name = match arguments.testbed {
        Some(name) => name,
        None if !arguments.dir.is_empty() => TestbedName::Dir,
        None if !arguments.device.is_empty() => TestbedName::Device,
        None => TestbedName::Lab,
    };
    let stray = |given: bool, what: &str, testbed: TestbedName| {
        if given && name != testbed {
            return Err(usage(format!("{what} is of another testbed than the one asked for")));
        }
        Ok(())
    };
    stray(!arguments.dir.is_empty(), "--dir", TestbedName::Dir)?;
    stray(!arguments.device.is_empty(), "--device", TestbedName::Device)?;
    stray(!arguments.destroy.is_empty(), "--destroy", TestbedName::Device)?;
    match name {
        TestbedName::Lab => {
            let mut profiles = BTreeMap::new();
            for part in &study.parts {
                let profile = match &part.machine {
                    None => part.profile.clone(),
                    Some(text) => {
                        profile_file(text, &cache_directory())?.to_string_lossy().into_owned()
                    }
                };
                profiles.insert(part.id.clone(), profile);
            }
            Ok(Place::Lab { name: arguments.lab.clone(), profiles })
        }
        TestbedName::Device => Ok(Place::Device {
            devices: arguments.device.clone(),
            destroy: arguments.destroy.clone(),
            loop_directory: arguments
                .loop_dir
                .clone()
                .unwrap_or_else(|| cache_directory().join("loop")),
        }),
        TestbedName::Dir => {
            let (mut names, mut directories) = (Vec::new(), Vec::new());
            for text in &arguments.dir {
                let (name, path) = text.split_once('=').ok_or_else(|| {
                    usage(format!("--dir {text}: write CONTENDER=PATH, a directory for each"))
                })?;
                names.push(name.to_owned());
                directories.push(PathBuf::from(path));
            }
            let mut contenders = testbed::directory_contenders(&directories)
                .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
            for (contender, name) in contenders.iter_mut().zip(&names) {
                contender.name.clone_from(name);
            }
            Ok(Place::Dir { directories, contenders })
        }
    }
}

impl Place {
    /// What the runner is asked for.
    pub(super) fn request(
        &self,
        part: &Part,
        changes: &BTreeMap<String, String>,
    ) -> TestbedRequest {
        match self {
            Place::Lab { name, profiles } => TestbedRequest::Lab {
                name: name.clone(),
                profile: profiles.get(&part.id).cloned().unwrap_or_default(),
                disk: None,
                changes: changes.clone(),
                request_log: None,
            },
            Place::Device { devices, destroy, loop_directory } => TestbedRequest::Device {
                devices: devices.clone(),
                destroy: destroy.clone(),
                loop_directory: loop_directory.clone(),
            },
            Place::Dir { directories, contenders } => TestbedRequest::Dir {
                directories: directories.clone(),
                names: contenders.iter().map(|contender| contender.name.clone()).collect(),
                drop_caches: false,
            },
        }
    }
}

/// Writes a study's own machine profile where the lab finds it.
fn profile_file(text: &str, cache: &Path) -> Result<PathBuf, Failure> {
    let directory = cache.join("profiles");
    let path = directory.join(format!("{}.toml", study::digest(text)));
    let failed =
        |error: std::io::Error| Failure::new(Exit::Output, format!("{}: {error}", path.display()));
    std::fs::create_dir_all(&directory).map_err(failed)?;
    crate::files::write_whole(&path, text.as_bytes()).map_err(failed)?;
    Ok(path)
}
