//! `fstrial doctor`: what works on this machine, and what to install for the rest.

use std::path::Path;

use stack::FILESYSTEMS;
use stack::filesystems::Description;
use store::Store;

use crate::commands::list::lab_offers;
use crate::exit::{Ended, Exit};
use crate::files::{cache_directory, find_program};
use crate::output::print;

/// One line of the doctor's table.
struct Finding {
    what: String,
    works: bool,
    detail: String,
}

impl Finding {
    fn new(what: impl Into<String>, works: bool, detail: impl Into<String>) -> Finding {
        Finding { what: what.into(), works, detail: detail.into() }
    }
}

/// Looks and says; changes nothing.
pub(crate) fn doctor() -> Ended {
    let mut lines: Vec<String> = Vec::new();
    let root = rustix::process::geteuid().is_root();
    let mut findings = vec![
        Finding::new("testbed dir", true, "any directory you can write to"),
        testbed_device(root),
    ];
    findings.extend(testbed_labs());
    findings.push(program(
        "blkid",
        "util-linux",
        "recognises what a device carries; without it no device is touched",
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

fn testbed_device(root: bool) -> Finding {
    let loops = Path::new("/dev/loop-control").exists();
    let detail = match (root, loops) {
        (true, true) => "root, loop devices".to_owned(),
        (false, _) => "needs root: mkfs and mount; run it with sudo".to_owned(),
        (true, false) => {
            "root, but no /dev/loop-control: name a block device with --device".to_owned()
        }
    };
    Finding::new("testbed device", root && loops, detail)
}

/// Each lab that there is, or how one is made.
fn testbed_labs() -> Vec<Finding> {
    let apt = ["apt-get", "dpkg"].iter().all(|program| find_program(program).is_some());
    let named = lab::cache_directory().and_then(|cache| Ok((lab::names(&cache)?, cache)));
    let (names, cache) = match named {
        Ok((names, cache)) if !names.is_empty() => (names, cache),
        Ok(_) if apt => {
            let next = "not built yet; the first run or `lab build` does it";
            return vec![Finding::new("testbed lab", true, next)];
        }
        Ok(_) => {
            let next = "no apt-get here: give `lab build` --kernel, --modules and --tools";
            return vec![Finding::new("testbed lab", false, next)];
        }
        Err(error) => return vec![Finding::new("testbed lab", false, error.to_string())],
    };
    let finding = |name: String| {
        let what = match name.as_str() {
            lab::DEFAULT_LAB => "testbed lab".to_owned(),
            _ => format!("testbed lab {name}"),
        };
        let found = lab::find(&cache, &name).and_then(|lab| lab.parts().map(|_| lab));
        match found {
            Ok(lab) => Finding::new(what, true, format!("built, Linux {}", lab.kernel_release())),
            Err(error) => Finding::new(what, false, error.to_string()),
        }
    };
    names.into_iter().map(finding).collect()
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
    lines.push(
        "\nhere: with --testbed dir or device, by what this machine has; lab: with --testbed"
            .to_owned(),
    );
    lines.push(
        "lab, which brings its own kernel and programs and needs nothing of this machine's"
            .to_owned(),
    );
    lines
}

/// Why this machine cannot run it, if so.
fn not_here(description: &Description) -> Option<String> {
    let in_kernel = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let registered = in_kernel
        .lines()
        .any(|line| line.split_whitespace().last() == Some(description.kernel_type));
    let missing: Vec<_> = description
        .programs
        .iter()
        .copied()
        .filter(|program| find_program(program).is_none())
        .collect();
    let mut reasons = Vec::new();
    if !registered && !module_exists(description.module) {
        reasons.push("this kernel has no such filesystem".to_owned());
    }
    if !missing.is_empty() {
        reasons.push(format!("not installed: {}", missing.join(", ")));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Whether the running kernel could load this module.
fn module_exists(module: &str) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let listed = |file: &str| {
        std::fs::read_to_string(format!("/lib/modules/{release}/{file}"))
            .is_ok_and(|text| text.contains(&format!("/{module}.ko")))
    };
    listed("modules.dep") || listed("modules.builtin")
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
        // A stand-in is for those who ask for it: it cannot be installed beside the original.
        .filter(|description| !description.in_user_space())
        .filter_map(|description| description.package)
        // Those take more than an installation.
        .filter(|package| {
            !lab::OPTIONAL_PARTS.iter().any(|part| part.describe().packages.contains(package))
        })
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}
