//! What a source tree may be, and what is refused before anything is made.

use std::process::Command;

use super::*;

fn archive(entries: &[(&str, tar::EntryType, &str)]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut builder = tar::Builder::new(file.reopen().unwrap());
    for (name, kind, link) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, &[][..]).unwrap();
    }
    builder.finish().unwrap();
    file
}

#[test]
fn what_gnu_tar_would_not_unpack_is_refused_with_the_member() {
    use tar::EntryType::{Block, Directory, Fifo, Link, Regular, Symlink};
    let refused = |entries: &[(&str, tar::EntryType, &str)]| {
        let archive = archive(entries);
        let error = facts(archive.path()).unwrap_err().to_string();
        let shown = format!("{} cannot be unpacked: ", archive.path().display());
        error.strip_prefix(&shown).unwrap().to_owned()
    };
    let out = "its name leads out of the directory";
    assert_eq!(refused(&[("a/../../x", Regular, "")]), format!("member a/../../x: {out}"));
    assert_eq!(refused(&[("/etc/x", Regular, "")]), format!("member /etc/x: {out}"));
    assert_eq!(
        refused(&[("a", Symlink, "/"), ("a/x", Regular, "")]),
        "member a/x: it lies behind the symbolic link a"
    );
    assert_eq!(refused(&[("a", Link, "../x")]), "member a: it is a link to ../x outside");
    assert_eq!(
        refused(&[("a", Link, "./b//c"), ("b/c", Regular, "")]),
        "member a: it is a hard link to b/c, which is not before it in the archive"
    );
    assert_eq!(refused(&[("a", Link, "")]), "member a: the link has no target");
    assert_eq!(refused(&[("a", Symlink, "")]), "member a: the link has no target");
    assert_eq!(
        refused(&[("d/", Directory, ""), ("a", Link, "d")]),
        "member a: it is a hard link to a directory"
    );
    assert_eq!(
        refused(&[("d/x", Regular, ""), ("d", Regular, "")]),
        "member d: an earlier member makes it a directory"
    );
    assert_eq!(
        refused(&[("d", Regular, ""), ("d/x", Regular, "")]),
        "member d/x: it lies below d, which is a file"
    );
    assert_eq!(
        refused(&[("./", Regular, "")]),
        "it holds no file (of a small share none may be left)"
    );
    assert_eq!(refused(&[("p", Fifo, "")]), "member p: it is a named pipe");
    assert_eq!(refused(&[("sda", Block, "")]), "member sda: it is a device");
    assert!(refused(&[("a/", Directory, "")]).contains("no file"));
}

#[test]
fn what_gnu_tar_replaces_and_tidies_is_taken() {
    use tar::EntryType::{Directory, Link, Regular, Symlink};
    let taken = |entries: &[(&str, tar::EntryType, &str)]| {
        let TreeFacts { entries, files, bytes } = facts(archive(entries).path()).unwrap();
        (entries, files, bytes)
    };
    assert_eq!(
        taken(&[("a/", Directory, ""), ("a/x", Regular, ""), ("l", Symlink, "a")]),
        (3, 2, 0)
    );
    assert_eq!(
        taken(&[("./", Directory, ""), ("./a//x", Regular, ""), ("l", Link, "a/./x")]),
        (4, 2, 0)
    );
    assert_eq!(taken(&[("x", Regular, ""), ("x", Regular, ""), ("x", Link, "x")]), (3, 3, 0));
    assert_eq!(
        taken(&[("x", Regular, ""), ("x/", Directory, ""), ("x/y", Regular, "")]),
        (3, 2, 0)
    );
    // Directories that it does not name are made too.
    assert_eq!(taken(&[("a/b/c/x", Regular, ""), ("a/b/y", Regular, "")]), (5, 2, 0));
}

