//! `fstrial list`: what exists, from the tables themselves.

use runner::Request;
use stack::filesystems::QUEUE_OPTIONS;
use stack::{FILESYSTEMS, LAYOUTS};
use store::{RunState, Store, StoreError};
use trial::capabilities::{CAPABILITIES, Finding, Tried, TriedFilesystem};
use workload::{Kind, catalogue};

use crate::arguments::{List, Listed};
use crate::exit::{Ended, Exit, Failure};
use crate::files::find_program;
use crate::output::print;
use crate::testbeds;

/// Prints one catalogue.
pub(crate) fn list(arguments: &List) -> Ended {
    let name = arguments.name.as_deref();
    let text = match arguments.what {
        Listed::Workloads => match name {
            Some(name) => workload(name)?,
            None => workloads(),
        },
        Listed::Filesystems => {
            let (entries, end) = filesystems();
            one_or_all(entries, name)? + &end
        }
        Listed::Capabilities => {
            let tried = Tried::shipped().map_err(|error| Failure::new(Exit::Output, error))?;
            let row = |name| tried.filesystems.iter().find(|row| row.name == name);
            match name.and_then(row) {
                Some(row) => capabilities_of(row),
                None => one_or_all(capability_entries(&tried), name)? + &tried_with(&tried),
            }
        }
        // `raid5x4` is how a contender has it: with its number of disks.
        Listed::Layouts => one_or_all(layouts(), name.map(without_disks))?,
        Listed::Disks => one_or_all(disks()?, name)?,
        Listed::Profiles => one_or_all(profiles()?, name)?,
        Listed::Studies => match name {
            Some(name) => return crate::commands::study::show_named(name),
            None => crate::commands::study::shipped()?,
        },
        Listed::Labs => match crate::commands::lab::listed()? {
            labs if labs.is_empty() && name.is_none() => crate::commands::lab::NO_LAB.to_owned(),
            labs => one_or_all(labs, name)?,
        },
        Listed::Runs => return runs(arguments),
    };
    print(&text)?;
    Ok(Exit::Done)
}

/// Entries of a catalogue: each name with its text.
type Entries = Vec<(String, String)>;

/// The text of the entry of this name, or of all.
fn one_or_all(entries: Entries, name: Option<&str>) -> Result<String, Failure> {
    let Some(name) = name else { return Ok(entries.into_iter().map(|(_, text)| text).collect()) };
    let found = entries.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    if let Some((_, text)) = found {
        return Ok(text.clone());
    }
    let meant = text::meant(name, entries.iter().map(|(known, _)| known.as_str()));
    let meant = meant.unwrap_or_else(|| "there is none yet".to_owned());
    Err(Failure::new(Exit::Usage, format!("there is no `{name}` in this list; {meant}")))
}

/// The layout of `raid5x4+journal`.
fn without_disks(layout: &str) -> &str {
    let name = layout.split('+').next().unwrap_or_default();
    match name.rsplit_once('x') {
        Some((kind, disks)) if !kind.is_empty() && disks.parse::<u32>().is_ok() => kind,
        _ => name,
    }
}

/// All workloads and their presets, one line each.
fn workloads() -> String {
    let mut text = String::new();
    for workload in catalogue() {
        let description = workload.describe();
        text += &described(description.name, description.summary);
        for preset in description.presets {
            let name = format!("{}@{}", description.name, preset.name);
            text += &described(&format!("  {name}"), preset.question);
        }
    }
    text + "\neverything about one: fstrial list workload NAME\n"
}

/// Everything about one workload.
fn workload(name: &str) -> Result<String, Failure> {
    let name = name.split(['@', ':']).next().unwrap_or(name);
    let found = catalogue().find(|known| known.describe().name.eq_ignore_ascii_case(name));
    if found.is_none() && stack::filesystems::find(name).is_some() {
        let message = format!("`{name}` is a filesystem: fstrial list filesystems {name}");
        return Err(Failure::new(Exit::Usage, message));
    }
    let found = found.map_or_else(|| workload::named(name), Ok);
    let description =
        found.map_err(|unknown| Failure::new(Exit::Usage, unknown.to_string()))?.describe();
    let mut text = format!("{}\n    {}\n\nphases\n", description.name, description.summary);
    for phase in description.phases {
        text += &described(phase.name, phase.summary);
    }
    text += "\nparameters\n";
    for parameter in description.parameters {
        let head = format!("{}={}", parameter.name, values(parameter.kind));
        let default = match parameter.default {
            "" => String::new(),
            default => format!(" [{default}]"),
        };
        text += &described(&head, &format!("{}{default}", parameter.help));
    }
    if !description.presets.is_empty() {
        text += "\npresets\n";
    }
    for preset in description.presets {
        let set: Vec<_> =
            preset.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let help = format!("{} ({})", preset.question, set.join(" "));
        text += &described(&format!("@{}", preset.name), &help);
    }
    Ok(text)
}

