//! From arguments to a request.

use std::path::Path;

use runner::{Request, TestbedRequest, WorkloadRequest, parse_workload};
use serde::Deserialize;
use stack::Contender;
use workload::corpora::TreeChoice;
use workload::{InputKind, Kind};

use crate::arguments::{Clock, Place, Run, TestbedName};
use crate::exit::{Exit, Failure};
use crate::files::cache_directory;
use crate::output::say;

/// Contenders compared when none are named.
const DEFAULT_FILESYSTEMS: &str = "ext4,xfs,btrfs";
/// Mails and source tree where none are named.
const SYNTHETIC: &str = "synthetic";
const DEFAULT_REPEATS: u32 = 5;
const DEFAULT_SEED: u64 = 1;

/// Reads the command line. Everything that is wrong with it is found here or when
/// the request is prepared, before anything is made.
pub(super) fn from_arguments(arguments: &Run) -> Result<Request, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let (testbed, contenders) = testbed_and_contenders(&arguments.place)?;
    let source_tree = arguments.source_tree.as_deref().unwrap_or(SYNTHETIC);
    check_tree(source_tree)?;
    let mut workloads = arguments
        .workloads
        .iter()
        .map(|text| with_documents(parse_workload(text).map_err(usage)?))
        .collect::<Result<Vec<_>, _>>()?;
    if !arguments.program.is_empty() {
        workloads.push(super::program::of_command(&arguments.program)?);
    }
    let scale = arguments.scale.unwrap_or_else(|| default_scale(&testbed, &workloads));
    Ok(Request {
        workloads,
        contenders,
        testbed,
        repeats: arguments.repeats.unwrap_or(DEFAULT_REPEATS),
        seed: arguments.seed.unwrap_or(DEFAULT_SEED),
        scale,
        verify: arguments.verify,
        sequence: arguments.sequence,
        size: arguments.place.size,
        timeout: arguments.place.timeout(),
        mail: arguments.mail.clone().unwrap_or_else(|| SYNTHETIC.to_owned()),
        source_tree: source_tree.to_owned(),
        least_size: None,
        study: None,
    })
}

/// Refuses what is no source tree.
pub(super) fn check_tree(written: &str) -> Result<(), Failure> {
    let tree: Result<TreeChoice, _> = written.parse();
    tree.map(drop).map_err(Failure::from(Exit::Usage))
}

/// The scale where none is given. In the lab a tenth, so that an answer comes within minutes: the
/// workloads' own sizes are those of the originals. Numbers that were given are meant as they are.
fn default_scale(testbed: &TestbedRequest, workloads: &[WorkloadRequest]) -> f64 {
    let has_own_size = |asked: &WorkloadRequest| {
        let known = workload::find(&asked.name).map_or(&[][..], |it| it.describe().parameters);
        known.iter().any(|parameter| {
            let sizes = parameter.scales || matches!(parameter.kind, Kind::Document(_));
            sizes && asked.parameters.contains_key(parameter.name)
        })
    };
    if !testbed.is_lab() || workloads.iter().any(has_own_size) {
        return 1.0;
    }
    say!("note: a tenth of the workloads' sizes (--scale 0.1); all of them: --scale 1");
    0.1
}

/// Where, and who competes there.
pub(crate) fn testbed_and_contenders(
    place: &Place,
) -> Result<(TestbedRequest, Vec<Contender>), Failure> {
    let testbed = testbed_request(place)?;
    let contenders = match &testbed {
        TestbedRequest::Dir { directories, .. } => {
            if place.fs.is_some() || place.contenders.is_some() {
                let message = "--testbed dir tests directories as they are; \
                               --fs and --contenders belong to --testbed device";
                return Err(Failure::new(Exit::Usage, message));
            }
            testbed::directory_contenders(directories)
                .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?
        }
        _ => contenders(place)?,
    };
    Ok((testbed, contenders))
}

/// Puts the text of a file in the place of its path, where a parameter is one.
pub(crate) fn with_documents(mut asked: WorkloadRequest) -> Result<WorkloadRequest, Failure> {
    let Some(workload) = workload::find(&asked.name) else { return Ok(asked) };
    for parameter in workload.describe().parameters {
        if let (Kind::Document(shipped), Some(value)) =
            (parameter.kind, asked.parameters.get_mut(parameter.name))
            && shipped.iter().all(|(word, _)| word != value)
        {
            let path = std::path::PathBuf::from(&*value);
            let read = ::files::read_text(&path);
            *value = read.map_err(|error| {
                let source = error.source;
                let message = format!("{}:{}={value}: {source}", asked.name, parameter.name);
                Failure::new(Exit::Input, message)
            })?;
            if workload.describe().inputs.contains(&InputKind::OwnProgram) {
                *value = super::program::located(value, &path)?;
            }
        }
    }
    Ok(asked)
}

