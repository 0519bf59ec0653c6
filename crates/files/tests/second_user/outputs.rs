//! Outputs in a directory of the other user's.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use files::{Directory, FileError, Output, read_text, write_output};
use skippable::Ending;

use crate::scene::{Attempt, OTHER_USER, ROUNDS, Scene, let_other_user};

fn put(path: &Path, text: &str) -> Result<(), FileError> {
    write_output(path, |file| {
        let failed = |source| FileError { step: "write", path: path.to_owned(), source };
        file.write_all(text.as_bytes()).map_err(failed)
    })
}

pub(crate) fn planted_outputs() -> Attempt {
    let scene = Scene::new()?;
    let attack = scene.attack(
        "unlink('report.html'); symlink(\"$precious/file\", 'report.html'); \
         for (glob '.fstrial-*') { unlink($_); symlink(\"$precious/file\", $_) } \
         unlink('report.html'); mkdir('report.html'); rmdir('report.html')",
    )?;
    let path = scene.theirs.join("report.html");
    let mut written = 0u64;
    for _ in 0..ROUNDS {
        written += u64::from(put(&path, "a report").is_ok());
    }
    attack.end()?;
    println!("{written} written");
    if written == 0 {
        return Err("nothing was ever written: nothing was tested".into());
    }
    scene.check()
}

/// The other user exchanges his symlink for one of root's, which root made there for another
/// reason: neither leads root anywhere.
pub(crate) fn exchanged_symlinks() -> Attempt {
    let scene = Scene::new()?;
    let ours = scene.beside("ours", 0o755)?;
    symlink(ours.join("page.html"), scene.theirs.join("own.html"))?;
    scene.once("symlink(\"$precious/file\", 'page.html')")?;
    let attack = scene.attack("exchange('own.html', 'page.html')")?;
    let path = scene.theirs.join("page.html");
    for _ in 0..ROUNDS {
        let error = put(&path, "a report").unwrap_err().to_string();
        assert!(error.contains("symlink of user") || error.contains("put in its place"), "{error}");
    }
    attack.end()?;
    assert_eq!(fs::read_dir(&ours)?.count(), 0, "root's own symlink was followed");
    scene.check()
}

pub(crate) fn refused_outputs() -> Attempt {
    let scene = Scene::new()?;
    let waits = || panic!("it waits for a reader");
    scene.once(
        "symlink(\"$precious/file\", 'link'); symlink('/etc', 'up'); system('mkfifo', 'pipe')",
    )?;
    for (name, why) in [("link", "symlink of user"), ("pipe", "pipe"), ("up/report", "symlink")] {
        let error =
            Output::open(&scene.theirs.join(name), waits).map_err(|error| error.to_string());
        match error {
            Err(text) if text.contains(why) => {}
            other => return Err(format!("{name}: {other:?}").into()),
        }
    }
    let error = read_text(&scene.theirs.join("link")).unwrap_err().to_string();
    assert!(error.contains("symlink of user"), "{error}");
    // Root's own symlinks and pipes there could be hard links of others, or have been renamed.
    symlink(scene.precious.join("new"), scene.theirs.join("own"))?;
    let pipe = scene.precious.with_file_name("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)?;
    let open = scene.beside("open", 0o1777)?;
    for directory in [&scene.theirs, &open] {
        fs::hard_link(&pipe, directory.join("a pipe"))?;
        symlink(scene.precious.join("new"), directory.join("a link"))?;
        for name in ["a pipe", "a link"] {
            let error = Output::open(&directory.join(name), waits).unwrap_err().to_string();
            assert!(error.contains("put"), "{name}: {error}");
        }
    }
    // What is above a directory of his is where he moved it.
    let his = open.join("his");
    fs::create_dir(&his)?;
    std::os::unix::fs::chown(&his, Some(OTHER_USER), Some(OTHER_USER))?;
    let error = Output::open(&his.join("../report"), waits).unwrap_err().to_string();
    assert!(error.contains("put in its place"), "{error}");
    // Where his process is, is his choice too.
    let attack = scene.attack("select(undef, undef, undef, 0.1)")?;
    let there = format!("/proc/{}/cwd/report", attack.process());
    let error = Output::open(Path::new(&there), waits).unwrap_err().to_string();
    assert!(error.contains("symlink of user"), "{error}");
    attack.end()?;
    // In a directory of root's, root's own symlink is root's word.
    let ours = scene.beside("ours", 0o755)?;
    symlink(ours.join("new"), ours.join("own"))?;
    Output::open(&ours.join("own"), || ())?;
    scene.check()
}

/// A file of his may be open to all, as he likes; what root puts in its place is root's.
pub(crate) fn replaced_file() -> Attempt {
    let scene = Scene::new()?;
    let report = scene.beside("ours", 0o755)?.join("report");
    fs::write(&report, "his")?;
    std::os::unix::fs::chown(&report, Some(OTHER_USER), Some(OTHER_USER))?;
    fs::set_permissions(&report, fs::Permissions::from_mode(0o666))?;
    put(&report, "ours")?;
    assert_eq!(fs::read(&report)?, b"ours");
    assert_eq!(fs::metadata(&report)?.permissions().mode() & 0o777, 0o600);
    scene.check()
}

/// A default ACL gives the other user all that root makes, as far as its mode allows.
pub(crate) fn inherited_lists() -> Ending {
    let scene = Scene::new().unwrap();
    let shared = scene.beside("shared", 0o755).unwrap();
    let_other_user(&shared, "default")?;
    let report = shared.join("report");
    put(&report, "first").unwrap();
    // The group may write to the report that is replaced, and the other user may not.
    fs::set_permissions(&report, fs::Permissions::from_mode(0o664)).unwrap();
    put(&report, "ours").unwrap();
    assert_eq!(fs::metadata(&report).unwrap().permissions().mode() & 0o777, 0o664);
    let held = Directory::hold(&shared).unwrap();
    let mut log = held.new_output("log").unwrap();
    log.write_all(b"ours").unwrap();
    let again = held.new_output("log").unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    let deep = Directory::hold_or_make_for_outputs(&shared.join("a/b")).unwrap();
    deep.new_output("log").unwrap().write_all(b"ours").unwrap();
    held.make_directory("made").unwrap();
    let attempt = "for (qw(report log a/b/log)) { exit 1 if open(my $f, '>>', \"../shared/$_\") } \
                   for (qw(a a/b made)) { exit 1 if mkdir(\"../shared/$_/planted\") }";
    assert!(scene.once(attempt).unwrap(), "the other user could write");
    for name in ["report", "log", "a/b/log"] {
        assert_eq!(fs::read(shared.join(name)).unwrap(), b"ours", "{name}");
    }
    scene.check().unwrap();
    Ok(())
}
