//! `fstrial lab fit`: a model of this machine's disk, and a profile that has it.

use std::path::{Path, PathBuf};

use disk::DISKS;
use fit::{Compared, Description, FitError, Kind, Place, Plan, ThisDisk};
use lab::{MachineProfile, THIS_MACHINE};

use super::processor::Processor;
use crate::arguments::LabFit;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};
use crate::places::Here;

/// The largest error of a good fit on requests that were held out of it.
const WITHIN: f64 = 0.05;
/// With a larger error than this the model does not represent the disk.
const POOR: f64 = 0.25;
/// Nanoseconds per instruction if the processor is not measured.
const ASSUMED_NS: f64 = 0.25;
const NO_PROCESSOR: &str =
    "The processor was not measured: an instruction takes 0.25 ns as in the profile today-ssd.";
/// Seed of the requests that are sent and of the search.
const SEED: u64 = 1;

/// Measures and writes, or looks for hidden models.
pub(super) fn fit(lab: Option<&str>, arguments: &LabFit) -> Ended {
    match &arguments.against_model {
        Some(model) => against(model, arguments.variants.max(1)),
        None => here(lab, arguments),
    }
}

fn failed(error: FitError) -> Failure {
    Failure::new(Exit::Refused, error.to_string())
}

fn against(model: &str, variants: u64) -> Ended {
    let text = match DISKS.iter().find(|shipped| shipped.name == model) {
        Some(shipped) => shipped.text.to_owned(),
        None if model.ends_with(".toml") => files::read_text(Path::new(model))
            .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?,
        None => {
            let problem = format!("no disk is called `{model}`: see `fstrial list disks`");
            return Err(Failure::new(Exit::Usage, problem));
        }
    };
    let start = Description::parse(model, &text)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let mut found = 0;
    print(&format!(
        "{model}, each parameter that is fitted up to 30 % off: largest error of p50, p95 and p99 on \
         held-out requests; itself: the hidden model, answering by other chances\n\n{:>7} {:>12} {:>10} \
         {:>10}\n",
        "variant", "before", "after", "itself"
    ))?;
    for variant in 1..=variants {
        let looked = fit::closed_loop(&start, variant, |_| {}).map_err(failed)?;
        let percent = |held: &[Compared]| fit::worst(held).unwrap_or(f64::NAN) * 100.0;
        let (before, after) = (percent(&looked.before), percent(&looked.after));
        let itself = percent(&looked.itself);
        found += u64::from(after <= WITHIN * 100.0);
        print(&format!("{variant:>7} {before:>10.1} % {after:>8.1} % {itself:>8.1} %\n"))?;
    }
    print(&format!("\n{found} of {variants} found within {:.0} %\n", WITHIN * 100.0))?;
    Ok(if found == variants { Exit::Done } else { Exit::SomeFailed })
}

