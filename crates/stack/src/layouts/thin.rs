//! LVM thin provisioning: a pool on one disk, and a volume in it whose nominal size may be larger
//! or smaller than the disk. The volume allocates blocks when they are first written.

use std::path::PathBuf;

use units::Bytes;

use super::crypt::without_udev;
use super::identity::Identity;
use super::md::text;
use super::{CHUNK, Description, JOURNAL, Layout, Parameter, Plan, Request, Role, roles, split};
use crate::{Command, LayoutChoice, Refusal};

pub(super) struct Thin;

static SIZE: Parameter =
    Parameter { name: "size", values: "SIZE", help: "nominal size of the volume; required" };

static PARAMETERS: &[&Parameter] = &[&SIZE, &CHUNK, &JOURNAL];

static DESCRIPTION: Description = Description {
    name: "thin",
    summary: "one disk under an LVM thin pool",
    package: Some("lvm2"),
    programs: &["pvcreate", "pvremove", "vgcreate", "vgremove", "vgchange", "lvcreate", "lvs"],
    modules: &["dm-thin-pool"],
    faster_with: &[],
    parameters: PARAMETERS,
    filesystems: None,
};

fn size(choice: &LayoutChoice) -> Result<Bytes, Refusal> {
    let Some(text) = choice.value(&SIZE) else {
        return Err(choice
            .refuse("a thin volume needs a size of its own")
            .with_next(format!("give the nominal size of the volume: {choice}+size=10G")));
    };
    let size: Bytes = text.parse().map_err(|error| choice.refuse(format!("size: {error}")))?;
    if size < Bytes::from_mib(4) || !size.0.is_multiple_of(512) {
        return Err(choice.refuse("size is at least 4 MiB, in whole sectors"));
    }
    Ok(size)
}

fn chunk(choice: &LayoutChoice) -> Result<Bytes, Refusal> {
    choice.size(&CHUNK, Bytes::from_kib(64), Bytes::from_kib(64), Bytes::from_gib(1))
}

impl Layout for Thin {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        choice.check(PARAMETERS)?;
        size(choice)?;
        chunk(choice)?;
        Ok(roles(choice, 1))
    }

    fn device_size(&self, choice: &LayoutChoice, _: Bytes) -> Result<Bytes, Refusal> {
        self.disks(choice).and_then(|_| size(choice))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let (data, journal) = split(self, request)?;
        let choice = request.choice;
        let disk = text(choice, &data[0])?;
        let group = Identity::of(request).name();
        let pool = format!("{group}/pool");
        // LVM looks at this disk alone, whatever else the machine has, and reads no
        // configuration. Checking a pool that was just made is no part of the trial.
        let lvm = |program: &str, args: &[&str]| {
            let quiet = "global{thin_check_executable=\"\"}";
            let head = ["--devices", &disk, "--config", quiet];
            without_udev(Command::new(program, head.iter().chain(args).copied()))
                .with_env("LVM_SYSTEM_DIR", "")
        };
        let virtual_size = format!("{}b", size(choice)?.0);
        let chunk = format!("{}k", chunk(choice)?.0 >> 10);
        Ok(Plan {
            assemble: vec![
                lvm("pvcreate", &["-y", "-ff", &disk]).destructive(),
                lvm("vgcreate", &["-y", &group, &disk]).destructive(),
                lvm(
                    "lvcreate",
                    &[
                        "-y",
                        "--type",
                        "thin-pool",
                        "--chunksize",
                        &chunk,
                        "--poolmetadataspare",
                        "n",
                        "-l",
                        "95%FREE",
                        "-n",
                        "pool",
                        &group,
                    ],
                )
                .destructive(),
                lvm(
                    "lvcreate",
                    &[
                        "-y",
                        "--type",
                        "thin",
                        "-V",
                        &virtual_size,
                        "--thinpool",
                        &pool,
                        "-n",
                        "data",
                    ],
                ),
            ],
            dismantle: vec![
                lvm("vgchange", &["-a", "n", &group]),
                lvm("vgremove", &["-y", "-f", &group]).destructive(),
                lvm("pvremove", &["-y", "-ff", &disk]).destructive(),
            ],
            inspect: vec![lvm("lvs", &["-a", "-o", "+chunksize,metadata_percent", &group])],
            ..Plan::of(PathBuf::from(format!("/dev/mapper/{group}-data")), journal)
        })
    }
}
