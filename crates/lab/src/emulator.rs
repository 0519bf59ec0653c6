//! The emulator: QEMU, compiled from Debian's source package with the changes of crate
//! [`emulator`]. It needs no root: what the build needs beside a compiler is unpacked privately. The
//! result, one program without libraries and its firmware, is kept in the cache under a key of
//! everything it depends on. An interrupted build is continued.
//!
//! The work is done in `built/emulator-KEY.begun`, of which there is at most one.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::{Archives, Package, unpack};
use crate::building::{on_path, run};
use crate::cache::{key, link_tree};
use crate::error::LabError;
use crate::lock::Lock;
use crate::packages::Source;

/// To be changed whenever a change in this module makes a different emulator of the same source.
const RECIPE: &[u8] = b"1";
/// The emulator's directory, relative to the lab's and to that of a finished build.
pub(crate) const PLACE: &str = "emulator";
/// Its firmware, relative to that.
pub(crate) const FIRMWARE: &str = "firmware";
/// Programs of this machine that the build calls.
const PROGRAMS: [&str; 8] = ["gcc", "ld", "ar", "objcopy", "strip", "patch", "tar", "xz"];
/// The interpreter of the build's own programs, where Debian's `meson` expects it.
const PYTHON: &str = "/usr/bin/python3";
const HEADERS: &str = "/usr/include/stdio.h";
/// What is unpacked for the build; those of which a release has none are left out.
const PACKAGES: [&str; 11] = [
    "libglib2.0-dev",
    "libpcre2-dev",
    "libpixman-1-dev",
    "libpkgconf3",
    "meson",
    "ninja-build",
    "pkgconf",
    "pkgconf-bin",
    "python3-distutils",
    "seabios",
    "zlib1g-dev",
];
/// What the firmware consists of: from the package `seabios`, and compiled.
const BIOS: &str = "bios-256k.bin";
const ROMS: [(&str, &str); 2] = [("linuxboot_dma", "c"), ("kvmvapic", "S")];

/// A key of what this program makes of QEMU.
pub(crate) fn recipe() -> String {
    let mut parts = vec![RECIPE];
    parts.extend(emulator::recipe());
    key(&parts)[..12].to_owned()
}

/// Puts the emulator into `work`, an unfinished lab: a kept one, or else a newly compiled one.
/// Returns the packages it was made of.
///
/// # Errors
/// Each step's own: what is missing, which edit does not fit, what the compiler said.
pub(crate) fn build(
    (cache, name): (&Path, &str),
    work: &Path,
    progress: &mut dyn FnMut(crate::BuildProgress),
) -> Result<Vec<Package>, LabError> {
    let archives = Archives { source: Some(emulator::RELEASE), ..Archives::default() };
    // Of interrupted builds only the newest is kept.
    let lock = cache.join("emulator.lock");
    let _lock = Lock::take_for(&lock, "the emulator that is compiled", progress)?;
    let mut source = Source::new(cache, name, work, archives, Vec::new(), progress);
    let origin = source.source_package(emulator::PACKAGE)?;
    let needed = source.known(&PACKAGES)?;
    let built = cache.join("built");
    std::fs::create_dir_all(&built).map_err(LabError::at("create", &built))?;
    // Programs of the build run in directories of their own.
    let built = built.canonicalize().map_err(LabError::at("find", &built))?;
    let mut parts = vec![recipe()];
    parts.extend(origin.iter().chain(&needed).map(|package| package.version.clone()));
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    let name = format!("emulator-{}", key(&parts));
    let kept = built.join(&name);
    if !kept.is_dir() {
        compiler()?;
        let begun = built.join(format!("{name}.begun"));
        let mut site = Site { source: &mut source, begun };
        unpack_and_change(&mut site, &origin)?;
        unpack_needed(&mut site, &needed)?;
        configure(&mut site)?;
        compile(&mut site)?;
        collect(&site)?;
        std::fs::rename(site.at("result"), &kept).map_err(LabError::at("rename", &kept))?;
        std::fs::remove_dir_all(&site.begun).map_err(LabError::at("remove", &site.begun))?;
    }
    link_tree(&kept, &work.join(PLACE))?;
    Ok([origin, needed].concat())
}