/// What a parameter takes.
fn values(kind: Kind) -> String {
    let words = |words: &[(&'static str, &'static str)]| -> Vec<&'static str> {
        words.iter().map(|(word, _)| *word).collect()
    };
    match kind {
        Kind::Count { .. } => "N".to_owned(),
        Kind::Size(_) => "SIZE".to_owned(),
        Kind::Time(_) => "TIME".to_owned(),
        Kind::Fraction => "0..1".to_owned(),
        Kind::Switch => "on|off".to_owned(),
        Kind::Choice(known) => words(known).join("|"),
        Kind::Words(known) => format!("all|{}", words(known).join("+")),
        Kind::Document(shipped) => {
            let mut known = words(shipped);
            known.push("PATH");
            known.join("|")
        }
        Kind::Text => "TEXT".to_owned(),
    }
}

/// What each lab offers, with the lab's name in these tables.
pub(crate) fn lab_offers() -> Vec<(String, lab::Offer)> {
    let Ok(cache) = lab::cache_directory() else { return Vec::new() };
    let offer = |name: String| {
        let parts = lab::find(&cache, &name).ok()?.parts().ok()?;
        let called = match name.as_str() {
            lab::DEFAULT_LAB => "lab".to_owned(),
            _ => format!("lab {name}"),
        };
        Some((called, lab::Offer::of(&parts).ok()?))
    };
    lab::names(&cache).unwrap_or_default().into_iter().filter_map(offer).collect()
}

/// Every filesystem, and what stands below them.
fn filesystems() -> (Entries, String) {
    let labs = lab_offers();
    let in_kernel = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let mut entries = Entries::new();
    for filesystem in FILESYSTEMS {
        let description = filesystem.describe();
        let kernel = in_kernel
            .lines()
            .any(|line| line.split_whitespace().last() == Some(description.kernel_type));
        let missing: Vec<_> =
            description.programs.iter().filter(|name| find_program(name).is_none()).collect();
        let tools = match (missing.is_empty(), description.package) {
            (true, _) => "tools present".to_owned(),
            (false, Some(package)) => format!("tools missing: install {package}"),
            (false, None) => "tools missing".to_owned(),
        };
        let kernel = if kernel { "in this kernel" } else { "not in this kernel, or not loaded" };
        let mut text = format!("{}\n    {}\n", description.name, description.summary);
        text += &format!("    here: {kernel}; {tools}\n");
        if labs.is_empty() {
            text += "    lab: not built: `fstrial lab build`\n";
        }
        for (called, lab) in &labs {
            text += &match lab.refusal(called, description) {
                None => format!("    {called}: yes\n"),
                Some(refusal) => format!("    {refusal}\n"),
            };
        }
        for option in description.options {
            text += &described(&format!("{}={}", option.name, option.values), option.help);
        }
        for preset in description.presets {
            text += &described(&format!("@{}", preset.name), preset.help);
        }
        text.push('\n');
        entries.push((description.name.to_owned(), text));
    }
    let mut end = "for every filesystem on disks, in addition to its own options\n".to_owned();
    for option in QUEUE_OPTIONS {
        end += &described(&format!("{}={}", option.name, option.values), option.help);
    }
    (entries, end + MANUALS)
}

const MANUALS: &str = "\nmount options and flags of mkfs are also understood as their manual pages \
write them: ext4:nobarrier,\nbtrfs:nodatacow, 'ext4:-O ^has_journal', xfs:logbsize=256k\n";

/// Capability by capability, who can and who cannot.
pub(crate) fn capabilities(tried: &Tried) -> String {
    let entries = capability_entries(tried).into_iter().map(|(_, text)| text);
    entries.collect::<String>() + &tried_with(tried)
}

fn capability_entries(tried: &Tried) -> Entries {
    let mut entries = Entries::new();
    for capability in CAPABILITIES {
        let mut text = described(capability.name, capability.attempt);
        let (mut can, mut cannot, mut untried) = (Vec::new(), Vec::new(), Vec::new());
        for row in &tried.filesystems {
            match row.found.get(capability.name) {
                Some(Finding::Yes(detail)) if detail.is_empty() => can.push(row.name.clone()),
                Some(Finding::Yes(detail)) => can.push(format!("{} ({detail})", row.name)),
                Some(Finding::No(why)) if !why.is_empty() => {
                    cannot.push(format!("{} ({why})", row.name));
                }
                Some(finding) => cannot.push(format!("{} ({finding})", row.name)),
                None => untried.push(row.name.clone()),
            }
        }
        for (word, names) in [("yes", can), ("no", cannot), ("not tried", untried)] {
            if !names.is_empty() {
                text += &described(&format!("    {word}"), &names.join(", "));
            }
        }
        text.push('\n');
        entries.push((capability.name.to_owned(), text));
    }
    entries
}

fn tried_with(tried: &Tried) -> String {
    let mut kernels: Vec<_> = tried.filesystems.iter().map(|row| row.kernel.as_str()).collect();
    kernels.dedup();
    format!("tried with Linux {} in the lab\n", kernels.join(", "))
}

