//! The lab without the rest of fstrial, for work on the lab itself: boots as PID 1 of its
//! own guest, and on the host runs one contender a few times and prints what each phase
//! took.
//!
//! ```text
//! lab_dev build CACHE
//! lab_dev export|import CACHE FILE
//! lab_dev CACHE PROFILE CONTENDER WORKLOAD SEED TIMES|verify-TIMES [SIZE] [SABOTAGE]
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use lab::{BuildOptions, Extras, Lab, MachineProfile};
use stack::Contender;
use testbed::Stop;
use trial::{Event, InputFiles, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Parameters, PhaseEvent, Seed};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, cache] = &arguments[..]
        && verb == "build"
    {
        return build(Path::new(cache));
    }
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["export", cache, file] => {
            let lab = lab::find(Path::new(cache), lab::DEFAULT_LAB)?;
            lab::export(&lab, Path::new(file), &mut |_| ())?;
            return Ok(());
        }
        ["import", cache, file] => {
            println!(
                "{}",
                lab::import(Path::new(cache), lab::DEFAULT_LAB, Path::new(file), &mut |_| ())?
                    .directory
                    .display()
            );
            return Ok(());
        }
        _ => {}
    }
    let [cache, profile, contender, work, seed, times, rest @ ..] = &arguments[..] else {
        return Err("see the top of lab_dev.rs".into());
    };
    let lab = open(Path::new(cache), profile)?;
    let began = Instant::now();
    lab.warm_up(&Stop::new())?;
    println!("checkpoint in {:?}", began.elapsed());
    let spec = spec(contender, work, seed, rest.first())?;
    let sabotage = rest.get(1).map(|word| serde_json::from_value(serde_json::json!(word)));
    if let Some(times) = times.strip_prefix("verify-") {
        let result = lab::verify(&lab, &spec, times.parse()?, &Stop::new(), &|how, repeat| {
            println!("{how:?} {:?} {} {}", repeat.phases, repeat.requests, repeat.log_digest);
        })?;
        println!("difference: {:?}", result.first_difference());
        return Ok(());
    }
    let extras = Extras { sabotage: sabotage.transpose()?, ..Extras::default() };
    for nth in 0..times.parse::<u32>()? {
        println!("--- {nth}");
        let carried = lab.carry_out(&spec, &extras, &Stop::new(), &mut |event| match event {
            Event::Phase(PhaseEvent::Finished(phase)) => println!(
                "{:12} {:>16} ns  {} ops  cpu {:?} of {:?}  {:?} {:?} {:?}",
                phase.phase,
                phase.wall.0,
                phase.ops,
                phase.machine_cpu,
                phase.cpu,
                phase.status,
                phase.figures,
                phase.not_comparable
            ),
            Event::Phase(_) => {}
            Event::Made(made) => println!("made {} on {}", made.served_by, made.kernel),
            other => println!("{other:?}"),
        })?;
        println!("{carried:?}");
    }
    Ok(())
}

fn build(cache: &Path) -> Result<(), Box<dyn Error>> {
    let built = lab::build(cache, &BuildOptions::default(), &mut |step| println!("{step:?}"))?;
    println!("{} packages in {}", built.manifest.packages.len(), built.directory.display());
    println!("{:?}", built.parts()?);
    Ok(())
}

/// The lab with the inputs that the environment asks for.
fn open(cache: &Path, profile: &str) -> Result<Lab, Box<dyn Error>> {
    let parts = lab::find(cache, lab::DEFAULT_LAB)?.parts()?;
    let began = Instant::now();
    let mut profile = MachineProfile::find(profile)?;
    if let Ok(processors) = std::env::var("LAB_DEV_PROCESSORS") {
        profile.processors = processors.parse()?;
    }
    let mails = std::env::var("LAB_DEV_MAILS").unwrap_or_else(|_| "2000".to_owned()).parse()?;
    let mail = Some(workload::corpora::synthetic::ensure(cache, mails, 1)?);
    let system = std::env::var_os("LAB_DEV_SYSTEM").map(Into::into);
    let files = InputFiles {
        mail: if system.is_some() { None } else { mail },
        system,
        ..InputFiles::default()
    };
    let lab = Lab::open(parts, cache, profile, &files)?;
    println!(
        "lab {} opened in {:?}; {:?}; missing {:?}",
        lab.id(),
        began.elapsed(),
        lab.machine(),
        lab.missing_tools()
    );
    Ok(lab)
}

fn spec(
    contender: &str,
    work: &str,
    seed: &str,
    size: Option<&String>,
) -> Result<TrialSpec, Box<dyn Error>> {
    let (name, settings) = work.split_once(':').unwrap_or((work, ""));
    let description = workload::find(name).ok_or("no such workload")?.describe();
    let settings: BTreeMap<String, String> = settings
        .split(':')
        .filter_map(|one| one.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let parameters = Parameters::resolve(description, &settings, 1.0)?;
    Ok(TrialSpec {
        contender: Contender::parse_list(contender)?.remove(0),
        workloads: vec![WorkloadChoice { name: name.to_owned(), parameters }],
        seed: Seed(seed.parse()?),
        block: 0,
        size: Some(size.map_or(Ok(Bytes::from_gib(2)), |size| size.parse())?),
        verify: true,
        timeout: Nanos::from_secs(3000),
    })
}
