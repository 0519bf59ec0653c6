//! Directories and files whose contents are trusted.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use files::{Directory, FileError, InReach, Reach, private_directory, private_file};
use skippable::Ending;

use crate::scene::{Attempt, OTHER_USER, ROUNDS, Scene, let_other_user};

pub(crate) fn another_users_cache() -> Attempt {
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
pub(crate) fn swapped_cache() -> Attempt {
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

pub(crate) fn led_cache() -> Attempt {
    let scene = Scene::new()?;
    scene.once("symlink($precious, 'cache')")?;
    match private_directory(&scene.theirs.join("cache/fstrial")) {
        Err(error) if error.to_string().contains("symlink of user 65534") => {}
        other => return Err(format!("{other:?}").into()),
    }
    scene.check()
}

/// Who is in the way of a private file in this directory.
fn in_reach(path: &Path) -> Option<Reach> {
    let error: FileError = private_file(&path.join("file.db")).err()?;
    Some(InReach::of(&error).unwrap_or_else(|| panic!("{error}")).by.clone())
}

pub(crate) fn path_in_reach() -> Attempt {
    let scene = Scene::new()?;
    assert_eq!(in_reach(&scene.precious), None);
    assert_eq!(in_reach(&scene.theirs), Some(Reach::Owner(OTHER_USER)));
    assert_eq!(in_reach(&scene.theirs.join("root-kept")), Some(Reach::Owner(OTHER_USER)));
    // Nothing is made there on the way.
    assert_eq!(in_reach(&scene.theirs.join("root-kept/new")), Some(Reach::Owner(OTHER_USER)));
    assert_eq!(in_reach(&scene.beside("group", 0o775)?), Some(Reach::Mode(0o775)));
    // Root's own directory below a sticky one is root's, a file beside it is in reach.
    let open = scene.beside("open", 0o1777)?;
    assert_eq!(in_reach(&open), Some(Reach::Mode(0o1777)));
    assert_eq!(in_reach(&open.join("made")), None);
    assert_eq!(fs::metadata(open.join("made"))?.mode() & 0o777, 0o700);
    // A file that the other user can still write to, in a directory of root's.
    let file = scene.precious.with_file_name("file.db");
    fs::write(&file, "")?;
    std::os::unix::fs::chown(&file, Some(OTHER_USER), None)?;
    let error = private_file(&file).unwrap_err();
    assert_eq!(InReach::of(&error).unwrap().by, Reach::Owner(OTHER_USER));
    // A symlink of root's to a place in reach.
    let link = scene.precious.with_file_name("link.db");
    std::os::unix::fs::symlink(scene.theirs.join("file.db"), &link)?;
    let error = private_file(&link).unwrap_err();
    assert_eq!(InReach::of(&error).unwrap().by, Reach::Owner(OTHER_USER));
    scene.check()
}

/// The variable that makes this program look at a directory, as the user that it runs as.
pub(crate) const AS_OTHER_USER: &str = "FSTRIAL_IS_PRIVATE";

/// Ends well if nobody else made the directory.
pub(crate) fn is_private(directory: &Path) -> ExitCode {
    match Directory::hold(directory).map(|held| held.check_private()) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        other => {
            println!("{other:?}");
            ExitCode::FAILURE
        }
    }
}

/// Root could put programs into a directory of root's that looks closed.
pub(crate) fn as_other_user() -> Attempt {
    let scene = Scene::new()?;
    let looks = |directory: &Path| {
        let mut program = Command::new("/proc/self/exe");
        program.env(AS_OTHER_USER, directory).uid(OTHER_USER).gid(OTHER_USER).output()
    };
    assert!(looks(&scene.theirs)?.status.success(), "{:?}", looks(&scene.theirs));
    let of_root = looks(&scene.beside("closed", 0o755)?)?;
    let said = String::from_utf8_lossy(&of_root.stdout);
    assert!(!of_root.status.success() && said.contains("Owner(0)"), "{said}");
    scene.check()
}

/// With an ACL the group bits of the mode are its mask: a directory of root's that looks closed to
/// all but its group is open to whoever is listed.
pub(crate) fn access_lists() -> Ending {
    let scene = Scene::new().unwrap();
    let listed = scene.beside("listed", 0o755).unwrap();
    let below = scene.beside("listed/below", 0o700).unwrap();
    assert_eq!(in_reach(&listed), None);
    let_other_user(&listed, "access")?;
    let by = Some(Reach::ListedUser(OTHER_USER));
    assert_eq!((in_reach(&listed), in_reach(&below)), (by.clone(), by.clone()));
    let held = Directory::hold(&below).unwrap();
    assert_eq!(held.check_private().map_err(|in_reach| Some(in_reach.by)), Err(by));
    let error = private_directory(&below).unwrap_err().to_string();
    assert!(error.contains("its ACL lets user 65534") && error.contains("setfacl"), "{error}");
    // chmod g-w is the mask: then the entry gives nothing.
    fs::set_permissions(&listed, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(in_reach(&below), None);
    Ok(())
}