/// What one filesystem can do.
fn capabilities_of(row: &TriedFilesystem) -> String {
    let found = CAPABILITIES.iter().map(|capability| {
        let found = row.found.get(capability.name);
        let found = found.map_or_else(|| "not tried".to_owned(), Finding::to_string);
        described(capability.name, &found)
    });
    found.collect::<String>() + &format!("\ntried with Linux {} in the lab\n", row.kernel)
}

fn layouts() -> Entries {
    let described = |name: &str, summary| (name.to_owned(), described(name, summary));
    LAYOUTS
        .iter()
        .map(|layout| described(layout.describe().name, layout.describe().summary))
        .collect()
}

fn disks() -> Result<Entries, Failure> {
    let mut entries = Entries::new();
    for shipped in disk::DISKS {
        let description =
            disk::DiskDescription::find(shipped.name).map_err(Failure::from(Exit::Input))?;
        let title = format!("{} ({})", description.title, description.variant);
        let text = described(&description.name, &title);
        entries.push((description.name, text));
    }
    Ok(entries)
}

fn profiles() -> Result<Entries, Failure> {
    let mut entries = Entries::new();
    for (name, _) in lab::PROFILES {
        let profile = lab::MachineProfile::find(name).map_err(Failure::from(Exit::Input))?;
        let available = profile.available.map(|left| format!(" with {left} available"));
        let facts = format!(
            "{}; {} of memory{}, disk {}",
            profile.summary.trim_end_matches('.'),
            profile.ram,
            available.unwrap_or_default(),
            profile.disk.model
        );
        entries.push(((*name).to_owned(), described(name, &facts)));
    }
    Ok(entries)
}

fn runs(arguments: &List) -> Ended {
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    if !path.exists() {
        print(&format!("no runs: {} does not exist yet\n", path.display()))?;
        return Ok(Exit::Done);
    }
    let store = crate::files::open_store(&path)?;
    let runs = store.each_run().map_err(Failure::from(Exit::Store))?;
    let mut entries = Entries::new();
    let mut damaged = Vec::new();
    for run in runs {
        let run = match run {
            Ok(run) => run,
            Err(StoreError::Damaged { damage, .. }) => {
                damaged.push(damage);
                continue;
            }
            Err(error) => return Err(Failure::from(Exit::Store)(error)),
        };
        let state = match run.state {
            RunState::Complete => "complete",
            RunState::Open => "open",
        };
        let created = run.created.get(..16).unwrap_or(&run.created).replace('T', " ");
        // Another version of fstrial may have stored its request in another form.
        let asked = store.request(&run.id).map_err(Failure::from(Exit::Store))?;
        let asked = serde_json::from_str(&asked).ok().and_then(compared);
        let asked = asked.unwrap_or_else(|| run.testbed.clone());
        let mut text = format!("{:<6} {created}  {state:<9} {asked}\n", run.id);
        let repeats = report::counted(run.repeats as usize, "repeat");
        text += &format!("       {repeats}, scale {}, seed {}", run.scale, run.seed);
        let planned = store.trial_count(&run.id).map_err(Failure::from(Exit::Store))?;
        let done = store.done_count(&run.id).map_err(Failure::from(Exit::Store))?;
        text += &match done < planned {
            true => format!("; {done} of {} ended well\n", report::counted(planned, "trial")),
            false => "\n".to_owned(),
        };
        entries.push((run.id.clone(), text));
    }
    // As `report` takes them: r7, 7 or latest.
    let named = match arguments.name.as_deref() {
        Some(name) => Some(store.run_header(name).map_err(Failure::from(Exit::Store))?.id),
        None => None,
    };
    print(&one_or_all(entries, named.as_deref())?)?;
    if damaged.is_empty() {
        return Ok(Exit::Done);
    }
    let lost: Vec<String> = damaged.iter().map(|damage| format!("\n  {damage}")).collect();
    let message = format!("store {} is damaged:{}", path.display(), lost.concat());
    Err(Failure::new(Exit::Store, message))
}

/// What a run compared, and where.
fn compared(request: Request) -> Option<String> {
    let contenders: Vec<_> = request.contenders.iter().map(|it| it.name.as_str()).collect();
    let workloads: Vec<_> = request.workloads.iter().map(|it| it.name.as_str()).collect();
    let place = testbeds::read(&request.testbed).ok()?.listed();
    Some(format!("{} by {} on {place}", contenders.join(","), workloads.join("+")))
}

/// A name and its help, wrapped below it to stay within 100 columns.
fn described(head: &str, help: &str) -> String {
    const INDENT: usize = 34;
    const WIDTH: usize = 98;
    let mut lines = vec![format!("    {head:<28} ")];
    if lines[0].chars().count() > INDENT {
        lines.push(" ".repeat(INDENT));
    }
    for word in help.split_whitespace() {
        if let Some(last) = lines.last_mut() {
            if last.chars().count() + word.chars().count() > WIDTH {
                lines.push(" ".repeat(INDENT));
            } else if !last.ends_with(' ') {
                last.push(' ');
            }
        }
        if let Some(last) = lines.last_mut() {
            last.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}
