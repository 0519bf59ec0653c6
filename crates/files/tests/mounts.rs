//! Mounts of a namespace of its own. Needs root; says `ignored` without.

use std::path::Path;
use std::process::ExitCode;

use files::{Directory, Mount};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use skippable::{Ending, needs_root};

fn main() -> ExitCode {
    skippable::run(&[
        ("of_two_mounts_in_one_place_the_upper_one_holds_the_files", two_in_one_place),
        ("a_removal_enters_no_mount_and_keeps_the_marker_till_the_end", mounted_inside),
        ("a_path_over_which_something_was_mounted_is_not_the_directory", covered),
    ])
}

/// In a thread of its own, which alone sees its mounts.
fn alone(test: impl FnOnce() + Send + 'static) -> Ending {
    needs_root()?;
    let ended = std::thread::spawn(move || {
        skippable::own_mounts();
        test();
    });
    ended.join().unwrap();
    Ok(())
}

/// What is mounted is on the same filesystem: only the mount tells them apart.
fn mounted_inside() -> Ending {
    alone(|| {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["precious", "ours", "ours/below"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        std::fs::write(at("precious/file"), "kept").unwrap();
        std::fs::write(at("ours/marker"), "").unwrap();
        rustix::mount::mount_bind(at("precious"), at("ours/below")).unwrap();
        let held = std::fs::File::open(at("ours")).unwrap();
        let error = files::empty(&held, c"marker").unwrap_err().to_string();
        unmount(at("ours/below"), UnmountFlags::DETACH).unwrap();
        assert_eq!(error, "something is mounted on below");
        assert_eq!(std::fs::read(at("precious/file")).unwrap(), b"kept");
        assert!(at("ours/marker").exists(), "the next start needs it");
    })
}

fn covered() -> Ending {
    alone(|| {
        let directory = tempfile::tempdir().unwrap();
        let held = Directory::hold(directory.path()).unwrap();
        assert_eq!(held.private_path().unwrap(), directory.path().canonicalize().unwrap());
        mount("none", directory.path(), "tmpfs", MountFlags::empty(), Some(c"mode=0700")).unwrap();
        let found = held.private_path();
        unmount(directory.path(), UnmountFlags::DETACH).unwrap();
        assert!(found.is_err(), "{found:?} is another directory");
    })
}

/// The upper one has the number of a former mount, which is less than the lower one's, unless
/// another process takes that number first.
fn two_in_one_place() -> Ending {
    needs_root()?;
    let directory = tempfile::tempdir().unwrap();
    let [former, place] = ["former", "place"].map(|name| directory.path().join(name));
    let alone = std::thread::spawn(move || {
        skippable::own_mounts();
        let on = |kernel_type: &str, path: &Path| {
            std::fs::create_dir_all(path).unwrap();
            mount(kernel_type, path, kernel_type, MountFlags::empty(), None).unwrap();
        };
        on("tmpfs", &former);
        on("tmpfs", &place);
        unmount(&former, UnmountFlags::empty()).unwrap();
        on("ramfs", &place);
        let in_place = Mount::all().unwrap();
        let in_place = in_place.iter().filter(|mount| mount.point == place);
        let types: Vec<_> = in_place.map(|mount| mount.filesystem.as_str()).collect();
        assert_eq!(types, ["tmpfs", "ramfs"]);
        Mount::of(&place).unwrap()
    });
    assert_eq!(alone.join().unwrap().filesystem, "ramfs");
    Ok(())
}
