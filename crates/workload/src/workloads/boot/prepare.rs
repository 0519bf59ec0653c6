//! Making the system that is booted, once, as root of a guest: the packages' own scripts
//! configure it, it is booted, and what it opened becomes its preload lists.

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use measure::now;
use rustix::mount::{MountFlags, UnmountFlags};
use units::Nanos;

use super::install::sweep;
use super::machine::Machine;
use super::opened::Opened;
use super::preload::{LISTS, lines};
use super::unpack::{pack, unpack};
use super::variant::{DESKTOP_LIST, LOGIN_LIST, Variant};
use super::watch::{System, What};

/// The script in the tree that configures it; it is not kept.
const CONFIGURE: &str = "configure";
/// Where the script's output goes, outside the tree.
const SAID: &str = "/run/configure.log";
/// A boot that takes longer has failed.
const LIMIT: Nanos = Nanos::from_secs(3600);

/// Unpacks `archive` at `root`, an empty mount of this guest, configures and boots it, and
/// packs the result into `to`. `tell` is called with each step.
///
/// # Errors
/// With the step that failed and the last lines of its output.
pub fn prepare_system(
    archive: &Path,
    root: &Path,
    to: &mut dyn Write,
    tell: &mut dyn FnMut(&str),
) -> Result<(), String> {
    tell("unpacking");
    unpack(archive, root, &mut |_, _| Ok(()))
        .map_err(|error| format!("{error}: {}", error.source))?;
    tell("configuring the packages");
    configure(root)?;
    tell("booting it");
    record(root, Variant::recorded()).map_err(|error| format!("booting it: {error}"))?;
    tell("packing");
    pack(root, to).map_err(|error| format!("packing: {error}"))
}

fn configure(root: &Path) -> Result<(), String> {
    let mount = |what: &str, at: &str| {
        let place = root.join(at);
        fs::create_dir_all(&place)?;
        Ok(rustix::mount::mount(what, &place, what, MountFlags::empty(), None)?)
    };
    let failed = |error: io::Error| format!("before configuring: {error}");
    for (what, at) in [("proc", "proc"), ("devtmpfs", "dev")] {
        mount(what, at).map_err(failed)?;
    }
    let said = fs::File::create(SAID).map_err(failed)?;
    let again = said.try_clone().map_err(failed)?;
    let mut command = Command::new("/bin/sh");
    command
        .arg(Path::new("/").join(CONFIGURE))
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(said)
        .stderr(again);
    let place = root.to_owned();
    // SAFETY: between fork and exec the closure only makes system calls.
    unsafe {
        command.pre_exec(move || {
            rustix::process::chroot(&place)?;
            std::env::set_current_dir("/")
        });
    }
    let status = command.status().map_err(failed)?;
    if !status.success() {
        return Err(format!("configuring ended with {status}: {}", last_words(SAID)));
    }
    for at in ["dev", "proc"] {
        rustix::mount::unmount(root.join(at), UnmountFlags::DETACH)
            .map_err(|error| format!("after configuring: {error}"))?;
    }
    fs::remove_file(root.join(CONFIGURE)).map_err(|error| format!("after configuring: {error}"))
}

/// Boots the tree and writes the lists of what it opened.
fn record(root: &Path, variant: Variant) -> io::Result<()> {
    variant.apply(root)?;
    let programs = variant.programs();
    let mut opened = Opened::listen(root)?;
    let mut until_login = Ok(Vec::new());
    let machine = Machine::start(root)?;
    let limit = now() + LIMIT;
    let seen = System::of(&machine).watch(&programs, limit, &mut |seen, what| match what {
        What::Login => until_login = opened.take(),
        What::Window(class) => {
            if programs.contains(&class.as_str()) {
                seen.windows.entry(class).or_insert(Nanos::ZERO);
            }
        }
    });
    machine.end();
    seen.map_err(|error| {
        let log = last_words(&root.join("var/log/syslog").display().to_string());
        io::Error::new(error.kind(), format!("{error}; its log: {log}"))
    })?;
    let until_login = until_login?;
    let desktop: Vec<_> =
        opened.take()?.into_iter().filter(|path| !until_login.contains(path)).collect();
    let lists = root.join(LISTS);
    fs::create_dir_all(&lists)?;
    for (list, paths) in [(LOGIN_LIST, &until_login), (DESKTOP_LIST, &desktop)] {
        fs::write(lists.join(list), lines(paths.iter().map(Vec::as_slice)))?;
    }
    // What a boot leaves must not be part of the tree that later boots begin with.
    sweep(root)
}

/// The last lines of a log.
fn last_words(log: &str) -> String {
    const LINES: usize = 12;
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join(" / ")
}
