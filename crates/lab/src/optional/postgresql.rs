//! PostgreSQL: its server, pgbench and pg_amcheck, with the files that the server reads.

use std::path::Path;

use units::Bytes;

use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::error::LabError;

pub(super) struct Postgresql;

static DESCRIPTION: PartDescription = PartDescription {
    name: "postgresql",
    summary: "PostgreSQL 15 with pgbench and pg_amcheck; unpacked in seconds, 75 MB in the guest",
    // Only libraries: its package depends on much that the programs here do not load.
    packages: &[
        "libpq5",
        "libicu72",
        "libldap-2.5-0",
        "libxml2",
        "libpam0g",
        "libsystemd0",
        "liblz4-1",
        "libzstd1",
        "libselinux1",
        "libgssapi-krb5-2",
    ],
    programs: &["postgres", "initdb", "pgbench", "pg_amcheck"],
    memory: Bytes::ZERO,
    archives: Archives::OWN,
};

/// Where Debian puts them.
const HOME: &str = "usr/lib/postgresql/15";
const SHARE: &str = "usr/share/postgresql/15";
/// Modules that the server loads for a plain database.
const MODULES: [&str; 3] = ["amcheck.so", "dict_snowball.so", "plpgsql.so"];
/// The server refuses to run as root, and wants its user to have a name.
const USERS: &str = "root:x:0:0:root:/:/bin/sh\npostgres:x:101:101:PostgreSQL:/:/bin/sh\n";

impl OptionalPart for Postgresql {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        let alone = ["postgresql-15", "postgresql-client-15", "dash"];
        workshop.tools_below(DESCRIPTION.packages, &alone, &[HOME])?;
        let from = workshop.scratch().join("tools");
        let files = workshop.directory().join("files");
        for module in MODULES {
            let path = Path::new(HOME).join("lib").join(module);
            copy(&from.join(&path), &files.join(&path))?;
        }
        copy_tree(&from.join(SHARE), &files.join(SHARE))?;
        // initdb starts the server through a shell.
        copy(&from.join("bin/dash"), &files.join("bin/sh"))?;
        let users = files.join("etc/passwd");
        make_parent(&users)?;
        std::fs::write(&users, USERS).map_err(LabError::at("write", &users))
    }
}

/// Copies the files that a server reads: all but manual pages and the contributed extensions.
fn copy_tree(from: &Path, to: &Path) -> Result<(), LabError> {
    let listed = std::fs::read_dir(from).map_err(LabError::at("list", from))?;
    for entry in listed {
        let entry = entry.map_err(LabError::at("list", from))?;
        let (name, path) = (entry.file_name(), entry.path());
        if path.is_dir() {
            if name != "man" && name != "contrib" {
                copy_tree(&path, &to.join(name))?;
            }
        } else if path.is_file() {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), LabError> {
    make_parent(to)?;
    std::fs::copy(from, to).map(drop).map_err(LabError::at("copy", from))
}

fn make_parent(path: &Path) -> Result<(), LabError> {
    let directory = path.parent().unwrap_or(path);
    std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))
}
