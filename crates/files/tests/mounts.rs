//! Mounts of a namespace of its own. Needs root; says `ignored` without.

use std::path::Path;
use std::process::ExitCode;

use files::Mount;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use skippable::{Ending, needs_root};

fn main() -> ExitCode {
    skippable::run(&[(
        "of_two_mounts_in_one_place_the_upper_one_holds_the_files",
        two_in_one_place,
    )])
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
