//! npm: a tree of packages is installed, listed, installed again and removed.

use std::fs;
use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};
use units::Bytes;

use super::listed;
use super::steps::{Behind, Steps, in_directory, remove_in, sync};
use super::text::lines;
use crate::typed::{CountParameter, SizeParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, OpError, Parameters,
    PhaseDescription, Program, Seed, Space, Workload,
};

/// The tree that npm makes of a lock file.
pub(in crate::workloads) struct NpmTree;

const NPM: Program = Program { name: "npm", package: "npm" };
const NODE: Program = Program { name: "node", package: "nodejs" };
const DIRECTORY: &str = "npm-tree";
/// Files in a directory of a package.
const FILES_IN_DIRECTORY: u64 = 10;
/// Number of dependencies of each package.
const ASKED_FOR: u64 = 2;
const VERSION: &str = "1.0.0";

static INSTALL: PhaseDescription = PhaseDescription {
    name: "install",
    summary: "the packages of a lock file unpacked into node_modules",
    clock: "`npm ci` with an empty cache of the filesystem, and one syncfs",
    ops: &[],
    disk_bound: true,
};

static LIST: PhaseDescription = PhaseDescription {
    name: "list",
    summary: "every package looked at, with an empty cache",
    clock: "`npm ls --all`",
    ops: &[],
    disk_bound: true,
};

static AGAIN: PhaseDescription = PhaseDescription {
    name: "again",
    summary: "the same onto the installed tree, which npm removes first",
    clock: "as `install`, but with a warm cache",
    ops: &[],
    disk_bound: true,
};

static REMOVE: PhaseDescription = PhaseDescription {
    name: "remove",
    summary: "node_modules removed",
    clock: "unlink and rmdir as `rm -r` does, with an empty cache, and one syncfs",
    ops: &[],
    disk_bound: true,
};

const PACKAGES: CountParameter =
    CountParameter::new("packages", "Packages.", 1, 100_000, "100").scaled();
const FILES: CountParameter =
    CountParameter::new("files", "Files of a package, beside its package.json.", 1, 10_000, "25");
const SIZE: SizeParameter =
    SizeParameter::new("size", "Mean size of a file.", Bytes(1), Bytes::from_mib(16), "3K");

static DESCRIPTION: Description = Description {
    name: "npm-tree",
    summary: "npm ci, npm ls, and node_modules removed",
    origin: "The programs of Debian's packages npm and nodejs. Packages are drawn from the seed, \
and packed as npm packs them, before the clock starts; they lie beside the tree, so that no \
network is used. No package script runs, and no registry is asked. At the end every file of \
node_modules is compared with what was packed. In the lab it needs `lab build --with npm`.",
    headline: Headline {
        question: "installing a tree of npm packages",
        phase: "install",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::Program(NPM), InputKind::Program(NODE)],
    parameters: &[PACKAGES.row, FILES.row, SIZE.row],
    phases: &[&INSTALL, &LIST, &AGAIN, &REMOVE],
};

impl Workload for NpmTree {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let (packages, files) = (parameters.get(&PACKAGES), parameters.get(&FILES));
        // An archive compresses its drawn text to some three quarters; npm may keep a copy of
        // each, and unpacks beside the old tree.
        let file = 2 * parameters.get(&SIZE).0 + 4096;
        let inodes = packages * (2 * (files + files / FILES_IN_DIRECTORY + 4) + 6);
        Space { bytes: Bytes(3 * packages * (files + 3) * file + (16 << 20)), inodes }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        in_directory(context, DIRECTORY, |context, directory| {
            let home = directory.display().to_string();
            let cache = directory.join("cache").display().to_string();
            let [user, global] =
                ["npmrc", "npmrc-global"].map(|name| directory.join(name).display().to_string());
            let environment = [
                ("HOME", &*home),
                ("npm_config_cache", &*cache),
                ("npm_config_userconfig", &*user),
                ("npm_config_globalconfig", &*global),
                ("npm_config_offline", "true"),
                ("npm_config_audit", "false"),
                ("npm_config_fund", "false"),
                ("npm_config_ignore_scripts", "true"),
                ("npm_config_update_notifier", "false"),
                ("npm_config_progress", "false"),
                ("npm_config_loglevel", "error"),
                ("npm_config_logs_max", "0"),
            ];
            let npm =
                Steps::of(context, NPM, directory.clone(), &environment)?.read_by(context, NODE)?;
            work(context, &npm)
        })
    }
}

fn work(context: &mut Context<'_>, npm: &Steps<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let packed = Packages {
        count: parameters.get(&PACKAGES),
        files: parameters.get(&FILES),
        size: parameters.get(&SIZE).0,
        seed: context.seed().derive("npm-tree"),
    };
    let files = packed.count * (packed.files + 1);
    let app = npm.directory.join("app");
    let tree = app.join("node_modules");
    packed.write(&npm.directory, &app).map_err(setup)?;
    sync(&npm.directory)?;

    let install = ["ci", "--prefix", "app"];
    context.make_cold();
    npm.time(context, &INSTALL, files, Behind::Sync, &install, "")?;

    context.make_cold();
    let list = ["ls", "--prefix", "app", "--all", "--parseable"];
    let said = npm.time(context, &LIST, packed.count, Behind::Nothing, &list, "")?;
    packed.all_listed(&said)?;

    npm.time(context, &AGAIN, files, Behind::Sync, &install, "")?;
    packed.compare(&tree)?;

    sync(&npm.directory)?;
    context.make_cold();
    context.phase(&REMOVE, files, |_| remove_in(&app, "node_modules"))
}

