//! What is defined: sets of files and flowops, from their attributes.

use super::attributes::Attributes;
use super::kinds::Does;
use super::law::{Law, Shape};
use super::{Access, DESCRIPTORS, FileSet, Flowop, Problem, Target};

/// The most files of a set, as elsewhere.
const ENTRIES_MAX: u64 = 10_000_000;

pub(super) fn file_set(
    line: usize,
    is_single: bool,
    mut of: Attributes,
) -> Result<FileSet, Problem> {
    let wrong = |what: String| Problem::at(line, what);
    let name = of.text("name")?.ok_or_else(|| wrong("the fileset has no name".to_owned()))?;
    let path = of.text("path")?.unwrap_or_default();
    if path == "/dev" || path.starts_with("/dev/") {
        let what = format!(
            "path={path}: it names a device; the filesystem under test is named \
                            with --fs and --testbed"
        );
        return Err(wrong(what));
    }
    let size = of.law("size")?.unwrap_or_else(|| Law::constant(1024));
    // Filebench 1.4 draws sizes around the one that is given.
    let size = match (of.number("filesizegamma")?, size.fixed()) {
        (Some(gamma), Some(mean)) if gamma > 0 => {
            let shape = Shape::Gamma { mean: mean as f64, shape: gamma as f64 / 1e3 };
            Law::of(shape)
        }
        _ => size,
    };
    let entries = of.number("entries")?.unwrap_or(if is_single { 1 } else { 0 });
    let width = of.number("dirwidth")?.unwrap_or(if is_single { 10 } else { 0 });
    let gamma = of.number("dirgamma")?.unwrap_or(if is_single { 0 } else { 1500 });
    let percent = of.percent("prealloc")?;
    for (not_done, why) in [
        ("leafdirs", "directories without files are not known here"),
        ("dirdepthrv", "depths that a random variable draws are not known here"),
    ] {
        if of.take(not_done).is_some() {
            return Err(wrong(format!("{not_done}: {why}; leave it out")));
        }
    }
    // Each trial begins on a fresh filesystem, and files are made before the clock.
    for ignored in ["paralloc", "reuse", "trusttree", "cached"] {
        of.take(ignored);
    }
    let access = match (of.switch("readonly")?, of.switch("writeonly")?) {
        (true, true) => return Err(wrong("readonly and writeonly".to_owned())),
        (true, false) => Access::ReadOnly,
        (false, true) => Access::WriteOnly,
        (false, false) => Access::ReadWrite,
    };
    of.end("define fileset")?;
    if !(1..=ENTRIES_MAX).contains(&entries) {
        return Err(wrong(format!("entries={entries} is not from 1 to {ENTRIES_MAX}")));
    }
    Ok(FileSet { line, name, entries, size, width, gamma, percent, access })
}

/// A flowop and the name of its set.
pub(super) fn flowop(
    line: usize,
    does: Does,
    mut of: Attributes,
) -> Result<(Flowop, Option<String>), Problem> {
    let zero = || Law::constant(0);
    let descriptor = |number: Option<u64>, name: &str| match number.unwrap_or(0) {
        fd if fd < DESCRIPTORS as u64 => Ok(fd as usize),
        fd => Err(Problem::at(line, format!("{name}={fd} is not below {DESCRIPTORS}"))),
    };
    let name = of.text("name")?.unwrap_or_else(|| does.word().to_owned());
    let set = of.text("filename")?;
    if of.take("indexed").is_some() {
        let what = "indexed: files are taken in turn here, none by a drawn index; leave it out";
        return Err(Problem::at(line, what));
    }
    let flowop = Flowop {
        line,
        does,
        set: None,
        fd: descriptor(of.number("fd")?, "fd")?,
        srcfd: descriptor(of.number("srcfd")?, "srcfd")?,
        iosize: of.law("iosize")?.unwrap_or_else(zero),
        iters: of.law("iters")?.unwrap_or_else(|| Law::constant(1)),
        value: match does {
            Does::Print => {
                of.take("value");
                zero()
            }
            _ => of.law("value")?.unwrap_or_else(zero),
        },
        workingset: of.number("workingset")?.unwrap_or(0),
        random: of.switch("random")?,
        opennext: of.switch("opennext")?,
        dsync: of.switch("dsync")?,
        direct: of.switch("directio")?,
        no_readahead: of.switch("noreadahead")?,
        blocking: of.switch("blocking")?,
        highwater: of.number("highwater")?.unwrap_or(1),
        target: of.text("target")?.map_or(Target::None, Target::Named),
        name,
    };
    of.end(&format!("flowop {}", does.word()))?;
    Ok((flowop, set))
}