/// A file that is none of these, or not whole.
#[test]
fn what_is_no_tar_is_named_for_what_it_is() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("cache");
    let message = |contents: &[u8]| {
        let path = home.path().join("given");
        fs::write(&path, contents).unwrap();
        let error = ensure(&cache, &path, 1.0).and_then(|tar| facts(&tar)).unwrap_err();
        let shown = format!("{} cannot be unpacked: ", path.display());
        error.to_string().strip_prefix(&shown).unwrap().to_owned()
    };
    assert_eq!(message(b""), "it is empty");
    assert_eq!(message(b"short"), "it is no tar");
    assert_eq!(message(&[b'x'; 4000]), "it is no tar");
    assert_eq!(message(b"PK\x03\x04, and more"), "it is a zip archive, not a tar");
    assert!(message(b"\x1f\x8b, and no more").starts_with("it is cut off or damaged: gzip: "));
    assert_eq!(message(&[0; 1024]), "it holds no file (of a small share none may be left)");
    let whole = fs::read(packed(home.path(), "-c", "whole.tar")).unwrap();
    let cut = message(&whole[..100_000]);
    assert!(cut.starts_with("it is cut off in or after member src/"), "{cut}");
    let mut changed = whole.clone();
    // The name of the third member.
    let mut third =
        (1..).map(|block| block * 512).filter(|at| whole[at + 257..].starts_with(b"ustar"));
    changed[third.nth(1).unwrap()] ^= 1;
    let damaged = message(&changed);
    assert!(damaged.starts_with("it is damaged after member src/"), "{damaged}");
    let twice = home.path().join("twice.gz");
    let gzip = |from: &Path| {
        let packed = Command::new("gzip").arg("-c").arg(from).output().unwrap().stdout;
        fs::write(&twice, &packed).unwrap();
        packed
    };
    gzip(&home.path().join("whole.tar"));
    assert_eq!(message(&gzip(&twice)), "it is compressed twice, not a tar");
    let here = ensure(&cache, home.path(), 1.0).unwrap_err().to_string();
    assert!(here.ends_with("it is a directory; pack it first: tar -cf TREE.tar DIR"), "{here}");
}

#[test]
fn names_are_read_and_shown_alike() {
    for text in ["synthetic", "linux-6.1", "linux-6.1:share=0.25", "own:/a/b.tar.gz"] {
        assert_eq!(text.parse::<TreeChoice>().unwrap().to_string(), text);
    }
    let message = |text: &str| text.parse::<TreeChoice>().unwrap_err().to_string();
    assert!(message("linux-6.1:share=0").contains("above 0"));
    assert!(message("linux-5").contains("use synthetic, linux-6.1"));
    assert!(message("own").contains("own:PATH"));
}

/// A tree with long names, links and 300 files, packed by GNU tar with this option.
fn packed(directory: &Path, option: &str, name: &str) -> PathBuf {
    let deep = directory.join("src").join("d".repeat(90)).join("e".repeat(90));
    fs::create_dir_all(&deep).unwrap();
    for number in 0..300 {
        fs::write(deep.join(format!("file{number}")), vec![7u8; number * 10]).unwrap();
    }
    let _ = std::os::unix::fs::symlink("file1", deep.join("link"));
    let archive = directory.join(name);
    let status = Command::new("tar")
        .arg(option)
        .arg("-f")
        .arg(&archive)
        .arg("-C")
        .arg(directory)
        .arg("src")
        .status();
    assert!(status.unwrap().success());
    archive
}

#[test]
fn archives_of_each_kind_give_the_same_tree() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("cache");
    let whole = TreeFacts { entries: 304, files: 301, bytes: 448_500 };
    for (option, name) in [("-c", "a.tar"), ("-cz", "a.tar.gz"), ("-cJ", "a.tar.xz")] {
        let archive = packed(home.path(), option, name);
        let made = ensure(&cache, &archive, 1.0).unwrap();
        assert_eq!(facts(&made).unwrap(), whole, "{name}");
        assert_eq!(made == fs::canonicalize(&archive).unwrap(), name == "a.tar");
        let half = ensure(&cache, &archive, 0.5).unwrap();
        let of_half = facts(&half).unwrap();
        assert!((100..200).contains(&of_half.files), "{of_half:?}");
        assert_eq!(of_half.entries, of_half.files + 3, "with the directories they are in");
        assert_eq!(ensure(&cache, &archive, 0.5).unwrap(), half, "made once");
    }
    let damaged = home.path().join("b.tar.xz");
    let bytes = fs::read(home.path().join("a.tar.xz")).unwrap();
    fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    let message = ensure(&cache, &damaged, 1.0).unwrap_err().to_string();
    assert!(message.contains("b.tar.xz") && message.contains("damaged"), "{message}");
    let left = fs::read_dir(&cache).unwrap().flatten();
    assert!(left.filter(|e| e.path().extension() == Some("unfinished".as_ref())).count() == 0);
}
