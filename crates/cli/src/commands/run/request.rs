//! From arguments to a request.

use std::collections::BTreeSet;
use std::path::Path;

use runner::{Request, TestbedRequest, WorkloadRequest};
use serde::Deserialize;
use stack::Contender;
use store::Until;
use units::Nanos;
use workload::Kind;
use workload::corpora::TreeChoice;

use super::{brought, named};
use crate::arguments::{Place, Run};
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::testbeds;

/// Contenders compared when none are named.
const DEFAULT_FILESYSTEMS: &str = "ext4,xfs,btrfs";
/// Mails and source tree where none are named.
const SYNTHETIC: &str = "synthetic";
const DEFAULT_REPEATS: u32 = 5;
/// The host's time for all trials of a run that repeats until its figures decide.
const BUDGET: Nanos = Nanos::from_secs(120);
const DEFAULT_SEED: u64 = 1;
/// Longest name of a contender, in bytes: it is shown in every table.
const NAME_MAX: usize = 1000;

/// Reads the command line. Everything that is wrong with it is found here or when
/// the request is prepared, before anything is made.
pub(super) fn from_arguments(arguments: &Run) -> Result<Request, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    if let Some(version) = &arguments.kernel {
        return Err(usage(named::kernel(version)));
    }
    let (testbed, contenders) = testbed_and_contenders(&arguments.place)?;
    let source_tree = arguments.source_tree.as_deref().unwrap_or(SYNTHETIC);
    check_tree(source_tree)?;
    named::without_filesystems(&arguments.workloads).map_err(usage)?;
    let mut workloads = arguments
        .workloads
        .iter()
        .map(|text| {
            if !named::is_known(text)
                && let Some(asked) = brought::by_path(text)?
            {
                return Ok(asked);
            }
            with_documents(named::workload(text).map_err(usage)?)
        })
        .collect::<Result<Vec<_>, _>>()?;
    if !arguments.program.is_empty() {
        workloads.push(super::program::of_command(&arguments.program)?);
    }
    if !arguments.sequence {
        named::each_once(&workloads).map_err(usage)?;
    }
    let is_slow = testbeds::describe(&testbed)?.slow;
    let scale = arguments.scale.unwrap_or_else(|| default_scale(is_slow, &workloads));
    let (repeats, until) = repeats(arguments, &testbed, contenders.len())?;
    Ok(Request {
        workloads,
        contenders,
        testbed,
        repeats,
        until,
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

/// How many repeats a run begins with, and until when it adds further ones. In the lab, where repeats
/// cost nobody's disk or time, they are added until the figures decide who is first.
fn repeats(
    arguments: &Run,
    testbed: &TestbedRequest,
    contenders: usize,
) -> Result<(u32, Option<Until>), Failure> {
    if let Some(repeats) = arguments.repeats {
        return Ok((repeats, None));
    }
    let decides =
        testbeds::describe(testbed)?.in_guest && contenders > 1 && arguments.cluster.on.is_none();
    Ok(match decides {
        true => (stats::LOOKS[0], Some(Until { budget: BUDGET })),
        false => (DEFAULT_REPEATS, None),
    })
}

/// Refuses what is no source tree.
pub(super) fn check_tree(written: &str) -> Result<(), Failure> {
    let tree: Result<TreeChoice, _> = written.parse();
    tree.map(drop).map_err(Failure::from(Exit::Usage))
}

/// The default scale. On a slow testbed it is a tenth, so that an answer comes within minutes: the
/// workloads' own sizes are those of the originals. Numbers given by the user are not scaled.
fn default_scale(is_slow: bool, workloads: &[WorkloadRequest]) -> f64 {
    let has_own_size = |asked: &WorkloadRequest| {
        let known = workload::find(&asked.name).map_or(&[][..], |it| it.describe().parameters);
        known.iter().any(|parameter| {
            let sizes = parameter.scales || matches!(parameter.kind, Kind::Document(_));
            sizes && asked.parameters.contains_key(parameter.name)
        })
    };
    if !is_slow || workloads.iter().any(has_own_size) {
        return 1.0;
    }
    say!("note: a tenth of the workloads' sizes (--scale 0.1); all of them: --scale 1");
    0.1
}

/// Where, and who competes there.
pub(crate) fn testbed_and_contenders(
    place: &Place,
) -> Result<(TestbedRequest, Vec<Contender>), Failure> {
    let testbed = testbeds::asked(&place.testbed.0)?;
    let known = testbeds::describe(&testbed)?;
    if !known.makes_filesystems && (place.fs.is_some() || place.contenders.is_some()) {
        let message = format!(
            "--testbed {} tests directories as they are; --fs and --contenders belong to --testbed device",
            known.name
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    if !known.makes_filesystems && place.size.is_some() {
        let message = "--size is for a filesystem that is made; a directory is used as it is";
        return Err(Failure::new(Exit::Usage, message));
    }
    let contenders = match testbeds::read(&testbed)?.contenders()? {
        Some(contenders) => contenders,
        None => contenders(place)?,
    };
    Ok((testbed, contenders))
}

/// Replaces the path in each parameter that names a file by what stands in that file.
pub(crate) fn with_documents(mut asked: WorkloadRequest) -> Result<WorkloadRequest, Failure> {
    let Some(workload) = workload::find(&asked.name) else { return Ok(asked) };
    for parameter in workload.describe().parameters {
        if let (Kind::Document(shipped), Some(value)) =
            (parameter.kind, asked.parameters.get(parameter.name))
            && shipped.iter().all(|(word, _)| word != value)
        {
            let path = std::path::PathBuf::from(value);
            asked = brought::document(asked, parameter.name, &path)?;
        }
    }
    Ok(asked)
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
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let mut names = BTreeSet::new();
    for contender in &contenders {
        let name = &contender.name;
        if name.len() > NAME_MAX {
            let start: String = name.chars().take(40).collect();
            let (size, next) = (name.len(), "give it a shorter one: NEWNAME=…");
            return Err(usage(format!(
                "the contender `{start}…` has a name of {size} bytes, at most {NAME_MAX} are; {next}"
            )));
        }
        contender.validate().map_err(|refusal| usage(refusal.to_string()))?;
        if !names.insert(name) {
            return Err(usage(format!("two contenders are called `{name}`")));
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
