//! The variants of a boot: which services and programs it starts and what it reads ahead.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{Started, preload};
use crate::Parameters;

/// A program of the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    /// The class of its window, in lower case; `None` where it opens none.
    pub(super) class: Option<&'static str>,
    /// How it is started.
    command: &'static str,
}

const fn program(class: Option<&'static str>, command: &'static str) -> Program {
    Program { class, command }
}

// A window manager is ready when it announces itself by this name.
const WINDOW_MANAGER: Program = program(Some("jwm"), "jwm");
const CLIPBOARD: Program = program(None, "parcellite");
const TERMINAL: Program = program(Some("xterm"), "xterm");
const EDITOR: Program = program(Some("l3afpad"), "l3afpad /home/user/notes.txt");
const BROWSER: Program = program(Some("dillo"), "dillo /home/user/page.html");

/// Where the session finds the commands to start, one a line: the window manager.
const COMMANDS: &str = "home/user/.desktop";
/// Where the window manager finds the programs that it starts once it manages windows. If they
/// were started beside it instead, a fast program's window could be lost: jwm (2.4.3) discards
/// requests that arrive between its taking control and the end of its start.
const STARTED_BY_MANAGER: &str = "home/user/.jwmrc";
/// The system-wide configuration, which the user's own replaces.
const OF_THE_SYSTEM: &str = "/etc/jwm/system.jwmrc";
/// Units of the tree.
const UNITS: &str = "etc/systemd/system";
/// Services that are left out of a trimmed system, given as the links that enable them.
const TRIMMED: [&str; 4] = [
    "multi-user.target.wants/ssh.service",
    "multi-user.target.wants/avahi-daemon.service",
    "sockets.target.wants/avahi-daemon.socket",
    "sshd.service",
];
/// Where the links of omitted services are kept for a variant that has them.
const LEFT_OUT: &str = "var/cache/preload/left-out";
/// The list of files opened until login, and the service that reads it ahead.
pub(super) const LOGIN_LIST: &str = "login";
/// The list of files opened from then on.
pub(super) const DESKTOP_LIST: &str = "desktop";

/// Each list with the service that reads it ahead.
const PRELOADERS: [(&str, &str); 2] =
    [(LOGIN_LIST, "preload-login.service"), (DESKTOP_LIST, "preload-desktop.service")];

/// What one boot starts and reads ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Variant {
    trimmed: bool,
    login_list: bool,
    desktop_list: bool,
}

impl Variant {
    /// As the parameters say.
    pub(super) fn of(parameters: &Parameters) -> Variant {
        let (trimmed, login_list, desktop_list) = match parameters.get(&super::VARIANT) {
            Started::Default => (false, true, false),
            Started::Trimmed => (true, true, false),
            Started::ExtraPreload => (true, true, true),
            Started::NoPreload => (true, false, false),
        };
        Variant { trimmed, login_list, desktop_list }
    }

    /// A boot from which lists are made: everything is started and nothing read ahead.
    pub(super) fn recorded() -> Variant {
        Variant { trimmed: false, login_list: false, desktop_list: false }
    }

    /// Whether it reads a list ahead.
    fn reads(self, list: &str) -> bool {
        if list == LOGIN_LIST { self.login_list } else { self.desktop_list }
    }

    /// The programs that the window manager starts, all at once.
    fn started(self) -> Vec<Program> {
        let mut programs = if self.trimmed { Vec::new() } else { vec![CLIPBOARD] };
        programs.extend([TERMINAL, EDITOR, BROWSER]);
        programs
    }

    /// The classes of the windows it is ready with.
    pub(super) fn programs(self) -> Vec<&'static str> {
        let started = self.started();
        std::iter::once(&WINDOW_MANAGER)
            .chain(&started)
            .filter_map(|program| program.class)
            .collect()
    }

    /// The window manager's configuration.
    fn startup(self) -> String {
        let started = self.started();
        let commands: String = started
            .iter()
            .map(|program| format!("<StartupCommand>{}</StartupCommand>\n", program.command))
            .collect();
        format!("<JWM>\n<Include>{OF_THE_SYSTEM}</Include>\n{commands}</JWM>\n")
    }

    /// Arranges the tree at `root`, whatever variant it was before. Returns how many files its
    /// preload lists have.
    ///
    /// # Errors
    /// When the tree is not one of ours or cannot be changed.
    pub(super) fn apply(self, root: &Path) -> io::Result<u64> {
        fs::write(root.join(COMMANDS), format!("{}\n", WINDOW_MANAGER.command))?;
        fs::write(root.join(STARTED_BY_MANAGER), self.startup())?;
        let units = root.join(UNITS);
        let left_out = root.join(LEFT_OUT);
        fs::create_dir_all(&left_out)?;
        for link in TRIMMED {
            let (enabled, kept) = (units.join(link), left_out.join(link.replace('/', "+")));
            let (from, to) = if self.trimmed { (enabled, kept) } else { (kept, enabled) };
            unless_absent(fs::rename(from, to))?;
        }
        let wants = units.join("sysinit.target.wants");
        fs::create_dir_all(&wants)?;
        let mut files = 0;
        for (list, unit) in PRELOADERS {
            unless_absent(fs::remove_file(wants.join(unit)))?;
            if !self.reads(list) {
                continue;
            }
            let order = root.join(preload::LISTS).join("wanted").join(unit);
            files += preload::sort_by_place(root, list, &order)?;
            symlink(Path::new("..").join(unit), wants.join(unit))?;
        }
        Ok(files)
    }
}

/// A missing entry needs no change.
fn unless_absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::DESCRIPTION;
    use super::*;

    fn variant(name: &str) -> Variant {
        let given = BTreeMap::from([("variant".to_owned(), name.to_owned())]);
        Variant::of(&Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap())
    }

    #[test]
    fn each_variant_changes_what_the_page_of_2005_changed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        fs::create_dir_all(path.join("home/user")).unwrap();
        fs::create_dir_all(path.join("var/cache/preload")).unwrap();
        fs::create_dir_all(path.join(UNITS).join("multi-user.target.wants")).unwrap();
        symlink("x", path.join(UNITS).join(TRIMMED[0])).unwrap();
        for list in [LOGIN_LIST, DESKTOP_LIST] {
            fs::write(path.join("var/cache/preload").join(list), "/home\n").unwrap();
        }
        let inside = |unit: &str| fs::read_dir(path.join(UNITS).join(unit)).unwrap().count();
        let arranged = |name: &str| {
            let files = variant(name).apply(path).unwrap();
            assert_eq!(fs::read_to_string(path.join(COMMANDS)).unwrap(), "jwm\n");
            let started = fs::read_to_string(path.join(STARTED_BY_MANAGER)).unwrap();
            let started = started.matches("<StartupCommand>").count();
            let (services, preloaders) =
                (inside("multi-user.target.wants"), inside("sysinit.target.wants"));
            (files, preloaders, services, started)
        };
        // One tree can become each of them, in any order.
        for name in ["default", "trimmed", "extra-preload", "no-preload", "default", "no-preload"] {
            let expected = match name {
                "default" => (1, 1, 1, 4),
                "trimmed" => (1, 1, 0, 3),
                "extra-preload" => (2, 2, 0, 3),
                _ => (0, 0, 0, 3),
            };
            assert_eq!(arranged(name), expected, "{name}");
        }
    }

    #[test]
    fn every_window_that_is_waited_for_is_a_started_programs() {
        assert_eq!(variant("default").programs(), ["jwm", "xterm", "l3afpad", "dillo"]);
    }
}
