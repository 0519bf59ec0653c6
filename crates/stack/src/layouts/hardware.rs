//! RAID by a controller of its own, with its own memory: the kernel sees one disk.
//!
//! The controllers are models, so these layouts exist in the lab only. On a real machine the
//! controller is the user's, and its array is one device like any other: `layout=single`.
//! The disks' own caches are off, as controllers with a battery set them. The modelled controllers
//! do not report their stripes to the kernel, as the real ones did not. If mkfs is to know the
//! stripes, the contender sets `stripe_unit` and `stripe_width`.

use units::Bytes;

use super::{
    Array, CHUNK, DISKS, Description, JOURNAL, Layout, Parameter, Plan, Request, Role, Share, split,
};
use crate::{LayoutChoice, Refusal};

/// One RAID level.
pub(super) struct Hardware {
    description: &'static Description,
    level: &'static str,
    disks_default: usize,
    disks_min: usize,
    /// The reason for the smallest number of disks.
    rule: &'static str,
}

/// As many as the models take.
const DISKS_MAX: usize = 32;

static CONTROLLER: Parameter = Parameter {
    name: "controller",
    values: "NAME",
    help: "the controller, a name of `fstrial list disks`; default: the machine profile's",
};

static BATTERY: Parameter = Parameter {
    name: "battery",
    values: "on|off",
    help: "on (default): its memory survives a power failure, so a write is done when it is there; \
           off: a write is done when the disks have it",
};

static STATE: Parameter = Parameter {
    name: "state",
    values: "clean|degraded|rebuilding",
    help: "clean (default); degraded: the last disk is missing; rebuilding: it is new and being \
           filled from the others, from mkfs on, in the part of the time that the controller \
           gives to it",
};

static PLAIN: &[&Parameter] = &[&DISKS, &CHUNK, &CONTROLLER, &BATTERY, &JOURNAL];
static STRIPED: &[&Parameter] = &[&DISKS, &CHUNK, &CONTROLLER, &BATTERY, &STATE, &JOURNAL];
static MIRRORED: &[&Parameter] = &[&DISKS, &CONTROLLER, &BATTERY, &STATE, &JOURNAL];

macro_rules! levels {
    ($($constant:ident $name:literal level $level:literal $summary:literal
        parameters $parameters:ident disks $default:literal at_least $min:literal
        $rule:literal;)*) => {
        $(pub(super) static $constant: Hardware = Hardware {
            description: &Description {
                name: $name,
                summary: $summary,
                package: None,
                programs: &[],
                modules: &[],
                faster_with: &[],
                parameters: $parameters,
                filesystems: None,
            },
            level: $level,
            disks_default: $default,
            disks_min: $min,
            rule: $rule,
        };)*
    };
}

levels! {
    RAID0 "hw-raid0" level "raid0" "RAID controller (lab): striped, no redundancy"
        parameters PLAIN disks 2 at_least 2 "striping takes two disks";
    RAID1 "hw-raid1" level "raid1" "RAID controller (lab): mirrored, the same data on every disk"
        parameters MIRRORED disks 2 at_least 2 "a mirror takes two disks";
    RAID5 "hw-raid5" level "raid5" "RAID controller (lab): striped, one disk's worth of parity"
        parameters STRIPED disks 3 at_least 3 "with parity beside two disks' data it takes three";
    RAID10 "hw-raid10" level "raid10" "RAID controller (lab): striped over mirrored pairs"
        parameters STRIPED disks 4 at_least 4 "two copies, striped, take four disks; on two it is hw-raid1";
}

impl Hardware {
    fn array(&self, choice: &LayoutChoice) -> Result<Array, Refusal> {
        choice.check(self.description.parameters)?;
        let members =
            choice.number(&DISKS, self.disks_default, self.disks_min, DISKS_MAX, self.rule)?;
        if self.level == "raid10" && !members.is_multiple_of(2) {
            return Err(choice.refuse(format!("disks is {members}; every disk needs its mirror")));
        }
        let chunk = match choice.value(&CHUNK) {
            None => None,
            Some(_) => {
                let least = Bytes::from_kib(4);
                Some(choice.size(&CHUNK, least, least, Bytes::from_mib(16))?)
            }
        };
        Ok(Array {
            level: self.level,
            members,
            chunk,
            battery: choice.value(&BATTERY) != Some("off"),
            controller: choice.value(&CONTROLLER).map(str::to_owned),
            state: choice.value(&STATE).unwrap_or("clean").to_owned(),
        })
    }
}

impl Layout for Hardware {
    fn describe(&self) -> &'static Description {
        self.description
    }

    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        let mut roles = vec![Role::Controller(self.array(choice)?)];
        if choice.has_journal_disk() {
            roles.push(Role::Journal);
        }
        Ok(roles)
    }

    fn share(&self, choice: &LayoutChoice) -> Result<Share, Refusal> {
        let disks = self.array(choice)?.members as u64;
        Ok(match self.level {
            "raid1" => Share { usable: 1, of: disks },
            "raid5" => Share { usable: disks - 1, of: disks },
            "raid10" => Share { usable: 1, of: 2 },
            _ => Share { usable: 1, of: 1 },
        })
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let (data, journal) = split(self, request)?;
        Ok(Plan::of(data[0].clone(), journal))
    }
}
