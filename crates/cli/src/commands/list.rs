//! `fstrial list`: what exists, from the tables themselves.

use runner::Request;
use stack::filesystems::QUEUE_OPTIONS;
use stack::{FILESYSTEMS, LAYOUTS};
use store::{RunState, Store, StoreError};
use trial::capabilities::{CAPABILITIES, Finding, Tried};
use workload::{Kind, catalogue};

use crate::arguments::{List, Listed};
use crate::exit::{Ended, Exit, Failure};
use crate::files::find_program;
use crate::output::print;
use crate::testbeds;

/// Prints one catalogue.
pub(crate) fn list(arguments: &List) -> Ended {
    if let Some(name) = arguments.name.as_deref().filter(|_| arguments.what != Listed::Workloads) {
        let message = format!("`{name}`: only `list workload` takes a name");
        return Err(Failure::new(Exit::Usage, message));
    }
    let text = match arguments.what {
        Listed::Workloads => match &arguments.name {
            Some(name) => workload(name)?,
            None => workloads(),
        },
        Listed::Filesystems => filesystems(),
        Listed::Capabilities => {
            let tried = Tried::shipped().map_err(|error| Failure::new(Exit::Output, error))?;
            capabilities(&tried)
        }
        Listed::Layouts => layouts(),
        Listed::Disks => disks()?,
        Listed::Profiles => profiles()?,
        Listed::Studies => crate::commands::study::shipped()?,
        Listed::Runs => return runs(arguments),
    };
    print(&text)?;
    Ok(Exit::Done)
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

fn filesystems() -> String {
    let labs = lab_offers();
    let in_kernel = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let mut text = String::new();
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
        text += &format!("{}\n    {}\n", description.name, description.summary);
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
    }
    text += "for every filesystem on disks, in addition to its own options\n";
    for option in QUEUE_OPTIONS {
        text += &described(&format!("{}={}", option.name, option.values), option.help);
    }
    text
}

/// Capability by capability, who can and who cannot.
pub(crate) fn capabilities(tried: &Tried) -> String {
    let mut text = String::new();
    for capability in CAPABILITIES {
        text += &described(capability.name, capability.attempt);
        let (mut can, mut cannot, mut untried) = (Vec::new(), Vec::new(), Vec::new());
        for row in &tried.filesystems {
            match row.found.get(capability.name) {
                Some(Finding::Yes(detail)) if detail.is_empty() => can.push(row.name.clone()),
                Some(Finding::Yes(detail)) => can.push(format!("{} ({detail})", row.name)),
                Some(finding) => {
                    let reason = finding.to_string();
                    let reason = reason.strip_prefix("no: ").unwrap_or(&reason);
                    cannot.push(format!("{} ({reason})", row.name));
                }
                None => untried.push(row.name.clone()),
            }
        }
        for (word, names) in [("yes", can), ("no", cannot), ("not tried", untried)] {
            if !names.is_empty() {
                text += &described(&format!("    {word}"), &names.join(", "));
            }
        }
        text.push('\n');
    }
    let mut kernels: Vec<_> = tried.filesystems.iter().map(|row| row.kernel.as_str()).collect();
    kernels.dedup();
    text + &format!("tried with Linux {} in the lab\n", kernels.join(", "))
}

fn layouts() -> String {
    LAYOUTS
        .iter()
        .map(|layout| described(layout.describe().name, layout.describe().summary))
        .collect()
}

fn disks() -> Result<String, Failure> {
    let mut text = String::new();
    for shipped in disk::DISKS {
        let description =
            disk::DiskDescription::find(shipped.name).map_err(Failure::from(Exit::Input))?;
        let title = format!("{} ({})", description.title, description.variant);
        text += &described(&description.name, &title);
    }
    Ok(text)
}

fn profiles() -> Result<String, Failure> {
    let mut text = String::new();
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
        text += &described(name, &facts);
    }
    Ok(text)
}

fn runs(arguments: &List) -> Ended {
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    if !path.exists() {
        print(&format!("no runs: {} does not exist yet\n", path.display()))?;
        return Ok(Exit::Done);
    }
    let store = crate::files::open_store(&path)?;
    let runs = store.each_run().map_err(Failure::from(Exit::Store))?;
    let mut text = String::new();
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
        text += &format!("{:<6} {created}  {state:<9} {asked}\n", run.id);
        text +=
            &format!("       {} repeats, scale {}, seed {}\n", run.repeats, run.scale, run.seed);
    }
    print(&text)?;
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
