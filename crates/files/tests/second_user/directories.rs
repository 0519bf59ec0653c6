//! Directories that the other user swaps while root holds them.

use std::fs;
use std::io::Write;

use files::{Directory, FileError, empty};

use crate::scene::{Attempt, OTHER_USER, ROUNDS, Scene};

pub(crate) fn swapped_directory() -> Attempt {
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

/// A directory of the other user's and a symlink of his to root's are exchanged for one another:
/// what is held is what is judged.
pub(crate) fn exchanged_directory() -> Attempt {
    let scene = Scene::new()?;
    scene.once("mkdir('real'); symlink($precious, 'link')")?;
    let attack = scene.attack("exchange('real', 'link')")?;
    let path = scene.theirs.join("real");
    let (mut theirs, mut refused) = (0u64, 0u64);
    for _ in 0..ROUNDS {
        match Directory::hold(&path) {
            Err(_) => refused += 1,
            Ok(held) => {
                theirs += 1;
                let owner = rustix::fs::fstat(&held)?.st_uid;
                assert_eq!(owner, OTHER_USER, "the symlink was followed");
                assert!(held.check_private().is_err());
                let made = held.make_directory("ours");
                // Only one that was there before can be in the way.
                let identity = made?.identity()?;
                held.remove_child("ours", identity)?;
            }
        }
    }
    attack.end()?;
    println!("{theirs} held, {refused} refused");
    if theirs == 0 || refused == 0 {
        return Err("only one of the two was met: nothing was tested".into());
    }
    scene.check()
}
