//! `fstrial doctor`: what works on this machine, and what to install for the rest.

use std::path::Path;

use stack::FILESYSTEMS;
use stack::filesystems::Description;
use store::Store;

use crate::commands::list::lab_offers;
use crate::exit::{Ended, Exit};
use crate::files::{cache_directory, find_program};
use crate::output::print;
use crate::testbeds::{self, Finding, TESTBEDS};

/// Reports what works; changes nothing.
pub(crate) fn doctor() -> Ended {
    let mut lines: Vec<String> = Vec::new();
    let mut findings: Vec<_> = TESTBEDS.iter().flat_map(|kind| kind.findings()).collect();
    findings.push(program(
        "blkid",
        "util-linux",
        "recognises what is on a device; without it no device is touched",
    ));
    findings.push(program(
        "npm",
        "npm",
        "fetches the SpamAssassin mails; synthetic mail needs nothing",
    ));
    findings.push(writable("results", Store::default_path().parent().unwrap_or(Path::new("/"))));
    findings.push(writable("cache", &cache_directory()));
    lines.push(format!("fstrial {}\n", env!("CARGO_PKG_VERSION")));
    for finding in &findings {
        lines.push(format!("{:<18} {:<9} {}", finding.what, word(finding.works), finding.detail));
    }
    lines.extend(filesystems());
    let packages = missing_packages();
    if !packages.is_empty() {
        lines.push(format!("\nto install on Debian: apt-get install {}", packages.join(" ")));
    }
    print(&(lines.join("\n") + "\n"))?;
    Ok(Exit::Done)
}

fn word(works: bool) -> &'static str {
    if works { "works" } else { "missing" }
}

/// A line for each, with a column for this machine and one for each lab.
fn filesystems() -> Vec<String> {
    let labs = lab_offers();
    let mut head = format!("\n{:<18} {:<9}", "", "here");
    for (called, _) in &labs {
        head += &format!(" {called:<9}");
    }
    let mut lines = vec![head.trim_end().to_owned()];
    for filesystem in FILESYSTEMS {
        let description = filesystem.describe();
        let here = not_here(description);
        let mut line = format!("{:<18} {:<9}", description.name, word(here.is_none()));
        let mut reasons: Vec<_> =
            here.map(|reason| format!("here: {reason}")).into_iter().collect();
        for (called, lab) in &labs {
            let refusal = lab.refusal(called, description);
            line += &format!(" {:<width$}", word(refusal.is_none()), width = called.len().max(9));
            reasons.extend(refusal.map(|refusal| format!("{called}: {}", refusal.rule)));
        }
        let detail = match reasons.is_empty() {
            true => description.summary.to_owned(),
            false => reasons.join("; "),
        };
        lines.push(format!("{line} {detail}"));
    }
    lines.push(format!(
        "\nhere: with --testbed {}, by what this machine has; lab: with --testbed\n\
         {}, which brings its own kernel and programs and needs nothing of this machine's",
        testbeds::names(|known| !known.in_guest),
        testbeds::names(|known| known.in_guest),
    ));
    lines
}

/// Why this machine cannot run the filesystem, if it cannot.
fn not_here(description: &Description) -> Option<String> {
    let missing: Vec<_> = description
        .programs
        .iter()
        .copied()
        .filter(|program| find_program(program).is_none())
        .collect();
    let mut reasons = Vec::new();
    if !testbed::kernel_has(description.kernel_type, description.module) {
        reasons.push("this kernel has no such filesystem".to_owned());
    }
    if !missing.is_empty() {
        reasons.push(format!("not installed: {}", missing.join(", ")));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn program(name: &str, package: &str, purpose: &str) -> Finding {
    match find_program(name) {
        Some(path) => Finding::new(name, true, format!("{} ({purpose})", path.display())),
        None => Finding::new(name, false, format!("install {package}: {purpose}")),
    }
}

fn writable(what: &str, directory: &Path) -> Finding {
    let existing = directory.ancestors().find(|ancestor| ancestor.exists());
    let works =
        existing.is_some_and(|path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok());
    let detail = match works {
        true => directory.display().to_string(),
        false => format!("{} cannot be written", directory.display()),
    };
    Finding::new(what, works, detail)
}

fn missing_packages() -> Vec<&'static str> {
    let mut packages: Vec<&'static str> = FILESYSTEMS
        .iter()
        .map(|filesystem| filesystem.describe())
        .filter(|description| description.programs.iter().any(|name| find_program(name).is_none()))
        // No FUSE implementation is suggested: it cannot be installed beside the original.
        .filter(|description| !description.in_user_space())
        .filter_map(|description| description.package)
        // What the lab builds as an optional part takes more than installing a package.
        .filter(|package| {
            !lab::OPTIONAL_PARTS.iter().any(|part| part.describe().packages.contains(package))
        })
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}