fn setup(error: OpError) -> Failure {
    Failure::Op { phase: "outside the phases", error }
}

/// The packages that are installed. Each is drawn from the seed and its number, so that none has
/// to be remembered.
struct Packages {
    count: u64,
    files: u64,
    size: u64,
    seed: Seed,
}

impl Packages {
    /// The name of a package.
    fn name(nth: u64) -> String {
        format!("p{nth:06}")
    }

    /// The dependencies of a package: those after it.
    fn asked_for(&self, nth: u64) -> Value {
        let others = (nth + 1..self.count).take(ASKED_FOR as usize);
        let names = others.map(|other| (Packages::name(other), json!(format!("^{VERSION}"))));
        Value::Object(names.collect())
    }

    /// The files of a package by their path in it, in order.
    fn contents(&self, nth: u64) -> Vec<(String, String)> {
        let name = Packages::name(nth);
        let mut draw = self.seed.stream(&name);
        let manifest = json!({
            "name": name,
            "version": VERSION,
            "main": "d000/f00000.js",
            "license": "MIT",
            "dependencies": self.asked_for(nth),
        });
        let mut contents = vec![("package.json".to_owned(), format!("{manifest:#}\n"))];
        for file in 0..self.files {
            // From half to one and a half of the mean.
            let length = self.size / 2 + draw.below(self.size + 1);
            let text = lines(&mut draw, usize::try_from(length).unwrap_or(usize::MAX));
            let directory = file / FILES_IN_DIRECTORY;
            contents.push((format!("d{directory:03}/f{file:05}.js"), text));
        }
        contents
    }

    /// A package as npm packs it.
    fn archive(&self, nth: u64) -> std::io::Result<Vec<u8>> {
        let packed = GzBuilder::new().write(Vec::new(), Compression::default());
        let mut tar = tar::Builder::new(packed);
        for (path, text) in self.contents(nth) {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            // The time that npm gives to all files.
            header.set_mtime(499_162_500);
            header.set_entry_type(tar::EntryType::Regular);
            tar.append_data(&mut header, format!("package/{path}"), text.as_bytes())?;
        }
        tar.into_inner()?.finish()
    }

    /// Writes the archives, and beside them a project that asks for all of them.
    fn write(&self, place: &Path, app: &Path) -> Result<(), OpError> {
        let packages = place.join("packages");
        for path in [&packages, &place.join("cache"), &app.to_owned()] {
            fs::create_dir(path).map_err(OpError::at("mkdir", path))?;
        }
        let (mut asked, mut locked) = (Map::new(), Map::new());
        for nth in 0..self.count {
            let name = Packages::name(nth);
            let path = packages.join(format!("{name}.tgz"));
            let archive = self.archive(nth).map_err(OpError::at("pack", &path))?;
            fs::File::create(&path)
                .and_then(|mut file| file.write_all(&archive))
                .map_err(OpError::at("write", &path))?;
            let from = format!("file:../packages/{name}.tgz");
            let integrity = format!("sha512-{}", STANDARD.encode(Sha512::digest(&archive)));
            locked.insert(
                format!("node_modules/{name}"),
                json!({
                    "version": VERSION,
                    "resolved": from,
                    "integrity": integrity,
                    "license": "MIT",
                    "dependencies": self.asked_for(nth),
                }),
            );
            asked.insert(name, json!(from));
        }
        let manifest = json!({"name": "app", "version": VERSION, "dependencies": asked});
        locked.insert(String::new(), manifest.clone());
        let lock = json!({
            "name": "app",
            "version": VERSION,
            "lockfileVersion": 3,
            "requires": true,
            "packages": locked,
        });
        for (name, value) in [("package.json", manifest), ("package-lock.json", lock)] {
            let path = app.join(name);
            fs::write(&path, format!("{value:#}\n")).map_err(OpError::at("write", &path))?;
        }
        Ok(())
    }

    /// Checks that `npm ls --parseable` has named every package: a line each, and one for the
    /// project.
    fn all_listed(&self, said: &str) -> Result<(), Failure> {
        let listed = said.lines().filter(|line| line.contains("/node_modules/")).count() as u64;
        if listed == self.count {
            return Ok(());
        }
        Err(Failure::Verify(format!("npm ls names {listed} of {} packages", self.count)))
    }

    /// Compares what npm made with what was packed.
    fn compare(&self, tree: &Path) -> Result<(), Failure> {
        for nth in 0..self.count {
            let place = tree.join(Packages::name(nth));
            let packed = self.contents(nth);
            for (name, text) in &packed {
                let path = place.join(name);
                let found = fs::read(&path).map_err(OpError::at("read", &path)).map_err(setup)?;
                if found != text.as_bytes() {
                    let why = format!("{} is not what was packed", path.display());
                    return Err(Failure::Verify(why));
                }
            }
            let found = listed::files(&place).map_err(setup)?.len();
            if found != packed.len() {
                let why = format!("{} has {found} files, not {}", place.display(), packed.len());
                return Err(Failure::Verify(why));
            }
        }
        Ok(())
    }
}
