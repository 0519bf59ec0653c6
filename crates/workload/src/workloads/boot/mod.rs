//! Booting a Debian system from the filesystem under test, up to its login target and on to
//! a desktop whose programs have all mapped their windows.

mod beside;
mod display;
#[cfg(test)]
mod fake_display;
mod install;
mod machine;
mod opened;
mod preload;
mod prepare;
mod unpack;
mod variant;
mod watch;

use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use units::{Bytes, Nanos};

use self::install::{Installed, install};
use self::variant::Variant;
use self::watch::Seen;
use crate::typed::{ChoiceParameter, SizeParameter, TIME_MAX, TimeParameter, choice};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Op, OpDescription, OpError,
    Parameters, PhaseDescription,
};
use crate::{Space, Workload};

pub use self::preload::{PRELOAD_COMMAND, preload_main};
pub use self::prepare::prepare_system;

pub(super) struct Boot;

static BOOT: PhaseDescription = PhaseDescription {
    name: "boot",
    summary: "boots from a cold cache until the last program of the desktop has its window",
    clock: "from the start of the system's first process, just after the root filesystem was \
            mounted, until the last program's first window is mapped. The machine's own boot \
            (kernel, drivers) does not use the filesystem and comes before. Mounting is outside \
            the clock: its time is `mount_s`, and `uptime_s` is the sum of both",
    ops: &[
        OpDescription { name: "login", span: "from the start until the login target is reached" },
        OpDescription {
            name: "window",
            span: "from the login, or the window before, until a program's first window is mapped",
        },
    ],
    disk_bound: true,
};
const LOGIN: Op = Op(0);
const WINDOW: Op = Op(1);

choice! {
    /// What a boot starts and reads ahead.
    pub(super) enum Started {
        Default = "default": "all services, with the preload list of the boot until login",
        Trimmed = "trimmed": "without ssh, avahi and the clipboard manager; preload as default",
        ExtraPreload = "extra-preload": "trimmed, with the preload list of the desktop after the first one",
        NoPreload = "no-preload": "trimmed, and nothing is read ahead",
    }
}
pub(super) const VARIANT: ChoiceParameter<Started> = ChoiceParameter::of(
    "variant",
    "What is started, and what is read ahead, in the steps of the boot study of 2005. A preload \
                   list names the files that a first boot of the same tree opened, sorted by their \
                   place on the disk. As in the study, the list up to the login is read ahead \
                   before anything else starts, at I/O priority best-effort 2; the list of the \
                   desktop is read ahead while the desktop starts, at best-effort 6.",
    "default",
);
pub(super) const LIMIT: TimeParameter = TimeParameter::new(
    "limit",
    "Time limit: a boot that is not ready by then has failed.",
    Nanos::from_secs(1),
    TIME_MAX,
    "30min",
);

const INSTALLED: SizeParameter = SizeParameter::new(
    "installed",
    "Size of all that is installed. The files of other software, which a boot does not read, are \
                   installed between those of the system, so that both have about this size; 0 \
                   or less than the system's own size: the system alone. In a sequence that of \
                   the first boot counts.",
    Bytes(0),
    Bytes::from_gib(1024),
    "0",
)
.scaled();

static DESCRIPTION: Description = Description {
    name: "boot",
    summary: "boot a Debian system to its login and on to a desktop with running programs",
    origin: "After the boot times of 2005 (SUSE Linux 10.0 with KDE on a laptop, uptime when the \
desktop was ready). Here it is Debian with systemd: udev, journal, syslog, cron, network, ssh, \
avahi, dbus and a login session; then a display in memory (Xvfb) and a window manager (jwm), which \
starts a clipboard manager, a terminal, an editor (l3afpad) and a browser (dillo) at once, as a \
desktop that restores its session does. The booted system is a real tree of Debian packages, made \
by `fstrial lab build --with boot`.\n\n\
The system runs in its own namespaces for processes, mounts and host name, beside the process that \
serves the simulated disk; it shows no signs of a container and behaves as on a real machine. \
Before the clock starts, the tree is unpacked in the order of its archive and written back, and \
the filesystem is remounted so that nothing is cached. After the boot the system is switched off \
as by its power switch, and the filesystem is checked. In a sequence, a boot reuses the tree of \
the boot before it, rearranged for its own variant and without that boot's logs and temporary \
files.\n\n\
Departures: a different, newer distribution on today's kernel, whose modules are already loaded; \
no display hardware; the account logs in by itself. The kernel's own start is not in the figure, \
since it does not read the filesystem.",
    headline: Headline {
        question: "booting a Debian desktop",
        phase: "boot",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::System],
    parameters: &[VARIANT.row, INSTALLED.row, LIMIT.row],
    phases: &[&BOOT],
};

