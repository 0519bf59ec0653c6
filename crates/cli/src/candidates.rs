//! Shell completion: names that this fstrial knows, its labs and the runs in its store, looked up
//! when the completion key is pressed.

use std::ffi::OsStr;

use clap::Command;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use store::Store;
use workload::catalogue;

/// When set, fstrial prints completions and does not run the command.
pub(crate) const VARIABLE: &str = "FSTRIAL_COMPLETE";

/// The script with which a shell asks for completions.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn script(shell: Shell) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let name = shell.to_string();
    let shells = Shells::builtins();
    let known = shells.completer(&name).ok_or_else(|| std::io::Error::other(name.clone()))?;
    known.write_registration(VARIABLE, "fstrial", "fstrial", "fstrial", &mut script)?;
    if shell == Shell::Bash {
        // Otherwise bash splits maildir-write@dovecot into three words.
        script.extend_from_slice(b"COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}\n");
    }
    Ok(script)
}

/// The command with completions for each value that names something. They are chosen by the value
/// name that the help shows, so that no option can be forgotten.
pub(crate) fn known(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let called = arg.get_value_names().and_then(|names| names.first().cloned());
        match (called.as_deref().unwrap_or_default(), arg.get_id().as_str()) {
            ("WORKLOAD", _) | ("NAME", "name") => arg.add(workloads()),
            ("LIST" | "FS", _) => arg.add(filesystems()),
            ("NAME", "profile") => arg.add(profiles()),
            ("NAME", "disk") | ("MODEL", _) => arg.add(disks()),
            ("STUDY", _) => arg.add(studies()),
            ("NAME", "lab") | ("LAB", _) => arg.add(labs()),
            ("RUN", _) => arg.add(runs()),
            ("USE", _) => arg.add(uses()),
            ("MACHINE", _) => arg.add(machines()),
            _ => arg,
        }
    });
    command.mut_subcommands(known)
}

/// Workloads and their presets.
fn workloads() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let mut found = Vec::new();
        for workload in catalogue() {
            let description = workload.describe();
            found.push(candidate(description.name, description.summary));
            for preset in description.presets {
                let name = format!("{}@{}", description.name, preset.name);
                found.push(candidate(&name, preset.question));
            }
        }
        found
    })
}

/// Filesystems, for the last entry of a comma-separated list that is being typed.
fn filesystems() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let (before, begun) = match typed.rfind(',') {
            Some(comma) => typed.split_at(comma + 1),
            None => ("", &*typed),
        };
        let described = stack::FILESYSTEMS.iter().map(|filesystem| filesystem.describe());
        let fitting = described.filter(|known| known.name.starts_with(begun));
        fitting.map(|known| candidate(&format!("{before}{}", known.name), known.summary)).collect()
    })
}

/// Machines of the lab, beside files.
fn profiles() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let summary = |name: &str| lab::MachineProfile::find(name).map(|found| found.summary);
        let known = lab::PROFILES.iter().map(|(name, _)| *name);
        fitting(typed, known.map(|name| (name, summary(name).unwrap_or_default())))
    })
}

/// Simulated disks, beside files.
fn disks() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let title = |name: &str| disk::DiskDescription::find(name).map(|found| found.title);
        let known = disk::DISKS.iter().map(|shipped| shipped.name);
        fitting(typed, known.map(|name| (name, title(name).unwrap_or_default())))
    })
}

/// Studies that ship with fstrial, beside folders.
fn studies() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let title = |name: &str| crate::commands::study::read(name).map(|study| study.title);
        let known = study::STUDIES.iter().map(|shipped| shipped.name);
        fitting(typed, known.map(|name| (name, title(name).unwrap_or_default())))
    })
}

/// What the guide answers.
fn uses() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let uses = guide::Guide::shipped().map(|guide| guide.uses).unwrap_or_default();
        uses.iter().map(|used| candidate(&used.id, &used.title)).collect()
    })
}

/// The guide's machines.
fn machines() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let machines = guide::Guide::shipped().map(|guide| guide.machines).unwrap_or_default();
        machines.iter().map(|machine| candidate(&machine.id, &machine.title)).collect()
    })
}

/// Labs that are built.
fn labs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = lab::cache_directory().and_then(|cache| lab::names(&cache));
        names.unwrap_or_default().iter().map(|name| candidate(name, "")).collect()
    })
}

/// Runs in the user's store, the newest first.
fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let path = Store::default_path();
        let store = path.exists().then(|| crate::files::open_store(&path).ok()).flatten();
        let runs = store.and_then(|store| store.each_run().ok()).unwrap_or_default();
        let latest = std::iter::once(candidate("latest", "the newest"));
        let runs = runs.iter().rev().flatten();
        let runs = runs.map(|run| candidate(&run.id, &run.created));
        latest.chain(runs).collect()
    })
}

/// Names that begin with what is typed, then paths that do.
fn fitting<'n>(
    typed: &OsStr,
    known: impl Iterator<Item = (&'n str, String)>,
) -> Vec<CompletionCandidate> {
    use clap_complete::engine::{PathCompleter, ValueCompleter};
    let begun = typed.to_string_lossy();
    let known = known.filter(|(name, _)| name.starts_with(&*begun));
    let mut found: Vec<_> = known.map(|(name, help)| candidate(name, &help)).collect();
    if !typed.is_empty() {
        found.extend(PathCompleter::any().complete(typed));
    }
    found
}

fn candidate(name: &str, help: &str) -> CompletionCandidate {
    let help = (!help.is_empty()).then(|| text::line(help).into());
    CompletionCandidate::new(name).help(help)
}
