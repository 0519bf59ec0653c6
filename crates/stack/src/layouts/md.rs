//! Linux software RAID (md), by mdadm.
//!
//! Arrays are made without the initial resync, which would run in the background of the
//! measurement. On disks full of zeros parity is right from the start; on others it becomes right
//! stripe by stripe as they are written, and only a lost disk would show the difference. There is
//! no write-intent bitmap either, since its updates would cost extra.

use std::path::{Path, PathBuf};

use units::Bytes;

use super::identity::Identity;
use super::{
    CHUNK, DISKS, Description, JOURNAL, Layout, Parameter, Plan, Request, Role, Share, roles, split,
};
use crate::{Command, LayoutChoice, Refusal};

/// One RAID level.
pub(super) struct Md {
    description: &'static Description,
    level: &'static str,
    disks_default: usize,
    disks_min: usize,
    /// The reason for the smallest number of disks.
    rule: &'static str,
    /// What mdadm calls the arrangement, where it has one.
    arrangement: Option<&'static str>,
}

/// md supports more disks, but nobody compares such arrays.
const DISKS_MAX: usize = 64;
/// mdadm's default, spelled out.
const CHUNK_DEFAULT: Bytes = Bytes::from_kib(512);

static COPIES: Parameter = Parameter {
    name: "copies",
    values: "near|far",
    help: "near (default): the two copies lie at the same place of neighbouring disks; far: in \
           the other half of the next disk",
};

static STATE: Parameter = Parameter {
    name: "state",
    values: "clean|degraded|rebuilding",
    help: "clean (default); degraded: the last disk is missing; rebuilding: it is new and being \
           filled from the others, beginning before the first clock, at the kernel's own pace",
};

static PLAIN: &[&Parameter] = &[&DISKS, &CHUNK, &JOURNAL];
static STRIPED: &[&Parameter] = &[&DISKS, &CHUNK, &STATE, &JOURNAL];
static MIRRORED: &[&Parameter] = &[&DISKS, &STATE, &JOURNAL];
static BOTH: &[&Parameter] = &[&DISKS, &CHUNK, &COPIES, &STATE, &JOURNAL];

macro_rules! levels {
    ($($constant:ident $name:literal level $level:literal $summary:literal module $module:literal
        parameters $parameters:ident disks $default:literal at_least $min:literal $rule:literal
        arrangement $arrangement:expr;)*) => {
        $(pub(super) static $constant: Md = Md {
            description: &Description {
                name: $name,
                summary: $summary,
                package: Some("mdadm"),
                programs: &["mdadm"],
                modules: &["md-mod", $module],
                faster_with: &[],
                parameters: $parameters,
                filesystems: None,
            },
            level: $level,
            disks_default: $default,
            disks_min: $min,
            rule: $rule,
            arrangement: $arrangement,
        };)*
    };
}

levels! {
    RAID0 "raid0" level "0" "md: striped over all disks, no redundancy" module "raid0"
        parameters PLAIN disks 2 at_least 2 "striping takes two disks" arrangement None;
    RAID1 "raid1" level "1" "md: mirrored, the same data on every disk" module "raid1"
        parameters MIRRORED disks 2 at_least 2 "a mirror takes two disks" arrangement None;
    RAID5 "raid5" level "5" "md: striped, one disk's worth of parity" module "raid456"
        parameters STRIPED disks 3 at_least 3 "with parity beside two disks' data it takes three"
        arrangement Some("left-symmetric");
    RAID6 "raid6" level "6" "md: striped, two disks' worth of parity" module "raid456"
        parameters STRIPED disks 4 at_least 4 "with two parities beside two disks' data it takes four"
        arrangement Some("left-symmetric");
    RAID10 "raid10" level "10" "md: striped, two copies of everything" module "raid10"
        parameters BOTH disks 4 at_least 2 "two copies take two disks" arrangement Some("n2");
}

impl Md {
    fn disk_count(&self, choice: &LayoutChoice) -> Result<usize, Refusal> {
        choice.check(self.description.parameters)?;
        choice.number(&DISKS, self.disks_default, self.disks_min, DISKS_MAX, self.rule)
    }