/// Looks for what compiles it.
fn compiler() -> Result<(), LabError> {
    let mut missing: Vec<&str> =
        PROGRAMS.into_iter().filter(|program| on_path(program).is_none()).collect();
    for (file, name) in [(PYTHON, "python3"), (HEADERS, "libc6-dev")] {
        if !Path::new(file).exists() {
            missing.push(name);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let problem = format!(
        "the emulator is compiled here, and this machine has no {}; as root: apt-get install gcc \
         libc6-dev binutils python3 patch xz-utils; or `fstrial lab import` a lab that was \
         exported on another machine",
        missing.join(", ")
    );
    Err(LabError::value("the lab's emulator", problem))
}

/// Where it is compiled.
struct Site<'a, 's> {
    source: &'a mut Source<'s>,
    begun: PathBuf,
}

impl Site<'_, '_> {
    fn at(&self, name: &str) -> PathBuf {
        self.begun.join(name)
    }

    fn tell(&mut self, doing: impl Into<String>) {
        let doing = doing.into();
        (self.source.progress)(crate::BuildProgress::Part { part: "emulator", doing });
    }

    /// Makes a directory by `fill`. It appears under its name only when it is complete.
    fn make(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut Self, &Path) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let place = self.at(name);
        if place.is_dir() {
            return Ok(());
        }
        let half = self.at("half");
        if half.exists() {
            std::fs::remove_dir_all(&half).map_err(LabError::at("remove", &half))?;
        }
        std::fs::create_dir_all(&half).map_err(LabError::at("create", &half))?;
        fill(self, &half)?;
        std::fs::rename(&half, &place).map_err(LabError::at("rename", &half))
    }

    /// A program of the build, in the same environment for everyone.
    fn command(&self, program: &str, directory: &str) -> Command {
        let needed = self.at("needed/usr");
        let libraries = needed.join("lib/x86_64-linux-gnu");
        let root = self.at("needed");
        let mut command = Command::new(program);
        command
            .current_dir(self.at(directory))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", needed.join("bin").display()))
            .env("LC_ALL", "C")
            .env("HOME", &self.begun)
            .env("SOURCE_DATE_EPOCH", "1577836800")
            .env("LD_LIBRARY_PATH", &libraries)
            .env("PYTHONPATH", needed.join("lib/python3/dist-packages"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PKG_CONFIG", needed.join("bin/pkgconf"))
            .env("PKG_CONFIG_SYSROOT_DIR", &root)
            .env(
                "PKG_CONFIG_LIBDIR",
                format!(
                    "{}:{}",
                    libraries.join("pkgconfig").display(),
                    needed.join("share/pkgconfig").display()
                ),
            );
        command
    }
}

fn unpack_and_change(site: &mut Site<'_, '_>, origin: &[Package]) -> Result<(), LabError> {
    site.make("tree", |site, half| {
        let files = site.source.fetched_source("emulator", emulator::PACKAGE, origin)?;
        site.tell("unpacking its source");
        for (file, strip) in files.iter().zip(["1", "0"]) {
            let file = file.canonicalize().map_err(LabError::at("find", file))?;
            let mut tar = Command::new("tar");
            tar.args(["--extract", "--xz", "--no-same-owner", "--strip-components", strip]);
            run(tar.arg("--file").arg(file).current_dir(half), |_| {})?;
        }
        let patches = half.join("debian/patches");
        let series = patches.join("series");
        let text = std::fs::read_to_string(&series).map_err(LabError::at("read", &series))?;
        let names = text.lines().map(str::trim);
        for name in names.filter(|name| !name.is_empty() && !name.starts_with('#')) {
            let mut patch = Command::new("patch");
            patch.args(["-p1", "--silent", "--no-backup-if-mismatch", "--input"]);
            run(patch.arg(patches.join(name)).current_dir(half), |_| {})?;
        }
        emulator::change(half).map_err(|error| {
            LabError::value("the emulator's source", format!("{error}; it is of another version"))
        })
    })
}

fn unpack_needed(site: &mut Site<'_, '_>, needed: &[Package]) -> Result<(), LabError> {
    site.make("needed", |site, half| {
        let names: Vec<&str> = needed.iter().map(|package| package.name.as_str()).collect();
        for file in site.source.fetched("emulator's build", &names, false)? {
            unpack(&file, half)?;
        }
        files::without_set_id(half).map_err(LabError::from)
    })
}

fn configure(site: &mut Site<'_, '_>) -> Result<(), LabError> {
    site.make("build", |_, _| Ok(()))?;
    if site.at("build/build.ninja").is_file() && site.at("configured").is_file() {
        return Ok(());
    }
    site.tell(
        "configuring and compiling QEMU: about four minutes of processor time, once; an \
         interrupted build is continued",
    );
    let mut configure = site.command("../tree/configure", "build");
    configure
        .arg("--cc=gcc")
        .arg(format!("--meson={}", site.at("needed/usr/bin/meson").display()))
        .arg(format!("--ninja={}", site.at("needed/usr/bin/ninja").display()))
        .arg(format!("--with-pkgversion=fstrial {}", recipe()))
        .arg(format!("--extra-cflags=-ffile-prefix-map={}=.", site.begun.display()))
        .arg(format!("--extra-ldflags=-L{}", site.at("needed/usr/lib/x86_64-linux-gnu").display()))
        .args(emulator::CONFIGURATION);
    run(&mut configure, |_| {})?;
    let done = site.at("configured");
    std::fs::write(&done, "").map_err(LabError::at("write", &done))
}

fn compile(site: &mut Site<'_, '_>) -> Result<(), LabError> {
    let ninja = site.at("needed/usr/bin/ninja").display().to_string();
    let mut compile = site.command(&ninja, "build");
    let mut tenth = 0;
    run(compile.arg(emulator::PROGRAM), |line| {
        // A line begins `[12/1210]`.
        let steps = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let steps = steps.and_then(|(steps, _)| steps.split_once('/'));
        let Some((Ok(nth), Ok(of))) = steps.map(|(nth, of)| (nth.parse(), of.parse::<u32>()))
        else {
            return;
        };
        let nth: u32 = nth;
        if of > 100 && nth * 10 / of > tenth {
            tenth = nth * 10 / of;
            site.tell(format!("{nth} of {of} steps"));
        }
    })
}

/// Puts the program and its firmware into `result`.
fn collect(site: &Site<'_, '_>) -> Result<(), LabError> {
    let firmware = site.at("result").join(FIRMWARE);
    std::fs::create_dir_all(&firmware).map_err(LabError::at("create", &firmware))?;
    let program = site.at("result").join(emulator::PROGRAM);
    let mut strip = site.command("strip", "build");
    run(strip.arg("-o").arg(&program).arg(emulator::PROGRAM), |_| {})?;
    let bios = site.at("needed/usr/share/seabios").join(BIOS);
    std::fs::copy(&bios, firmware.join(BIOS)).map_err(LabError::at("copy", &bios))?;
    for (rom, kind) in ROMS {
        for (program, arguments) in [
            (
                "gcc",
                "-O2 -march=i486 -m16 -ffreestanding -fcf-protection=none -fno-pie \
                 -fno-stack-protector -I../tree/include -c ../tree/pc-bios/optionrom/ROM.KIND -o \
                 ROM.o",
            ),
            (
                "ld",
                "-m elf_i386 -nostdlib --build-id=none -T ../tree/pc-bios/optionrom/flat.lds -s \
                 -o ROM.img ROM.o",
            ),
            ("objcopy", "-O binary -j .text ROM.img ROM.raw"),
            (PYTHON, "../tree/scripts/signrom.py ROM.raw ROM.bin"),
        ] {
            let arguments = arguments.replace("ROM", rom).replace("KIND", kind);
            run(site.command(program, "build").args(arguments.split_whitespace()), |_| {})?;
        }
        let made = site.at("build").join(format!("{rom}.bin"));
        let place = firmware.join(format!("{rom}.bin"));
        std::fs::copy(&made, place).map_err(LabError::at("copy", &made))?;
    }
    Ok(())
}
