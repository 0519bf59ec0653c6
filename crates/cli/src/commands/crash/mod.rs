//! `fstrial crash`: what a power cut loses.

mod carry_out;
mod kept;
mod shown;

use std::collections::BTreeMap;
use std::path::Path;

use crash::Cache;
use stack::Contender;
use trial::InputFiles;
use workload::Job;

use self::carry_out::carry_out;
use self::kept::{Asked, Kept};
use crate::arguments::{Crash, CrashAction, CrashRun, DiskCache};
use crate::commands::run::program;
use crate::destination::Destination;
use crate::exit::{Ended, Exit, Failure};
use crate::output::print;
use crate::{labs, surroundings};

/// Tries, lists or shows.
pub(crate) fn crash(arguments: &Crash) -> Ended {
    match &arguments.action {
        None => run(&arguments.run),
        Some(CrashAction::Programs) => {
            print(&shown::programs())?;
            Ok(Exit::Done)
        }
        Some(CrashAction::Show { id }) => show(id),
    }
}

fn run(arguments: &CrashRun) -> Ended {
    surroundings::here_in_utf8()?;
    let usage = |message: String| Failure::new(Exit::Usage, message);
    for name in &arguments.programs {
        if crash::program(name).is_none() {
            let known = crash::PROGRAMS.iter().map(|program| program.name);
            let meant = text::meant(name, known).unwrap_or_default();
            let list = "`fstrial crash programs` lists them";
            return Err(usage(format!("there is no program `{name}`; {meant} {list}")));
        }
    }
    let own = own(arguments)?;
    let (programs, own) = match own {
        None => (arguments.programs.clone(), None),
        Some(job) => {
            let name = Path::new(&job.run[0]).file_name().unwrap_or_default();
            let text = job.to_text().map_err(|problem| Failure::new(Exit::Input, problem))?;
            (vec![name.to_string_lossy().into_owned()], Some(text))
        }
    };
    let list = arguments.fs.as_deref().unwrap_or_default();
    let contenders = Contender::parse_list(list).map_err(|error| usage(error.to_string()))?;
    let json = arguments.json.as_deref().map(Destination::open).transpose()?;
    let mut changes: BTreeMap<String, String> = arguments.changes.iter().cloned().collect();
    if let Some(cache) = arguments.cache {
        let has = cache != DiskCache::None;
        changes.insert("disk.write_cache".to_owned(), has.to_string());
    }
    let mut asked = Asked {
        lab: arguments.lab.clone(),
        profile: arguments.profile.clone(),
        disk: arguments.disk.clone(),
        changes,
        cache: Cache::Volatile,
        tear: 0,
        states: arguments.states,
        each: arguments.each,
        rounds: arguments.rounds,
        seed: arguments.seed,
        programs,
        own,
        contenders,
    };
    let lab = open(&asked)?;
    asked.cache = match arguments.cache {
        Some(DiskCache::Volatile) => Cache::Volatile,
        Some(DiskCache::None | DiskCache::Protected) => Cache::Protected,
        Some(DiskCache::Lying) => Cache::Lying,
        None if lab.profile().disk.write_cache => Cache::Volatile,
        None => Cache::Protected,
    };
    let said = arguments.tear.as_ref().and_then(|bytes| bytes.parse().ok());
    asked.tear = said.unwrap_or(u64::from(lab.profile().disk.physical_sector));
    let mut kept = carry_out(&lab, asked, arguments.quiet)?;
    kept.number()?;
    let text = kept.to_json()?;
    kept.write(&text)?;
    if let Some(to) = &json {
        to.write(&text, "the results are kept")?;
    }
    if !json.is_some_and(|to| to.is_standard_output()) {
        print(&shown::answer(&kept))?;
    }
    Ok(kept.exit(arguments.relied))
}

/// The job of a program of the user's own.
fn own(arguments: &CrashRun) -> Result<Option<Job>, Failure> {
    let Some(check) = &arguments.check else { return Ok(None) };
    let usage = |problem: &str| Failure::new(Exit::Usage, format!("--check `{check}`: {problem}"));
    let words = shlex::split(check).ok_or_else(|| usage("a quote in it does not end"))?;
    if words.is_empty() {
        return Err(usage("it has no words"));
    }
    let job = program::job_of_command(&arguments.own, Some(words))?;
    program::look(&job)?;
    Ok(Some(job))
}

fn open(asked: &Asked) -> Result<lab::Lab, Failure> {
    let Asked { lab, profile, disk, changes, own, .. } = asked;
    let job = own.as_deref().map(Job::read).transpose();
    let job = job.map_err(|problem| Failure::new(Exit::Input, problem))?;
    let program = job.as_ref().map(program::archive).transpose()?;
    let files = InputFiles { program, ..InputFiles::default() };
    labs::open(lab.as_deref(), profile, disk.as_deref(), changes, &files)
}

/// Shows a finding, and tries its state once more.
fn show(id: &str) -> Ended {
    let (kept, finding) = Kept::of_finding(id)?;
    let lab = open(&kept.asked)?;
    if lab.id() != kept.lab_id {
        let message = format!(
            "{id} was found in lab {}, and this one is {}: another kernel, program or machine \
             leaves other states; run `fstrial crash` again",
            kept.lab_id,
            lab.id()
        );
        return Err(Failure::new(Exit::NotAlike, message));
    }
    let again = carry_out::again(&lab, &kept.asked, &finding)?;
    print(&shown::finding(&kept, &finding, &again))?;
    let same = again.as_ref().is_ok_and(|tried| finding.is_shown_by(tried));
    Ok(if same { Exit::Done } else { Exit::NotAlike })
}
