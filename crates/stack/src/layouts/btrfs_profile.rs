//! btrfs over several disks by itself: the filesystem spreads and copies what it writes, no
//! layer lies between. Metadata is mirrored in every profile.

use units::Bytes;

use super::md::text;
use super::{DISKS, Description, Layout, Parameter, Plan, Request, Role, Share, roles, split};
use crate::{Command, LayoutChoice, Refusal};

/// One profile.
pub(super) struct Profile {
    description: &'static Description,
    disks_default: usize,
    disks_min: usize,
    rule: &'static str,
}

static PARAMETERS: &[&Parameter] = &[&DISKS];

macro_rules! profiles {
    ($($constant:ident $name:literal $summary:literal disks $default:literal at_least $min:literal
        $rule:literal;)*) => {
        $(pub(super) static $constant: Profile = Profile {
            description: &Description {
                name: $name,
                summary: $summary,
                package: Some("btrfs-progs"),
                programs: &["btrfs"],
                modules: &[],
                faster_with: &[],
                parameters: PARAMETERS,
                filesystems: Some(&["btrfs"]),
            },
            disks_default: $default,
            disks_min: $min,
            rule: $rule,
        };)*
    };
}

profiles! {
    RAID0 "btrfs-raid0" "btrfs over several disks, content striped" disks 2 at_least 2
        "striping takes two disks";
    RAID1 "btrfs-raid1" "btrfs over several disks, content on two of them" disks 2 at_least 2
        "two copies take two disks";
    RAID10 "btrfs-raid10" "btrfs over several disks, content striped over pairs" disks 4 at_least 4
        "two copies, striped, take four disks; on fewer it is btrfs-raid1";
}

impl Layout for Profile {
    fn describe(&self) -> &'static Description {
        self.description
    }

    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        choice.check(PARAMETERS)?;
        let data = choice.number(&DISKS, self.disks_default, self.disks_min, 64, self.rule)?;
        Ok(roles(choice, data))
    }

    fn share(&self, choice: &LayoutChoice) -> Result<Share, Refusal> {
        self.disks(choice)?;
        let copies = if self.description.name == RAID0.description.name { 1 } else { 2 };
        Ok(Share { usable: 1, of: copies })
    }

    /// Of its first disk: btrfs joins the others by itself.
    fn device_size(&self, choice: &LayoutChoice, each: Bytes) -> Result<Bytes, Refusal> {
        self.disks(choice).map(|_| each)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let (disks, journal) = split(self, request)?;
        let mut forget = ["device", "scan", "--forget"].map(str::to_owned).to_vec();
        for disk in disks {
            forget.push(text(request.choice, disk)?);
        }
        Ok(Plan {
            members: disks[1..].to_vec(),
            // The kernel remembers the members of a filesystem by UUID after it is unmounted.
            // The next trial of the seed has the same UUID, perhaps on other devices, and
            // would be joined with these.
            dismantle: vec![Command::new("btrfs", forget)],
            ..Plan::of(disks[0].clone(), journal)
        })
    }
}
