//! The same matrix on loop files of this machine and in the lab, in turn: what
//! `self agreement --here` compares.

use std::collections::BTreeMap;

use runner::{Limit, Prepared, Request, RunEnd, Session, TestbedRequest, parse_workload};
use stack::Contender;
use store::StoredRun;

use crate::arguments::LabAgreement;
use crate::commands::run::request::with_documents;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::places::Here;
use crate::progress::Watch;
use crate::testbeds;

/// Runs both, alternating one repeat of each, so that neither drift of this machine over time nor
/// what one run leaves behind shows as a difference between the two. Returns the run of this
/// machine first.
///
/// # Errors
/// When one of the two cannot be prepared or run, or it was stopped.
pub(super) fn measure(
    lab: Option<&str>,
    arguments: &LabAgreement,
) -> Result<[StoredRun; 2], Failure> {
    let here = Here::open()?;
    let mut session = here.session(&arguments.store)?;
    let real = testbeds::device::loop_files(arguments.loop_dir.clone())?;
    let twin = testbeds::lab::Settings::of(&arguments.profile, BTreeMap::new()).in_lab(lab);
    let mut asked = request(arguments, real)?;
    let mut real = session.prepare(asked.clone())?;
    // Both on devices of the same size, since it matters how full a filesystem is.
    asked.size = real.request.size;
    asked.testbed = twin.request()?;
    let mut twin = session.prepare(asked)?;
    keep_what_both_have(&mut real, &mut twin);
    if real.trials.is_empty() {
        let message = "no filesystem is left that both can run: name others with --fs";
        return Err(Failure::new(Exit::Refused, message));
    }
    let both = [real, twin];
    let mut watch = Watch::new(false);
    let mut ids = Vec::new();
    for prepared in &both {
        ids.push(session.create(prepared, &mut |event| watch.show(event))?);
    }
    for _ in 0..arguments.repeats {
        for (prepared, id) in both.iter().zip(&ids) {
            if !one_repeat(&mut session, id, prepared, arguments.repeats, &mut watch)? {
                let [real, twin] = [&ids[0], &ids[1]];
                let store = arguments.store.suffix();
                let message = format!(
                    "stopped; go on with: fstrial run --resume {real}{store}; fstrial run --resume \
                     {twin}{store}; fstrial self agreement {real} {twin}{store}"
                );
                return Err(Failure::new(Exit::Stopped, message));
            }
        }
    }
    watch.finish();
    let read = |id: &String| session.store.run(id).map_err(Failure::from(Exit::Store));
    Ok([read(&ids[0])?, read(&ids[1])?])
}

/// Runs a repeat, which is a block of trials; `false` where it was stopped before its end.
fn one_repeat(
    session: &mut Session<'_>,
    id: &str,
    prepared: &Prepared,
    repeats: u32,
    watch: &mut Watch,
) -> Result<bool, Failure> {
    let trials = prepared.trials.len().div_ceil(repeats as usize);
    let limit = Limit { trials: Some(trials), ..Limit::NONE };
    let testbed = prepared.testbed.as_ref();
    let ended = session.execute(id, testbed, limit, &mut |event| watch.show(event))?;
    Ok(ended == RunEnd::Complete || !session.stopped())
}

/// Leaves out of both what one of the two refuses.
fn keep_what_both_have(real: &mut Prepared, twin: &mut Prepared) {
    let mut refused: Vec<String> = Vec::new();
    for prepared in [&*real, &*twin] {
        for (index, refusal) in &prepared.refused {
            let contender = &prepared.trials[*index].contender.name;
            if !refused.contains(contender) {
                say!("left out: {refusal}");
                refused.push(contender.clone());
            }
        }
    }
    for prepared in [real, twin] {
        prepared.retain(|trials| {
            let kept = trials.into_iter();
            kept.filter(|spec| !refused.contains(&spec.contender.name)).collect()
        });
    }
}

fn request(arguments: &LabAgreement, testbed: TestbedRequest) -> Result<Request, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let workloads = arguments.workloads.iter();
    let workloads = workloads.map(|text| with_documents(parse_workload(text).map_err(usage)?));
    let contenders = Contender::parse_list(&arguments.fs).map_err(Failure::from(Exit::Usage))?;
    let workloads = workloads.collect::<Result<_, _>>()?;
    let (repeats, scale) = (arguments.repeats, arguments.scale);
    Ok(Request { repeats, scale, ..Request::new(workloads, contenders, testbed) })
}
