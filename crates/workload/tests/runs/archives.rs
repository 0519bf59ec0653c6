//! Archives as people have them: what `tree` unpacks is what GNU tar unpacks.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use skippable::{Ending, needs_program};
use workload::Inputs;
use workload::corpora::source_tree;

use crate::support::{run, scratch};

/// Where the tree to pack lies below a scratch directory.
const SOURCE: &str = "source";

fn command(directory: &Path, words: &[&str]) {
    let output = Command::new(words[0]).current_dir(directory).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", output.stderr.escape_ascii());
}

/// A tree with what archives are asked to keep: names of any bytes, links, holes, far times.
fn source(home: &Path) {
    let source = home.join(SOURCE);
    let deep = source.join("d".repeat(90)).join("e".repeat(200));
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(source.join("empty")).unwrap();
    fs::set_permissions(source.join("empty"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(deep.join("f".repeat(255)), vec![7u8; 25_000]).unwrap();
    fs::write(source.join("one"), b"one").unwrap();
    fs::write(source.join(OsStr::from_bytes(b"caf\xe9 \xff\x80")), b"no UTF-8").unwrap();
    fs::hard_link(source.join("one"), source.join("two")).unwrap();
    symlink("one", source.join("link")).unwrap();
    symlink(OsStr::from_bytes(b"\xa0/nowhere"), source.join("dangling")).unwrap();
    symlink("x".repeat(500), source.join("long")).unwrap();
    let holes = File::create(source.join("holes")).unwrap();
    holes.set_len(3 << 20).unwrap();
    for piece in 0..30 {
        holes.write_all_at(b"data", piece * 90_000 + 512).unwrap();
    }
    File::create(source.join("only a hole")).unwrap().set_len(70_000).unwrap();
    for (name, time) in [("early", "@-1000"), ("late", "@32503680000"), ("half", "@12.5")] {
        fs::write(source.join(name), name).unwrap();
        command(&source, &["touch", "-d", time, name]);
    }
}

/// What is in a tree: of each path its kind, mode, size, time, owner and contents. Those of a
/// symbolic link are not ours to set, nor is the owner of a directory.
fn contents(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            let time = (data.mtime(), data.mtime_nsec());
            let mode = data.mode() & 0o777;
            let facts = if data.is_symlink() {
                format!("{:?}", fs::read_link(&path).unwrap())
            } else if data.is_dir() {
                open.push(path.clone());
                format!("directory {mode:o} {time:?}")
            } else {
                let bytes = fs::read(&path).unwrap();
                let sum = bytes
                    .iter()
                    .fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
                let owner = (data.uid(), data.gid());
                let (links, size, blocks) = (data.nlink(), data.len(), data.blocks());
                format!("{mode:o} {time:?} {owner:?} {links} {size} {blocks} {sum:x}")
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), facts);
        }
    }
    found
}

/// Unpacks an archive with `tree` and with GNU tar and compares.
fn unpacked_as_by_tar(home: &Path, archive: &Path) {
    let shown = archive.display();
    let cache = home.join("cache");
    let plain = source_tree::ensure(&cache, archive, 1.0).unwrap();
    let target = scratch();
    let inputs = Inputs { source_tree: Some(plain), ..Inputs::default() };
    let ran = run("tree", target.path(), &inputs, 1, "remove=off");
    assert!(ran.ended.is_ok(), "{shown}: {:?}", ran.ended);
    let theirs = target.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    command(&theirs, &["tar", "-xf", archive.to_str().unwrap(), "--warning=none"]);
    let (ours, theirs) = (contents(&target.path().join("tree/untarred")), contents(&theirs));
    assert!(ours.len() > 1);
    for (path, facts) in &theirs {
        assert_eq!(ours.get(path), Some(facts), "{shown}: {}", path.display());
    }
    assert_eq!(ours.len(), theirs.len(), "{shown}");
}

pub(crate) fn what_gnu_tar_packs_is_unpacked_as_by_gnu_tar() {
    let home = scratch();
    source(home.path());
    let ways: &[&[&str]] = &[
        &["--format=gnu", SOURCE],
        &["--format=gnu", "-S", SOURCE],
        &["--format=pax", SOURCE],
        &["--format=pax", "-S", SOURCE],
        &["--format=pax", "-S", "--sparse-version=0.0", SOURCE],
        &["--format=pax", "-S", "--sparse-version=0.1", SOURCE],
        &["--format=gnu", "-V", "a label", "-g", "snapshot", SOURCE],
        &["--format=pax", "--pax-option=comment=a b", "-C", SOURCE, "."],
        &["--transform", "s,^source/,source/.//./,S", "--owner=someone:3000000000", SOURCE],
        // Whatever comes twice has its last contents.
        &["--hard-dereference", SOURCE, SOURCE, "source/./one", "source//two"],
    ];
    for (number, words) in ways.iter().enumerate() {
        let archive = home.path().join(format!("{number}.tar"));
        let packing = ["tar", "-cf", archive.to_str().unwrap()];
        command(home.path(), &[&packing, *words].concat());
        unpacked_as_by_tar(home.path(), &archive);
    }
}

