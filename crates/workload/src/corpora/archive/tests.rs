//! Members as they are read from archives that GNU tar and others write.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use super::*;

/// What `tar` with these arguments packs in `home`.
fn packed(home: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("tar").current_dir(home).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", output.stderr.escape_ascii());
    output.stdout
}

fn read(archive: &[u8]) -> Result<Vec<Member>, ArchiveError> {
    let mut reader = Reader::new(archive);
    let mut members = Vec::new();
    loop {
        let mut member = Member::default();
        if !reader.next(&mut member)? {
            return Ok(members);
        }
        members.push(member);
    }
}

fn only(archive: &[u8]) -> Member {
    let mut members = read(archive).unwrap();
    assert_eq!(members.len(), 1, "{members:?}");
    members.remove(0)
}

#[test]
fn a_sparse_file_is_the_same_in_every_version() {
    let home = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(home.path().join("holes")).unwrap();
    file.set_len(10 << 20).unwrap();
    for piece in 0..30 {
        use std::os::unix::fs::FileExt;
        file.write_all_at(b"data", piece * (256 << 10) + 4096).unwrap();
    }
    drop(file);
    for version in [
        &["--format=gnu"][..],
        &["--format=pax", "--sparse-version=0.0"],
        &["--format=pax", "--sparse-version=0.1"],
        &["--format=pax", "--sparse-version=1.0"],
    ] {
        let archive = packed(home.path(), &[version, &["-S", "-cf", "-", "holes"]].concat());
        let member = only(&archive);
        assert_eq!((member.path.as_slice(), member.size), (&b"holes"[..], 10 << 20), "{version:?}");
        assert!(member.sparse);
        let offsets: Vec<u64> = member.pieces.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(offsets.len(), 30, "{version:?}: {offsets:?}");
        assert_eq!(offsets[1], (256 << 10) + 4096);
        let mut reader = Reader::new(&archive[..]);
        let mut again = Member::default();
        assert!(reader.next(&mut again).unwrap());
        assert_eq!(&reader.piece().unwrap()[..6], b"data\0\0", "{version:?}");
        // Every shorter one is an error, and none a panic.
        for end in (0..archive.len()).step_by(256).filter(|end| *end > 0) {
            let cut = read(&archive[..end]);
            let whole = cut.is_ok_and(|members| members.len() == 1);
            assert!(!whole || end >= archive.len() - 10_240, "{version:?}: {end}");
        }
    }
}

#[test]
fn a_map_that_does_not_fit_is_refused() {
    let home = tempfile::tempdir().unwrap();
    std::fs::File::create(home.path().join("holes")).unwrap().set_len(1 << 20).unwrap();
    let archive =
        packed(home.path(), &["--format=pax", "--sparse-version=0.1", "-S", "-cf", "-", "holes"]);
    let map = b"GNU.sparse.map=1048576,0";
    let at = archive.windows(map.len()).position(|window| window == map).unwrap();
    for wrong in
        [&b"GNU.sparse.map=1048577,0"[..], b"GNU.sparse.map=1048576,9", b"GNU.sparse.map=10485760,"]
    {
        let mut changed = archive.clone();
        changed[at..at + map.len()].copy_from_slice(wrong);
        let error = read(&changed).unwrap_err().to_string();
        assert!(error.contains("map of holes") || error.contains("GNU.sparse.map"), "{error}");
    }
}

#[test]
fn names_are_bytes_without_dots_and_empty_parts() {
    let home = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::create_dir(home.path().join("a")).unwrap();
    std::fs::write(home.path().join("a").join(name), "x").unwrap();
    for format in ["--format=gnu", "--format=pax", "--format=ustar", "--format=v7"] {
        let members = read(&packed(home.path(), &[format, "-cf", "-", "./a"])).unwrap();
        let paths: Vec<_> = members.iter().map(|member| member.path.as_slice()).collect();
        assert_eq!(paths, [&b"a"[..], b"a/caf\xe9"], "{format}");
        assert_eq!(members[0].kind, Kind::Directory);
    }
    let twice = ["--transform", "s,^a,a/.//b,", "-cf", "-", "a"];
    let members = read(&packed(home.path(), &twice)).unwrap();
    assert_eq!(members[1].path, b"a/b/caf\xe9");
}

#[test]
fn times_and_owners_beyond_the_old_limits_are_kept() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("f"), "x").unwrap();
    let owner = "--owner=someone:3000000000";
    let far = [("--mtime=@-1000", -1000), ("--mtime=@32503680000", 32_503_680_000)];
    for (time, expected) in far {
        for format in ["--format=gnu", "--format=pax"] {
            let member = only(&packed(home.path(), &[format, owner, time, "-cf", "-", "f"]));
            assert_eq!(member.mtime, (expected, 0), "{format}");
            assert_eq!(member.owner.0, 3_000_000_000, "{format}");
        }
    }
    let half = only(&packed(home.path(), &["--format=pax", "--mtime=@-1.5", "-cf", "-", "f"]));
    assert_eq!(half.mtime, (-2, 500_000_000));
}

#[test]
fn labels_lists_of_directories_and_global_headers_are_no_files() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("d")).unwrap();
    std::fs::write(home.path().join("d/f"), "x").unwrap();
    let mut snapshots = 0;
    for format in ["--format=gnu", "--format=pax"] {
        snapshots += 1;
        let snapshot = format!("--listed-incremental=snapshot{snapshots}");
        for further in [&["-V", "my label"][..], &[&snapshot], &["--mode=0644"]] {
            let archive = packed(home.path(), &[&[format], further, &["-cf", "-", "d"]].concat());
            let members = read(&archive).unwrap();
            let kinds: Vec<_> = members.iter().map(|member| member.kind).collect();
            assert_eq!(kinds, [Kind::Directory, Kind::File], "{format} {further:?}");
        }
    }
    // What a member says of itself comes before what is said of all.
    let option = "--pax-option=mtime=12.5,comment=a b";
    let own = ["--format=pax", "--mtime=@7.25", option, "-cf", "-", "d/f"];
    assert_eq!(only(&packed(home.path(), &own)).mtime, (7, 250_000_000));
    let global = ["--format=pax", "--mtime=@7", option, "-cf", "-", "d/f"];
    assert_eq!(only(&packed(home.path(), &global)).mtime, (12, 500_000_000));
}
