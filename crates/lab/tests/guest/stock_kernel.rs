//! Debian's stock Linux 6.1 as the lab's kernel, whose disks are reached over nbd.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::{BuildOptions, Lab, MachineProfile};
use stack::Contender;
use testbed::Stop;
use trial::{InputFiles, TrialSpec};
use units::Bytes;

use super::spec;

/// The package of Debian's stock Linux 6.1, which has no ublk that does; `None` where the archives
/// of this machine have none.
fn stock_kernel(cache: &Path) -> Option<PathBuf> {
    let apt = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        // Sources and settings are those with which the lab itself was built.
        command.env("APT_CONFIG", cache.join("apt/apt.conf")).current_dir(cache);
        for (setting, place) in [
            ("Dir::State", "state"),
            ("Dir::State::status", "state/status"),
            ("Dir::Cache", "cache"),
        ] {
            command.arg("-o").arg(format!("{setting}={}", cache.join("apt").join(place).display()));
        }
        command.args(arguments);
        let output = command.output().expect("the lab was built with apt");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for place in ["state/lists/partial", "cache/archives/partial"] {
        std::fs::create_dir_all(cache.join("apt").join(place)).expect("the lab is ours");
    }
    // A lab that was there already has fetched no lists.
    apt("apt-get", &["-qq", "update"]);
    let names = apt("apt-cache", &["pkgnames", "linux-image-6.1.0-"]);
    let number = |name: &&str| -> Option<u32> {
        name.strip_prefix("linux-image-6.1.0-")?.strip_suffix("-amd64")?.parse().ok()
    };
    let newest =
        names.split_whitespace().filter(|name| number(name).is_some()).max_by_key(number)?;
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{newest}_")) && name.ends_with(".deb")
    };
    let find = || std::fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path()).find(is_it);
    find().or_else(|| {
        apt("apt-get", &["-qq", "download", newest]);
        find()
    })
}

/// Before 6.5 the kernel hands out the slots of requests in an order of its own. Each mkfs here
/// hung when two of them shared one.
pub(super) fn nbd_answers_many_at_once(_: &Lab, cache: &Path) {
    let Some(kernel) = stock_kernel(cache) else {
        let required = std::env::var_os("FSTRIAL_TEST_LAB").is_some();
        assert!(!required, "the archives of this machine have no stock Linux 6.1");
        println!("not tried: the archives of this machine have no stock Linux 6.1");
        return;
    };
    let options = BuildOptions {
        kernel: vec![kernel],
        name: Some("stock".to_owned()),
        ..BuildOptions::default()
    };
    let software = lab::build(cache, &options, &mut |step| println!("{step:?}"))
        .expect("it is a kernel for the lab");
    let deep = BTreeMap::from([("disk.depth".to_owned(), "32".to_owned())]);
    let profile = MachineProfile::find("today-ssd").and_then(|profile| profile.with(&deep));
    let parts = software.parts().expect("it is whole");
    let profile = profile.expect("a disk may take 32 requests");
    let lab = Lab::open(parts, cache, profile, &InputFiles::default()).expect("it has nbd");
    assert_eq!(lab.front_end().name(), "nbd");
    for contender in ["ext4", "xfs", "btrfs"] {
        let trial = TrialSpec {
            contender: Contender::parse_list(contender).expect("it is in the catalogue").remove(0),
            size: Some(Bytes::from_mib(512)),
            ..spec(1)
        };
        let result = lab::verify(&lab, &trial, 2, &Stop::new(), &|_, _| {}).expect("guests start");
        assert_eq!(result.first_difference(), None, "{contender}");
        let (_, first) = &result.repeats[0];
        assert!(first.requests > 50, "{contender}: {first:?}");
    }
}