/// Refuses what would have no effect on this testbed.
fn refuse_in_vain(arguments: &Place, name: TestbedName) -> Result<(), Failure> {
    let usage = |message: &str| Err(Failure::new(Exit::Usage, message));
    if !arguments.destroy.is_empty() && arguments.device.is_empty() {
        return usage(
            "--destroy only allows what --device names: name the device with --device too",
        );
    }
    if name != TestbedName::Lab && arguments.request_log.is_some() {
        return usage("--request-log belongs to --testbed lab: only simulated disks keep one");
    }
    if name != TestbedName::Device && arguments.loop_dir.is_some() {
        return usage("--loop-dir belongs to --testbed device: only that makes loop files");
    }
    if name != TestbedName::Lab && (arguments.disk.is_some() || !arguments.changes.is_empty()) {
        return usage("--disk and --set belong to --testbed lab: only its disks are simulated");
    }
    if name != TestbedName::Lab && (arguments.lab.is_some() || arguments.profile.is_some()) {
        return usage("--lab and --profile belong to --testbed lab: only its machines are chosen");
    }
    Ok(())
}

pub(super) fn testbed_request(arguments: &Place) -> Result<TestbedRequest, Failure> {
    let usage = |message: &str| Err(Failure::new(Exit::Usage, message));
    let root = rustix::process::geteuid().is_root();
    let name = match arguments.testbed {
        Some(name) => name,
        None if !arguments.dir.is_empty() => TestbedName::Dir,
        None if !arguments.device.is_empty() => TestbedName::Device,
        None => TestbedName::Lab,
    };
    refuse_in_vain(arguments, name)?;
    match name {
        TestbedName::Dir => {
            if !arguments.device.is_empty() || !arguments.destroy.is_empty() {
                return usage("--device and --destroy belong to --testbed device");
            }
            if arguments.drop_caches && !root {
                return usage("--drop-caches needs root");
            }
            let directories = match arguments.dir.is_empty() {
                true => vec![".".into()],
                false => arguments.dir.clone(),
            };
            Ok(TestbedRequest::Dir {
                directories,
                names: Vec::new(),
                drop_caches: arguments.drop_caches,
            })
        }
        TestbedName::Device => {
            if !arguments.dir.is_empty() {
                return usage("--dir belongs to --testbed dir; loop files go to --loop-dir");
            }
            if arguments.drop_caches {
                return usage("--drop-caches belongs to --testbed dir; device mounts anew");
            }
            let loop_directory =
                arguments.loop_dir.clone().unwrap_or_else(|| cache_directory().join("loop"));
            Ok(TestbedRequest::Device {
                devices: arguments.device.clone(),
                destroy: arguments.destroy.clone(),
                loop_directory,
            })
        }
        TestbedName::Lab => {
            if !arguments.dir.is_empty() || !arguments.device.is_empty() {
                return usage(
                    "--dir and --device are of this machine; the lab has disks of its own",
                );
            }
            if arguments.clock == Clock::Real {
                return Err(crate::labs::refuse_real_time(
                    arguments.lab.as_deref(),
                    arguments.profile(),
                ));
            }
            Ok(in_lab(arguments))
        }
    }
}

/// The lab as asked for.
fn in_lab(arguments: &Place) -> TestbedRequest {
    TestbedRequest::Lab {
        name: arguments.lab.clone(),
        profile: arguments.profile().to_owned(),
        disk: arguments.disk.clone(),
        changes: arguments.changes.iter().cloned().collect(),
        request_log: arguments.request_log.clone(),
    }
}

pub(super) fn contenders(arguments: &Place) -> Result<Vec<Contender>, Failure> {
    let mut contenders = match (&arguments.fs, &arguments.contenders) {
        (Some(list), _) => Contender::parse_list(list).map_err(Failure::from(Exit::Usage))?,
        (None, Some(_)) => Vec::new(),
        (None, None) => {
            Contender::parse_list(DEFAULT_FILESYSTEMS).map_err(Failure::from(Exit::Usage))?
        }
    };
    if let Some(path) = &arguments.contenders {
        contenders.extend(contenders_of_file(path)?);
    }
    for contender in &contenders {
        contender.validate().map_err(|refusal| Failure::new(Exit::Usage, refusal.to_string()))?;
        let same = contenders.iter().filter(|other| other.name == contender.name).count();
        if same > 1 {
            let message = format!("{same} contenders are called `{}`", contender.name);
            return Err(Failure::new(Exit::Usage, message));
        }
    }
    Ok(contenders)
}

fn contenders_of_file(path: &Path) -> Result<Vec<Contender>, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        contender: Vec<Contender>,
    }
    let failed = |error: String| Failure::new(Exit::Input, format!("{}: {error}", path.display()));
    let text = ::files::read_text(path).map_err(|error| failed(error.source.to_string()))?;
    let file: File = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
    Ok(file.contender)
}