/// What an unpacked tree takes at most, with what the system writes while it boots.
const TREE: Bytes = Bytes::from_mib(900);
const TREE_ENTRIES: u64 = 20_000;
/// What the system writes beside an installation of a given size.
const WRITTEN: Bytes = Bytes::from_mib(200);
/// Other software has files of the same sizes: 24 KB on average, without the empty ones.
const BYTES_PER_FILE: u64 = 20 << 10;

impl Workload for Boot {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let installed = parameters.get(&INSTALLED);
        Space {
            bytes: TREE.max(installed + WRITTEN),
            inodes: TREE_ENTRIES + installed.0 / BYTES_PER_FILE,
        }
    }

    fn takes_over_files(&self) -> bool {
        true
    }

    fn only_in_guest(&self) -> Option<&'static str> {
        Some("it starts a whole system's services as root")
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("the system could not be installed"))
    }
}

/// Whether this is the lab's guest: the only place where a system may be started.
fn in_guest() -> bool {
    std::fs::read_to_string("/proc/cmdline").is_ok_and(|line| line.contains("fstrial.region="))
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    if !in_guest() {
        let why = "a system is booted in the lab only: it starts services as root".to_owned();
        return Err(Failure::Input(why));
    }
    let root = context.target().to_owned();
    let variant = Variant::of(context.parameters());
    let limit = context.parameters().get(&LIMIT);
    let total = context.parameters().get(&INSTALLED);
    let seed = context.seed();
    let installed = install(context.system()?, &root, total, seed).map_err(Failure::before)?;
    write_back(&root).map_err(OpError::at("syncfs", &root)).map_err(Failure::before)?;
    let preloaded =
        variant.apply(&root).map_err(OpError::at("prepare", &root)).map_err(Failure::before)?;
    write_back(&root).map_err(OpError::at("syncfs", &root)).map_err(Failure::before)?;
    context.make_cold();
    let mount = context.mount_took();
    let programs = variant.programs();
    context.phase_with(
        &BOOT,
        1 + programs.len() as u64,
        |recorder| watch::boot(&root, &programs, limit, recorder, LOGIN, WINDOW),
        |seen, result| {
            let seconds = |time: Nanos| time.as_secs_f64();
            let figures = &mut result.figures;
            figures.insert("login_s".to_owned(), seconds(seen.login));
            for (program, at) in &seen.windows {
                figures.insert(format!("window_{program}_s"), seconds(*at));
            }
            figures.insert("desktop_s".to_owned(), seconds(seen.last()));
            if let Some(mount) = mount {
                figures.insert("mount_s".to_owned(), seconds(mount));
                figures.insert("uptime_s".to_owned(), seconds(mount + seen.last()));
            }
            let tree = match installed {
                Installed::Unpacked { system, beside } => {
                    let others = match beside.entries {
                        0 => String::new(),
                        files => format!(
                            "; other software, {files} files, {}, between its files",
                            Bytes(beside.bytes)
                        ),
                    };
                    format!("a tree of {} entries, {}{others}", system.entries, Bytes(system.bytes))
                }
                Installed::Found => "the tree of the boot before".to_owned(),
            };
            result.notes.push(format!("{tree}; {preloaded} files in its preload lists"));
        },
    )?;
    Ok(())
}

fn write_back(root: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::syncfs(rustix::fs::open(root, flags, Mode::empty())?)?)
}

impl Seen {
    fn last(&self) -> Nanos {
        self.windows.values().copied().max().unwrap_or(self.login)
    }
}
