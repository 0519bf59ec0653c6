//! Another user of the machine swaps, plants and renames while root works. Needs root, to
//! become that user; says `ignored` otherwise.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use files::{Directory, FileError, beyond_others, empty, private_directory, write_output};
use skippable::{Ending, needs_program, needs_root};

/// `nobody`.
const OTHER_USER: u32 = 65534;
/// How often root works while the other user is at it.
const ROUNDS: u64 = 10_000;

type Attempt = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    skippable::run(&[
        ("a_directory_that_is_swapped_stays_the_one_that_was_made", || attempt(swapped_directory)),
        ("an_output_is_never_led_elsewhere", || attempt(planted_outputs)),
        ("symlinks_and_pipes_of_another_user_are_refused", || attempt(refused_outputs)),
        ("a_cache_of_another_user_is_not_believed", || attempt(another_users_cache)),
        ("a_cache_that_another_user_swaps_is_ours_or_refused", || attempt(swapped_cache)),
        ("a_cache_is_not_led_elsewhere_by_a_symlink", || attempt(led_cache)),
        ("a_path_that_another_user_can_change_is_told", || attempt(path_in_reach)),
    ])
}

fn attempt(test: fn() -> Attempt) -> Ending {
    needs_root()?;
    needs_program("perl", "perl")?;
    test().unwrap();
    Ok(())
}

/// A directory of the other user with a precious one of root's beside it and one inside.
struct Scene {
    _room: tempfile::TempDir,
    theirs: PathBuf,
    precious: PathBuf,
}

impl Scene {
    fn new() -> io::Result<Scene> {
        let room = tempfile::tempdir()?;
        fs::set_permissions(room.path(), fs::Permissions::from_mode(0o755))?;
        let (theirs, precious) = (room.path().join("theirs"), room.path().join("precious"));
        fs::create_dir(&theirs)?;
        std::os::unix::fs::chown(&theirs, Some(OTHER_USER), Some(OTHER_USER))?;
        for directory in [&precious, &theirs.join("root-kept")] {
            fs::create_dir(directory)?;
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
            fs::write(directory.join("file"), "precious")?;
        }
        Ok(Scene { _room: room, theirs, precious })
    }

    /// The other user at work: a loop of perl .
    fn attack(&self, round: &str) -> io::Result<Attack> {
        let script = format!(
            "$| = 1; my ($dir, $precious) = @ARGV; chdir $dir or die; my $n = 0; \
             while (1) {{ {round}; $n++; print \"at it\\n\" if $n == 1 }}"
        );
        let mut child = Command::new("perl")
            .arg("-e")
            .arg(script)
            .args([&self.theirs, &self.precious])
            .uid(OTHER_USER)
            .gid(OTHER_USER)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut said = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        said.read_exact(&mut [0; 6])?;
        Ok(Attack(child))
    }

    /// That what is root's is what it was, wherever the other user moved it.
    fn check(&self) -> Attempt {
        let kept = |path: &Path| fs::read(path.join("file")).is_ok_and(|text| text == b"precious");
        let count = |path: &Path| fs::read_dir(path).map(Iterator::count).unwrap_or(0);
        if !kept(&self.precious) || count(&self.precious) != 1 {
            return Err("a directory outside was changed".into());
        }
        let mut inside = fs::read_dir(&self.theirs)?.flatten().map(|entry| entry.path());
        match inside.find(|path| kept(path)) {
            Some(path) if count(&path) == 1 => Ok(()),
            _ => Err("root's directory in the other user's was changed".into()),
        }
    }
}

struct Attack(Child);

