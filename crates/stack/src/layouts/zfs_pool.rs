//! A zfs pool over several disks: the filesystem spreads, copies and repairs by itself, no
//! layer lies between. With `+journal`, the last disk is the pool's log device: the intent
//! log moves there.

use units::Bytes;

use super::{
    DISKS, Description, JOURNAL, Layout, Parameter, Plan, Request, Role, Share, roles, split,
};
use crate::{LayoutChoice, Refusal};

/// One arrangement of a pool.
pub(super) struct Pool {
    description: &'static Description,
    disks_default: usize,
    disks_min: usize,
    /// The number of disks is a multiple of this.
    group: usize,
    rule: &'static str,
}

/// As many as any arrangement takes here.
const DISKS_MAX: usize = 64;

static PARAMETERS: &[&Parameter] = &[&DISKS, &JOURNAL];

macro_rules! pools {
    ($($constant:ident $name:literal $summary:literal disks $default:literal at_least $min:literal
        in_groups_of $group:literal $rule:literal;)*) => {
        $(pub(super) static $constant: Pool = Pool {
            description: &Description {
                name: $name,
                summary: $summary,
                package: None,
                programs: &[],
                modules: &[],
                faster_with: &[],
                parameters: PARAMETERS,
                filesystems: Some(&["zfs"]),
            },
            disks_default: $default,
            disks_min: $min,
            group: $group,
            rule: $rule,
        };)*
    };
}

pools! {
    STRIPE "zfs-stripe" "zfs pool over several disks, no redundancy" disks 2 at_least 2
        in_groups_of 1 "striping takes two disks";
    MIRROR "zfs-mirror" "zfs pool of two-way mirrors, striped: x6 is three mirrors" disks 2
        at_least 2 in_groups_of 2 "two-way mirrors take an even number of disks";
    RAIDZ "zfs-raidz" "zfs pool with one disk's worth of parity" disks 3 at_least 3
        in_groups_of 1 "with parity beside two disks' data it takes three";
}

impl Layout for Pool {
    fn describe(&self) -> &'static Description {
        self.description
    }

    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        choice.check(PARAMETERS)?;
        let data =
            choice.number(&DISKS, self.disks_default, self.disks_min, DISKS_MAX, self.rule)?;
        if data % self.group != 0 {
            return Err(choice.refuse(format!("disks is {data}; {}", self.rule)));
        }
        Ok(roles(choice, data))
    }

    fn share(&self, choice: &LayoutChoice) -> Result<Share, Refusal> {
        let disks = self.disks(choice)?.iter().filter(|role| **role == Role::Data).count() as u64;
        Ok(match self.description.name {
            "zfs-mirror" => Share { usable: 1, of: 2 },
            "zfs-raidz" => Share { usable: disks - 1, of: disks },
            _ => Share { usable: 1, of: 1 },
        })
    }

    /// Of its first disk: a pool joins the others by itself.
    fn device_size(&self, choice: &LayoutChoice, each: Bytes) -> Result<Bytes, Refusal> {
        self.disks(choice).map(|_| each)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let (disks, journal) = split(self, request)?;
        Ok(Plan { members: disks[1..].to_vec(), ..Plan::of(disks[0].clone(), journal) })
    }
}