fn here(lab: Option<&str>, arguments: &LabFit) -> Ended {
    let place = match (&arguments.device, &arguments.loop_dir) {
        (Some(device), _) => Place::Device(device.clone()),
        (_, Some(directory)) => Place::LoopFile(directory.clone()),
        _ => Place::Directory(arguments.dir.clone()),
    };
    let profile_path = arguments.output.clone().unwrap_or_else(MachineProfile::of_this_machine);
    let disk_path = profile_path.with_file_name(format!("{THIS_MACHINE}-disk.toml"));
    if arguments.output.is_none()
        && let Some(directory) = profile_path.parent()
    {
        files::private_directory(directory).map_err(Failure::from(Exit::Output))?;
    }
    for path in [&profile_path, &disk_path] {
        files::Output::open(path, || ()).map_err(Failure::from(Exit::Output))?;
    }
    let here = Here::open()?;
    let mut disk = ThisDisk::open(&place, here.ledger()).map_err(failed)?;
    if disk.kind() == Kind::Drive && disk.writes() {
        let problem = "the kernel calls this disk rotational and its reads take as long as one \
                       that turns; a file of 512 MiB shows nothing of its seeks: measure the whole \
                       disk with --device, by reads only, or again when nothing else uses it";
        return Err(Failure::new(Exit::Refused, problem.to_owned()));
    }
    say!("measuring the disk: five minutes at most; other use of it spoils the measurement");
    let plan = Plan::new(disk.kind(), disk.span(), disk.writes(), SEED);
    let measured = disk.serve(&plan, |session| say!("  {session}")).map_err(failed)?;
    let processor = processor(lab, arguments)?;
    say!("fitting: a few minutes of processor time");
    let models =
        DISKS.iter().filter_map(|shipped| Description::parse(shipped.name, shipped.text).ok());
    let nearest = fit::nearest(&plan, &measured, models.collect()).map_err(failed)?;
    say!("  starting from {}", nearest.name());
    let fitted =
        fit::fit(&plan, &measured, nearest, SEED, |what| say!("  {what}")).map_err(failed)?;
    let model = fitted.description.disk().map_err(failed)?;
    let answers = fit::answers(&model, SEED, &plan).map_err(failed)?;
    let compared = fit::quality(&plan, &measured, &answers);
    let source = source(&place, &compared);
    let sectors = disk.size().0 / units::SECTOR_BYTES;
    let text = fitted.text("this-machine-disk", "the disk measured here", sectors, &source);
    write(&disk_path, &text)?;
    let poor = poor(&compared, processor.as_ref());
    let machine =
        profile(&disk, &absolute(&disk_path)?, &source, processor.as_ref(), poor.as_deref());
    write(&profile_path, &machine)?;
    // Check that `run` can read what was written.
    let path = profile_path.display().to_string();
    let read = files::read_text(&profile_path).map_err(Failure::from(Exit::Output))?;
    MachineProfile::parse(&path, &read).map_err(Failure::from(Exit::Output))?;
    disk::DiskDescription::load(&disk_path).map_err(Failure::from(Exit::Output))?;
    print(&table(&compared))?;
    let words = processor.as_ref().map(Processor::words);
    print(&format!("\n{}\n", words.as_deref().unwrap_or(NO_PROCESSOR)))?;
    print(&ending(poor.as_deref(), &profile_path, &disk_path))?;
    Ok(Exit::Done)
}

/// Why the profile is not this machine, if the measurement shows that.
fn poor(compared: &[Compared], processor: Option<&Processor>) -> Option<String> {
    let disk = match fit::worst(compared) {
        Some(worst) if worst <= POOR => None,
        Some(worst) => Some(format!(
            "the model of the disk is off by {:.0} % on requests it was not fitted to",
            worst * 100.0
        )),
        None => Some("the model of the disk was held against nothing".to_owned()),
    };
    let both = [disk, processor.and_then(Processor::poor)];
    let reasons: Vec<String> = both.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| format!("{}.", reasons.join("; ")))
}

