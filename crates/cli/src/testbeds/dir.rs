//! Directories as they are, one contender each.

use std::path::{Path, PathBuf};

use clap::Args;
use runner::TestbedRequest;
use serde::{Deserialize, Serialize};
use stack::Contender;
use study::Study;
use testbed::{DirectoryTestbed, Testbed};

use super::options::{WHERE, request};
use super::{Configured, Description, Finding, Given, OfPart, OpenWith, OwnOptions, TestbedKind};
use crate::exit::{Exit, Failure};
use crate::files::tool_path;

pub(super) struct Dir;

static DESCRIPTION: Description = Description {
    name: "dir",
    summary: "A directory as it is: no root, no mkfs",
    in_study: "one directory per contender",
    makes_filesystems: false,
    simulated: false,
    in_guest: false,
    slow: false,
    chosen_by: Some("dir"),
    own_options: &[
        OwnOptions { ids: &["dir"], places: true, in_vain: "--dir belongs to --testbed dir" },
        OwnOptions {
            ids: &["drop_caches"],
            places: false,
            in_vain: "--drop-caches belongs to --testbed dir: elsewhere a cold phase mounts anew",
        },
    ],
    refuses: &[],
    own_in_study: &["dir"],
};

#[derive(Args)]
struct DirOptions {
    /// A directory to test as it is; several are compared with each other
    #[arg(long, value_name = "PATH", help_heading = WHERE)]
    dir: Vec<PathBuf>,

    // Few need it: shown behind those of `device`.
    /// With dir: drop the whole machine's caches before cold phases (root)
    #[arg(long, help_heading = WHERE, hide_short_help = true, display_order = 9)]
    drop_caches: bool,
}

#[derive(Args)]
struct DirStudyOptions {
    /// With dir: the directory that stands for a contender
    #[arg(long, value_name = "CONTENDER=PATH")]
    dir: Vec<String>,
}

/// What the store keeps.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    directories: Vec<PathBuf>,
    /// The contender that each stands for; named after their filesystems where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    /// Whether the whole machine's caches may be dropped.
    drop_caches: bool,
}

/// One directory under this contender's name.
///
/// # Errors
/// When the path cannot be kept in the store.
pub(crate) fn of(directory: &Path, name: &str) -> Result<TestbedRequest, Failure> {
    let (directories, names) = (vec![directory.to_owned()], vec![name.to_owned()]);
    request(&DESCRIPTION, &Settings { directories, names, drop_caches: false })
}

impl TestbedKind for Dir {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn options(&self, command: clap::Command) -> clap::Command {
        DirOptions::augment_args(command)
    }

    fn study_options(&self, command: clap::Command) -> clap::Command {
        DirStudyOptions::augment_args(command)
    }

    fn asked(&self, given: &Given) -> Result<TestbedRequest, Failure> {
        let DirOptions { dir, drop_caches } = given.read()?;
        if drop_caches && !rustix::process::geteuid().is_root() {
            return Err(Failure::new(Exit::Usage, "--drop-caches needs root"));
        }
        let directories = if dir.is_empty() { vec![".".into()] } else { dir };
        request(&DESCRIPTION, &Settings { directories, names: Vec::new(), drop_caches })
    }

    fn asked_for_study(&self, given: &Given, _: &Study) -> Result<OfPart, Failure> {
        let mut settings =
            Settings { directories: Vec::new(), names: Vec::new(), drop_caches: false };
        for text in given.read::<DirStudyOptions>()?.dir {
            let (name, path) = text.split_once('=').ok_or_else(|| {
                let message = format!("--dir {text}: write CONTENDER=PATH, a directory for each");
                Failure::new(Exit::Usage, message)
            })?;
            settings.names.push(name.to_owned());
            settings.directories.push(PathBuf::from(path));
        }
        settings.contenders()?;
        let request = request(&DESCRIPTION, &settings)?;
        Ok(Box::new(move |_, _| Ok(request.clone())))
    }

    fn read(&self, request: &TestbedRequest) -> Result<Box<dyn Configured>, serde_json::Error> {
        Ok(Box::new(request.settings::<Settings>()?))
    }

    fn findings(&self) -> Vec<Finding> {
        vec![Finding::new("testbed dir", true, "any directory you can write to")]
    }
}

impl Configured for Settings {
    fn open(&self, with: OpenWith) -> Result<Box<dyn Testbed>, Failure> {
        Ok(Box::new(DirectoryTestbed::new(
            with.ledger,
            &self.directories,
            &self.names,
            self.drop_caches,
            with.inputs,
            tool_path(),
            with.room,
        )))
    }

    fn listed(&self) -> String {
        "directories".to_owned()
    }

    fn contenders(&self) -> Result<Option<Vec<Contender>>, Failure> {
        let mut contenders = testbed::directory_contenders(&self.directories)
            .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
        for (contender, name) in contenders.iter_mut().zip(&self.names) {
            contender.name.clone_from(name);
        }
        Ok(Some(contenders))
    }
}