impl Attack {
    /// That the other user has been at work all the time.
    fn end(mut self) -> Attempt {
        match self.0.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the other user stopped: {status}").into()),
        }
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn swapped_directory() -> Attempt {
    let scene = Scene::new()?;
    let attack = scene.attack(
        "my $k = $n % 3; \
         rename('ours', 'moved' . ($n % 50)) or rmdir('ours'); \
         if ($k == 0) { symlink($precious, 'ours') } \
         elsif ($k == 1) { rename('root-kept', 'ours') } \
         else { mkdir('ours'); symlink(\"$precious/file\", 'ours/file') } \
         unlink('ours/file'); unlink('ours') if -l 'ours'; rename('ours', 'root-kept') \
            if $k == 1",
    )?;
    let parent = Directory::hold(&scene.theirs)?;
    let (mut whole, mut told) = (0u64, 0u64);
    for _ in 0..ROUNDS {
        match once_in(&parent) {
            Ok(()) => whole += 1,
            Err(_) => told += 1,
        }
    }
    attack.end()?;
    println!("{whole} whole, {told} with an error");
    if told == 0 {
        return Err("the other user never came between: nothing was tested".into());
    }
    scene.check()
}

/// What a trial does with its directory: made, filled, emptied, removed.
fn once_in(parent: &Directory) -> Result<(), FileError> {
    let fail = |source| FileError { step: "work in", path: parent.path().to_owned(), source };
    let made = parent.make_directory("ours")?;
    let identity = made.identity().map_err(fail)?;
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CREATE;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let file = rustix::fs::openat(&made, "file", flags, mode).map_err(|e| fail(e.into()))?;
    fs::File::from(file).write_all(b"zeros").map_err(fail)?;
    empty(&made, c"none").map_err(fail)?;
    parent.remove_child("ours", identity).map_err(fail)
}

fn planted_outputs() -> Attempt {
    let scene = Scene::new()?;
    let attack = scene.attack(
        "unlink('report.html'); symlink(\"$precious/file\", 'report.html'); \
         for (glob '.fstrial-*') { unlink($_); symlink(\"$precious/file\", $_) } \
         unlink('report.html'); mkdir('report.html'); rmdir('report.html')",
    )?;
    let path = scene.theirs.join("report.html");
    let mut written = 0u64;
    for _ in 0..ROUNDS {
        let ended: Result<(), FileError> = write_output(&path, |file| {
            file.write_all(b"a report").map_err(|source| FileError {
                step: "write",
                path: path.clone(),
                source,
            })
        });
        written += u64::from(ended.is_ok());
    }
    attack.end()?;
    println!("{written} written");
    scene.check()
}

fn refused_outputs() -> Attempt {
    let scene = Scene::new()?;
    let status = Command::new("perl")
        .args([
            "-e",
            "chdir $ARGV[0]; symlink($ARGV[1], 'link'); symlink('/etc', 'up'); \
                      system('mkfifo', 'pipe'); exit 0",
        ])
        .args([&scene.theirs, &scene.precious.join("file")])
        .uid(OTHER_USER)
        .gid(OTHER_USER)
        .status()?;
    assert!(status.success());
    for (name, why) in [("link", "symlink of user"), ("pipe", "pipe"), ("up/report", "symlink")] {
        let path = scene.theirs.join(name);
        let error = files::check_output(&path).map_err(|error| error.to_string());
        match error {
            Err(text) if text.contains(why) => {}
            other => return Err(format!("{name}: {other:?}").into()),
        }
    }
    // Root's own symlink in there is root's word.
    symlink(scene.precious.join("new"), scene.theirs.join("own"))?;
    files::check_output(&scene.theirs.join("own"))?;
    scene.check()
}

fn another_users_cache() -> Attempt {
    let scene = Scene::new()?;
    let cache = scene.theirs.join("fstrial/lab");
    match private_directory(&cache).map_err(|error| error.to_string()) {
        Err(text) if text.contains("belongs to user 65534") => {}
        other => return Err(format!("{other:?}").into()),
    }
    let open = scene.precious.join("open");
    fs::create_dir(&open)?;
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777))?;
    assert!(private_directory(&open.join("fstrial")).is_err());
    fs::remove_dir_all(&open)?;
    private_directory(&scene.precious)?;
    scene.check()
}

/// In a directory where all may write, such as `/tmp`, the other user is there first, or not.
fn swapped_cache() -> Attempt {
    let scene = Scene::new()?;
    let open = scene.theirs.with_file_name("open");
    fs::create_dir(&open)?;
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777))?;
    let attack = scene.attack(
        "my $c = '../open/cache'; \
         if ($n % 2) { mkdir($c); mkdir(\"$c/lab\"); rmdir(\"$c/lab\"); rmdir($c) } \
         else { symlink($precious, $c); unlink($c) }",
    )?;
    let (cache, inside) = (open.join("cache"), open.join("cache/lab"));
    let (mut ours, mut refused) = (0u64, 0u64);
    for _ in 0..ROUNDS {
        match private_directory(&inside) {
            Err(_) => refused += 1,
            Ok(real) => {
                ours += 1;
                for directory in [&cache, &inside] {
                    let found = fs::symlink_metadata(directory)?;
                    if !found.is_dir() || found.uid() != 0 {
                        return Err(format!("{} is believed", directory.display()).into());
                    }
                }
                assert_eq!(real, inside.canonicalize()?);
                fs::remove_dir(&inside)?;
            }
        }
        // Root's own is in the other user's way; not empty, or another's, it stays.
        if fs::symlink_metadata(&cache).is_ok_and(|found| found.uid() == 0) {
            let _ = fs::remove_dir(&cache);
        }
    }
    attack.end()?;
    println!("{ours} ours, {refused} refused");
    if ours == 0 || refused == 0 {
        return Err("only one of the two came first: nothing was tested".into());
    }
    scene.check()
}

fn led_cache() -> Attempt {
    let scene = Scene::new()?;
    let plant = "chdir $ARGV[0]; symlink($ARGV[1], 'cache'); exit 0";
    let mut other = Command::new("perl");
    other.args(["-e", plant]).args([&scene.theirs, &scene.precious]);
    assert!(other.uid(OTHER_USER).gid(OTHER_USER).status()?.success());
    match private_directory(&scene.theirs.join("cache/fstrial")) {
        Err(error) if error.to_string().contains("symlink of user 65534") => {}
        other => return Err(format!("{other:?}").into()),
    }
    scene.check()
}

fn path_in_reach() -> Attempt {
    let scene = Scene::new()?;
    beyond_others(&scene.precious)?;
    assert!(beyond_others(&scene.theirs).is_err());
    assert!(beyond_others(&scene.theirs.join("root-kept")).is_err());
    let status = Directory::hold(&scene.theirs)?.status_of(OsStr::new("root-kept"))?;
    assert_eq!(status.st_ino, fs::metadata(scene.theirs.join("root-kept"))?.ino());
    Ok(())
}