/// The time of an instruction on this machine; `None` if it could not be measured.
fn processor(lab: Option<&str>, arguments: &LabFit) -> Result<Option<Processor>, Failure> {
    match super::processor::measure(lab, &arguments.store) {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.exit == Exit::Stopped => Err(failure),
        Err(failure) => {
            say!("the processor cannot be measured: {}", failure.message);
            Ok(None)
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(Failure::from(Exit::Output))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    crate::files::write_whole(path, text.as_bytes()).map_err(|error| {
        Failure::new(Exit::Output, format!("cannot write {}: {error}", path.display()))
    })
}

fn source(place: &Place, compared: &[Compared]) -> String {
    let (what, how) = match place {
        Place::Directory(path) => (path, "direct reads, writes and flushes in a file in"),
        Place::Device(path) => (path, "direct reads of"),
        Place::LoopFile(path) => (path, "direct reads, writes and flushes of a loop file in"),
    };
    let fit = match fit::worst(compared) {
        Some(worst) => format!("{:.0} %", worst * 100.0),
        None => "unknown".to_owned(),
    };
    format!(
        "fstrial lab fit: {how} {}; on requests that the fit has not seen the largest error of \
         p50, p95 and p99 is {fit}.",
        what.display()
    )
}

fn profile(
    disk: &ThisDisk,
    model: &Path,
    source: &str,
    processor: Option<&Processor>,
    poor: Option<&str>,
) -> String {
    let flag = |value: bool| toml::Value::Boolean(value);
    let write_cache = disk.write_cache().unwrap_or(true);
    let queue: toml::Table = [
        ("model", toml::Value::String(model.display().to_string())),
        ("rotational", flag(disk.rotational())),
        ("write_cache", flag(write_cache)),
        ("fua", flag(disk.fua().unwrap_or(false))),
        ("discard", flag(disk.kind() == Kind::Ssd)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect();
    let said = processor.map(Processor::words);
    let source = format!(
        "{source} Write cache and FUA as the kernel says. {} Memory was not measured: it is that of \
         the profile today-ssd.",
        said.as_deref().unwrap_or(NO_PROCESSOR)
    );
    let instruction_ns = processor.map_or(ASSUMED_NS, |found| found.instruction_ns);
    let mut table: toml::Table = [
        ("name", toml::Value::String(THIS_MACHINE.to_owned())),
        (
            "summary",
            toml::Value::String(
                "processor and disk of this machine, as they were measured".to_owned(),
            ),
        ),
        ("ram", toml::Value::String("4G".to_owned())),
        ("instruction_ns", toml::Value::Float(instruction_ns)),
        ("source", toml::Value::String(source)),
        ("disk", toml::Value::Table(queue)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect();
    if let Some(why) = poor {
        table.insert("poor".to_owned(), toml::Value::String(why.to_owned()));
    }
    table.to_string()
}

fn table(compared: &[Compared]) -> String {
    let worst =
        fit::worst(compared).map_or("unknown".to_owned(), |w| format!("{:.0} %", w * 100.0));
    let mut text = format!(
        "The model misses p50, p95 and p99 of requests it was not fitted to by {worst} at most.\n"
    );
    for (held_out, heading) in [(true, "held out"), (false, "fitted to")] {
        text += &format!(
            "\n{heading:<36} {:>10} {:>10} {:>10}   measured (model)\n",
            "p50", "p95", "p99"
        );
        for session in compared.iter().filter(|session| session.held_out == held_out) {
            let times = session.percentiles.map(|(_, a, b)| (a.to_string(), format!("({b})")));
            let [(p50, m50), (p95, m95), (p99, m99)] = times;
            text += &format!("{:<36} {p50:>10} {p95:>10} {p99:>10}\n", session.name);
            text += &format!("{:<36} {m50:>10} {m95:>10} {m99:>10}\n", "");
        }
    }
    text
}

/// What the profile is worth, where it is and how it is used.
fn ending(poor: Option<&str>, profile: &Path, disk: &Path) -> String {
    let warning = poor.map_or_else(String::new, |why| {
        format!(
            "\nPOOR: {why} Results of this profile are not those of this machine, and each of them \
             says so. Measure again when nothing else uses the machine, or take the nearest of \
             `fstrial list profiles`.\n"
        )
    });
    format!(
        "{warning}\nprofile  {}\ndisk     {}\nuse it   fstrial run WORKLOADS --profile \
         {THIS_MACHINE}\n",
        profile.display(),
        disk.display()
    )
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    fn off_by(percent: u64) -> Vec<Compared> {
        let [measured, model] = [Nanos(1000), Nanos(1000 + 10 * percent)];
        let percentiles = [50, 95, 99].map(|at| (at, measured, model));
        vec![Compared { name: "reads", held_out: true, percentiles }]
    }

    #[test]
    fn a_poor_profile_says_why() {
        assert_eq!(poor(&off_by(20), None), None);
        let disk = poor(&off_by(40), None).unwrap();
        assert!(disk.contains("off by 40 %"), "{disk}");
        let apart = Processor {
            instruction_ns: 1.56,
            range: [0.25, 5.37],
            phases: 8,
            runs: Default::default(),
        };
        let processor = poor(&off_by(20), Some(&apart)).unwrap();
        assert!(processor.contains("0.25 to 5.37 ns"), "{processor}");
        assert!(poor(&[], None).is_some(), "nothing was held out");
        let said = ending(Some(&processor), Path::new("p.toml"), Path::new("d.toml"));
        assert!(said.contains("POOR: the time of an instruction"), "{said}");
        assert!(!ending(None, Path::new("p"), Path::new("d")).contains("POOR"));
    }
}
