//! A Debian system to boot. Its packages are unpacked into one tree without root. A guest of the
//! lab then configures them with their own scripts, boots the system once and packs it again.

mod tree;

use std::path::PathBuf;

use units::Bytes;

use self::tree::assemble;
use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::cache::key;
use crate::error::LabError;

pub(super) struct Boot;

/// The archive of the system, in the part's directory.
pub(crate) const SYSTEM: &str = "system.tar";

static DESCRIPTION: PartDescription = PartDescription {
    name: "boot",
    summary: "a Debian system to boot, configured in a guest; some minutes",
    packages: &[],
    programs: &[],
    memory: Bytes::ZERO,
    archives: Archives::OWN,
};

/// The packages of the system; all they depend on is added.
const PACKAGES: &[&str] = &[
    // All that Debian calls essential.
    "?essential",
    // Without it, a Perl script would convert the tree to a merged /usr.
    "usr-is-merged",
    "systemd-sysv",
    "dbus",
    "dbus-user-session",
    "udev",
    "libpam-systemd",
    "passwd",
    "mount",
    "kmod",
    "procps",
    "ifupdown",
    "iproute2",
    "netbase",
    "openssh-server",
    "cron",
    "rsyslog",
    "avahi-daemon",
    "xvfb",
    "xinit",
    "jwm",
    "xterm",
    "l3afpad",
    "parcellite",
    "dillo",
];

/// Files added by fstrial: path in the tree, mode, contents.
const OURS: &[(&str, u32, &str)] = &[
    ("configure", 0o755, include_str!("../../system/configure.sh")),
    ("page.html", 0o644, include_str!("../../system/page.html")),
    ("usr/local/bin/desktop-session", 0o755, include_str!("../../system/desktop-session")),
    (
        "etc/systemd/system/fstrial-login.service",
        0o644,
        include_str!("../../system/fstrial-login.service"),
    ),
    ("etc/systemd/system/desktop.service", 0o644, include_str!("../../system/desktop.service")),
    (
        "etc/systemd/system/preload-login.service",
        0o644,
        include_str!("../../system/preload-login.service"),
    ),
    (
        "etc/systemd/system/preload-desktop.service",
        0o644,
        include_str!("../../system/preload-desktop.service"),
    ),
];

impl OptionalPart for Boot {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        let packages = workshop.packages(PACKAGES)?;
        let made = made(workshop, &packages)?;
        let (from, to) = (made.join(SYSTEM), workshop.directory().join(SYSTEM));
        std::fs::hard_link(&from, &to).map_err(LabError::at("link", &to))
    }

    fn own(&self) -> String {
        key(&own().collect::<Vec<_>>())
    }
}

/// To be changed whenever the guest makes the system in another way, so that old ones are rebuilt.
const MAKING: &[u8] = b"2";

/// All that this program adds to the system, and how the system is made: the input of its key.
fn own() -> impl Iterator<Item = &'static [u8]> {
    OURS.iter().flat_map(|(path, _, text)| [path.as_bytes(), text.as_bytes()]).chain([MAKING])
}

/// The directory with the system of these packages; makes it if it does not exist.
fn made(workshop: &mut Workshop<'_>, packages: &[PathBuf]) -> Result<PathBuf, LabError> {
    let names: Vec<&[u8]> =
        packages.iter().filter_map(|path| Some(path.file_name()?.as_encoded_bytes())).collect();
    let own: Vec<&[u8]> = own().collect();
    let determining: Vec<&[u8]> = names.into_iter().chain(own).collect();
    let name = format!("boot-{}", key(&determining));
    let kept = workshop.kept(&name);
    if kept.join(SYSTEM).is_file() {
        return Ok(kept);
    }
    workshop.tell("putting the packages together");
    let tree = workshop.scratch().join("packages.tar");
    assemble(packages, &tree)?;
    workshop.tell("configuring and booting it in a guest, which takes a while");
    let directory = workshop.scratch().join("made");
    std::fs::create_dir_all(&directory).map_err(LabError::at("create", &directory))?;
    workshop.prepare_system(&tree, &directory.join(SYSTEM))?;
    workshop.keep(&directory, &name)
}
