//! `fstrial lab verify`: equal spec, seed and lab give equal nanoseconds; another seed does
//! not.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lab::{Circumstances, Lab, Repeat};
use stack::Contender;
use testbed::Stop;
use trial::{InputFiles, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{InputKind, Parameters, Seed};

use crate::arguments::LabVerify;
use crate::commands::run::program::{archive, jobs};
use crate::commands::run::request::with_documents;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Mails that are enough to write with: the lab's promise does not depend on them.
const CORPUS: &str = "synthetic:count=100";

/// Runs and compares.
pub(super) fn verify(name: Option<&str>, arguments: &LabVerify) -> Ended {
    if arguments.files {
        let software = super::software(name)?;
        software.check_files().map_err(Failure::from(Exit::Input))?;
        print(&format!("{}: every file is as it was built\n", software.directory.display()))?;
        return Ok(Exit::Done);
    }
    let contenders = Contender::parse_list(&arguments.fs).map_err(Failure::from(Exit::Usage))?;
    let (choice, program) = choice(arguments)?;
    let (mail, _) = crate::commands::corpus::open(CORPUS)?;
    let inputs = InputFiles { mail: Some(mail), program, ..InputFiles::default() };
    let changes = arguments.changes.iter().cloned().collect();
    let lab = super::open(name, &arguments.profile, None, &changes, &inputs)?;
    // A filesystem that the lab does not support is not a difference.
    for contender in &contenders {
        let filesystem = stack::filesystems::find(&contender.filesystem);
        let refusal = filesystem.and_then(|it| lab.offer().refusal(&contender.name, it.describe()));
        if let Some(refusal) = refusal {
            return Err(Failure::new(Exit::Refused, refusal.to_string()));
        }
    }
    print(&format!("lab {}\n", lab.id()))?;
    let mut all_hold = true;
    for contender in contenders {
        let spec = |seed| TrialSpec {
            contender: contender.clone(),
            workloads: vec![choice.clone()],
            seed: Seed(seed),
            block: 0,
            size: Some(Bytes::from_gib(1)),
            verify: true,
            timeout: Nanos::from_secs(1800),
        };
        all_hold &= verify_one(&lab, &spec, arguments)?;
    }
    Ok(if all_hold { Exit::Done } else { Exit::SomeFailed })
}

/// The workload to run, and the archive of a program of the user's own, if it is one.
fn choice(arguments: &LabVerify) -> Result<(WorkloadChoice, Option<PathBuf>), Failure> {
    let asked = runner::parse_workload(&arguments.workload)
        .map_err(|message| Failure::new(Exit::Usage, message))?;
    let asked = with_documents(asked)?;
    let jobs = jobs(std::slice::from_ref(&asked))?;
    let program = jobs.first().map(archive).transpose()?;
    let known = workload::named(&asked.name)
        .map_err(|unknown| Failure::new(Exit::Usage, unknown.to_string()))?;
    let given: BTreeMap<_, _> = asked.parameters;
    let parameters = Parameters::resolve(known.describe(), &given, arguments.scale)
        .map_err(Failure::from(Exit::Usage))?;
    Ok((WorkloadChoice { name: asked.name, parameters }, program))
}

fn verify_one(
    lab: &Lab,
    spec: &dyn Fn(u64) -> TrialSpec,
    arguments: &LabVerify,
) -> Result<bool, Failure> {
    let name = spec(0).contender.name;
    let tell = |circumstances: Circumstances, repeat: &Repeat| {
        let side = if circumstances.parallel { "side by side" } else { "alone" };
        let busy = if circumstances.busy { ", busy machine" } else { "" };
        let total: Nanos = repeat.phases.iter().map(|(_, wall)| *wall).sum();
        say!("{name}: {side}{busy}: {} ns, {} requests", total.0, repeat.requests);
    };
    let run = |seed, times| {
        lab::verify(lab, &spec(seed), times, &Stop::new(), &tell)
            .map_err(Failure::from(Exit::Refused))
    };
    let same = run(arguments.seed, arguments.times)?;
    let other = run(arguments.seed + 1, 1)?;
    let differs = match (same.repeats.first(), other.repeats.first()) {
        (Some((_, a)), Some((_, b))) => a.phases != b.phases || a.made != b.made,
        _ => false,
    };
    match (same.first_failure(), same.first_difference()) {
        (_, Some(difference)) => print(&format!("{name}: DIFFERS: {difference}\n"))?,
        (Some(failure), None) => {
            let times = same.repeats.len();
            print(&format!("{name}: FAILED, all {times} in the same way: {failure}\n"))?;
        }
        (None, None) => print(&format!(
            "{name}: {} of {} identical, {} phases, {} disk requests\n",
            same.repeats.len(),
            arguments.times,
            same.repeats.first().map_or(0, |(_, repeat)| repeat.phases.len()),
            same.repeats.first().map_or(0, |(_, repeat)| repeat.requests),
        ))?,
    }
    // A program of the user's own need not depend on the seed.
    let own = spec(0).workloads.iter().any(|choice| {
        workload::find(&choice.name)
            .is_some_and(|known| known.describe().inputs.contains(&InputKind::OwnProgram))
    });
    if !differs && !own {
        print(&format!("{name}: ANOTHER SEED DOES NOT DIFFER, in time or in what was made\n"))?;
    }
    Ok(same.holds() && (differs || own))
}