pub(crate) fn what_was_appended_replaces_what_was_there() {
    let home = scratch();
    source(home.path());
    let source = home.path().join(SOURCE);
    let archive = home.path().join("a.tar");
    let tar = |mode: &str| command(home.path(), &["tar", mode, archive.to_str().unwrap(), SOURCE]);
    tar("-cf");
    fs::write(source.join("one"), "another one").unwrap();
    fs::remove_file(source.join("late")).unwrap();
    fs::create_dir(source.join("late")).unwrap();
    fs::write(source.join("late/in"), "a directory").unwrap();
    fs::remove_file(source.join("link")).unwrap();
    fs::write(source.join("link"), "a file").unwrap();
    tar("-rf");
    unpacked_as_by_tar(home.path(), &archive);
}

pub(crate) fn compressed_archives_are_read_for_what_they_are() -> Ending {
    for (program, package) in [("zstd", "zstd"), ("bzip2", "bzip2")] {
        needs_program(program, package)?;
    }
    let home = scratch();
    source(home.path());
    for program in ["gzip", "xz", "bzip2", "zstd"] {
        // The name says nothing.
        let archive = home.path().join("archive");
        let packing = ["tar", "-I", program, "-cf", archive.to_str().unwrap(), SOURCE];
        command(home.path(), &packing);
        unpacked_as_by_tar(home.path(), &archive);
        let bytes = fs::read(&archive).unwrap();
        let cut = home.path().join(format!("cut.{program}"));
        fs::write(&cut, &bytes[..bytes.len() - 40]).unwrap();
        let error = source_tree::ensure(&home.path().join("cache"), &cut, 1.0).unwrap_err();
        let said = format!("cannot be unpacked: it is cut off or damaged: {program}: ");
        assert!(error.to_string().contains(&said), "{error}");
    }
    // As gzip, which takes what follows the last part for no part.
    let archive = home.path().join("parts.tar.gz");
    command(home.path(), &["tar", "-czf", archive.to_str().unwrap(), SOURCE]);
    let mut bytes = fs::read(&archive).unwrap();
    bytes.extend_from_slice(&[0; 700]);
    fs::write(&archive, bytes).unwrap();
    unpacked_as_by_tar(home.path(), &archive);
    Ok(())
}

pub(crate) fn what_bsdtar_packs_is_unpacked_as_by_gnu_tar() -> Ending {
    needs_program("bsdtar", "libarchive-tools")?;
    let home = scratch();
    source(home.path());
    for format in ["pax", "gnutar"] {
        let archive = home.path().join(format!("{format}.tar"));
        let packing = ["bsdtar", "--format", format, "-cf", archive.to_str().unwrap(), SOURCE];
        command(home.path(), &packing);
        unpacked_as_by_tar(home.path(), &archive);
    }
    Ok(())
}

pub(crate) fn a_share_keeps_names_links_and_times_as_they_are() {
    let home = scratch();
    let source = home.path().join(SOURCE);
    fs::create_dir_all(source.join("a")).unwrap();
    // All bytes that are no UTF-8 by themselves.
    for byte in 0xa0..=0xff {
        let name = [&b"a/"[..], &[byte], b".txt"].concat();
        fs::write(source.join(OsStr::from_bytes(&name)), [byte]).unwrap();
        let link = [&[byte][..], b".link"].concat();
        symlink(OsStr::from_bytes(&name), source.join(OsStr::from_bytes(&link))).unwrap();
    }
    for format in ["gnu", "pax"] {
        let archive = home.path().join(format!("{format}.tar"));
        let format = format!("--format={format}");
        let packing = ["tar", &format, "--mtime=@-77", "-cf", archive.to_str().unwrap(), SOURCE];
        command(home.path(), &packing);
        let half = source_tree::ensure(&home.path().join("cache"), &archive, 0.5).unwrap();
        let [whole, half] = [&archive, &half].map(|archive| {
            let to = scratch();
            command(to.path(), &["tar", "-xf", archive.to_str().unwrap()]);
            contents(to.path())
        });
        assert!((60..140).contains(&half.len()), "{}", half.len());
        for (path, facts) in &half {
            assert_eq!(whole.get(path), Some(facts), "{}", path.display());
        }
        unpacked_as_by_tar(home.path(), &archive);
    }
}
