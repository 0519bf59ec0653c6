//! dm-crypt: LUKS2 with AES-XTS, as distributions set it up, and a key that is no secret.
//!
//! The key derivation is set to its least: it is no part of reading or writing. The journal,
//! if it has a disk of its own, is not encrypted.

use std::path::PathBuf;

use super::identity::Identity;
use super::md::text;
use super::{Description, JOURNAL, Layout, Parameter, Plan, Request, Role, roles, split};
use crate::{Command, LayoutChoice, Refusal};

pub(super) struct Crypt;

static SECTOR: Parameter = Parameter {
    name: "sector",
    values: "512|4096",
    help: "bytes encrypted at a time; default 4096, as cryptsetup chooses on today's disks",
};

static PARAMETERS: &[&Parameter] = &[&SECTOR, &JOURNAL];

static DESCRIPTION: Description = Description {
    name: "crypt",
    summary: "one disk under dm-crypt (LUKS2, aes-xts)",
    package: Some("cryptsetup-bin"),
    programs: &["cryptsetup"],
    modules: &["dm-crypt", "xts"],
    faster_with: &["aesni-intel"],
    parameters: PARAMETERS,
    filesystems: None,
};

/// Sixty-four zeros: what is on the disk is made up, and the trial can be repeated.
const KEY: [&str; 4] = ["--key-file", "/dev/zero", "--keyfile-size", "64"];

impl Layout for Crypt {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        choice.check(PARAMETERS)?;
        Ok(roles(choice, 1))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let (data, journal) = split(self, request)?;
        let choice = request.choice;
        let disk = text(choice, &data[0])?;
        let identity = Identity::of(request);
        let name = identity.name();

        let mut format: Vec<String> =
            ["luksFormat", "--batch-mode", "--type", "luks2", "--uuid"].map(str::to_owned).to_vec();
        format.push(identity.uuid());
        format.extend(["--cipher", "aes-xts-plain64", "--key-size", "512"].map(str::to_owned));
        format.extend(["--volume-key-file", "/dev/zero"].map(str::to_owned));
        format.push("--sector-size".to_owned());
        format.push(choice.value(&SECTOR).unwrap_or("4096").to_owned());
        format.extend(["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"].map(str::to_owned));
        format.extend(KEY.map(str::to_owned));
        format.push(disk.clone());

        let mut open: Vec<String> = vec!["open".to_owned()];
        open.extend(KEY.map(str::to_owned));
        open.extend([disk, name.clone()]);
        Ok(Plan {
            assemble: vec![
                without_udev(Command::new("cryptsetup", format)).destructive(),
                without_udev(Command::new("cryptsetup", open)),
            ],
            dismantle: vec![without_udev(Command::new("cryptsetup", ["close", &name]))],
            inspect: vec![without_udev(Command::new("cryptsetup", ["status", &name]))],
            ..Plan::of(PathBuf::from(format!("/dev/mapper/{name}")), journal)
        })
    }
}

/// A command that makes its device nodes itself: a guest has no udev to wait for.
pub(super) fn without_udev(command: Command) -> Command {
    command.with_env("DM_DISABLE_UDEV", "1")
}