    fn has_chunk(&self) -> bool {
        self.description.parameters.iter().any(|parameter| parameter.name == CHUNK.name)
    }

    fn chunk(&self, choice: &LayoutChoice) -> Result<Bytes, Refusal> {
        choice.size(&CHUNK, CHUNK_DEFAULT, Bytes::from_kib(4), Bytes::from_gib(1))
    }
}

impl Layout for Md {
    fn describe(&self) -> &'static Description {
        self.description
    }

    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        let data = self.disk_count(choice)?;
        self.chunk(choice)?;
        Ok(roles(choice, data))
    }

    fn share(&self, choice: &LayoutChoice) -> Result<Share, Refusal> {
        let disks = self.disk_count(choice)? as u64;
        Ok(match self.level {
            "1" => Share { usable: 1, of: disks },
            "5" => Share { usable: disks - 1, of: disks },
            "6" => Share { usable: disks - 2, of: disks },
            "10" => Share { usable: 1, of: 2 },
            _ => Share { usable: 1, of: 1 },
        })
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let (members, journal) = split(self, request)?;
        let choice = request.choice;
        let identity = Identity::of(request);
        let name = identity.name();
        let array = format!("/dev/md/{name}");
        let mut create: Vec<String> = vec!["--create".to_owned(), array.clone()];
        create.extend(
            ["--config=none", "--run", "--metadata=1.2", "--homehost=fstrial"].map(str::to_owned),
        );
        create.push(format!("--name={name}"));
        create.push(format!("--uuid={}", identity.uuid()));
        create.push(format!("--level={}", self.level));
        let copies = choice.value(&COPIES).filter(|copies| *copies == "far").map(|_| "f2");
        if let Some(arrangement) = copies.or(self.arrangement) {
            create.push(format!("--layout={arrangement}"));
        }
        if self.has_chunk() {
            create.push(format!("--chunk={}", self.chunk(choice)?.0 >> 10));
        }
        if self.level != "0" {
            // Without redundancy there is nothing to bring in step, and mdadm says so.
            create.extend(["--assume-clean", "--bitmap=none"].map(str::to_owned));
        }
        create.push(format!("--raid-devices={}", members.len()));
        let members: Vec<String> =
            members.iter().map(|member| text(choice, member)).collect::<Result<_, _>>()?;
        create.extend(members.iter().cloned());

        let state = choice.value(&STATE).unwrap_or("clean");
        let mut assemble = Vec::new();
        let mut last = None;
        if state != "clean" {
            last = create.pop();
            create.push("missing".to_owned());
        }
        assemble.push(Command::new("mdadm", create).destructive());
        let mut set_off = Vec::new();
        if let Some(last) = last.filter(|_| state == "rebuilding") {
            // Delayed until the filesystem is made: otherwise a small disk would be rebuilt before
            // the first workload begins.
            assemble.push(Command::new("mdadm", ["--action=frozen", &array]));
            assemble
                .push(Command::new("mdadm", ["--manage", &array, "--add", &last]).destructive());
            set_off.push(Command::new("mdadm", ["--action=idle", &array]));
        }
        let detail = Command::new("mdadm", ["--detail", &array]);
        let mut zero = vec!["--zero-superblock".to_owned()];
        let unused = usize::from(state == "degraded");
        zero.extend(members[..members.len() - unused].iter().cloned());
        Ok(Plan {
            assemble,
            dismantle: vec![
                Command::new("mdadm", ["--stop", &array]),
                Command::new("mdadm", zero).destructive(),
            ],
            inspect: vec![detail.clone()],
            observe: if state == "clean" { Vec::new() } else { vec![detail] },
            set_off,
            ..Plan::of(PathBuf::from(&array), journal)
        })
    }
}

/// A disk's name as an argument.
pub(super) fn text(choice: &LayoutChoice, disk: &Path) -> Result<String, Refusal> {
    disk.to_str()
        .map(str::to_owned)
        .ok_or_else(|| choice.refuse(format!("the name of {} is not UTF-8", disk.display())))
}
