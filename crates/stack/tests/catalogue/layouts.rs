//! Layouts: what they take, what they refuse, what they do.

use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::prelude::*;
use stack::layouts::{Request, Role};
use stack::{LAYOUTS, LayoutChoice};

use crate::contenders::{UUID, one};

fn disks(count: usize) -> Vec<PathBuf> {
    (0..count).map(|disk| PathBuf::from(format!("/dev/disk{disk}"))).collect()
}

/// Its commands, as one would type them.
fn plan(text: &str) -> (Vec<String>, stack::layouts::Plan) {
    let choice = LayoutChoice::parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    let layout = choice.layout().unwrap();
    let roles = layout.disks(&choice).unwrap();
    let disks = disks(roles.len());
    let plan =
        layout.plan(&Request { choice: &choice, disks: &disks, uuid: UUID.to_owned() }).unwrap();
    (plan.assemble.iter().map(ToString::to_string).collect(), plan)
}

#[test]
fn what_an_array_has_for_data_follows_from_its_level() {
    for (text, usable, of) in [
        ("raid0x4", 1, 1),
        ("raid1", 1, 2),
        ("raid5x6", 5, 6),
        ("raid6x6", 4, 6),
        ("raid10x6", 1, 2),
    ] {
        let choice = LayoutChoice::parse(text).unwrap();
        let share = choice.layout().unwrap().share(&choice).unwrap();
        assert_eq!((share.usable, share.of), (usable, of), "{text}");
    }
}

#[test]
fn every_layout_is_named_once_and_documented() {
    let mut names = BTreeSet::new();
    for layout in LAYOUTS {
        let description = layout.describe();
        assert!(names.insert(description.name), "{} is there twice", description.name);
        assert!(!description.summary.is_empty(), "{}", description.name);
        assert_eq!(description.package.is_some(), !description.programs.is_empty());
        assert!(description.modules.is_empty() || description.package.is_some());
        for parameter in description.parameters {
            assert!(!parameter.help.is_empty(), "{} {}", description.name, parameter.name);
        }
    }
}

#[test]
fn what_breaks_a_rule_is_refused_before_anything_is_made() {
    for (text, part) in [
        ("raid7", "there is no such layout; did you mean `raid"),
        ("raid5x2", "with parity beside two disks' data it takes three"),
        ("raid6x3", "it takes four"),
        ("raid0x1", "striping takes two disks"),
        ("btrfs-raid10x2", "on fewer it is btrfs-raid1"),
        ("btrfs-raid1+journal", "btrfs-raid1 has no parameter `journal`"),
        ("raid1+chunk=64K", "raid1 has no parameter `chunk`; it takes: disks, state, journal"),
        ("raid0+state=degraded", "raid0 has no parameter `state`"),
        ("raid5+state=broken", "it takes clean|degraded|rebuilding"),
        ("hw-raid5x2", "it takes three"),
        ("hw-raid10x5", "every disk needs its mirror"),
        ("hw-raid10x2", "on two it is hw-raid1"),
        ("hw-raid1+chunk=64K", "hw-raid1 has no parameter `chunk`"),
        ("hw-raid1+battery=full", "it takes on|off"),
        ("hw-raid0+state=degraded", "hw-raid0 has no parameter `state`"),
        ("hw-raid10+state=lost", "it takes clean|degraded|rebuilding"),
        ("raid0+chunk=3K", "power of two"),
        ("raid0+chunk=many", "chunk"),
        ("raid10+copies=offset", "copies has no value `offset`; it takes near|far"),
        ("single+spare", "`spare` is not of the form name=value"),
        ("single+journal+journal=internal", "journal is there twice"),
        ("crypt+sector=1000", "512|4096"),
        ("thin", "a thin volume needs a size of its own"),
        ("thin+size=1K", "at least 4 MiB"),
        ("singlex2", "single has no parameter `disks`"),
    ] {
        let refusal = LayoutChoice::parse(text).unwrap_err().to_string();
        assert!(refusal.contains(part), "{text}: {refusal}");
        assert!(refusal.starts_with("layout="), "{text}: {refusal}");
    }
}

#[test]
fn the_number_of_disks_must_fit() {
    let choice = LayoutChoice::parse("raid5x6+journal").unwrap();
    let layout = choice.layout().unwrap();
    let roles = layout.disks(&choice).unwrap();
    assert_eq!(roles.len(), 7);
    assert_eq!(roles[5..], [Role::Data, Role::Journal]);
    let disks = disks(6);
    let request = Request { choice: &choice, disks: &disks, uuid: UUID.to_owned() };
    let refusal = layout.plan(&request).unwrap_err().to_string();
    assert!(refusal.contains("it takes 7 disks, not 6"), "{refusal}");
}

#[test]
fn md_is_made_as_written_down() {
    let (commands, made) = plan("raid10x6+journal");
    let array = made.data.to_str().unwrap();
    let name = array.strip_prefix("/dev/md/").unwrap();
    assert!(name.starts_with("fstrial_"), "{name}");
    let [create] = commands.as_slice() else { panic!("{commands:?}") };
    let head = format!(
        "mdadm --create {array} --config=none --run --metadata=1.2 --homehost=fstrial --name={name} \
         --uuid="
    );
    assert!(create.starts_with(&head), "{create}");
    let tail = " --level=10 --layout=n2 --chunk=512 --assume-clean --bitmap=none \
                --raid-devices=6 /dev/disk0 /dev/disk1 /dev/disk2 /dev/disk3 /dev/disk4 /dev/disk5";
    assert!(create.ends_with(tail), "{create}");
    assert_eq!(made.journal, Some(PathBuf::from("/dev/disk6")));
    assert!(made.assemble[0].destructive);
    assert!(made.dismantle[0].to_string().starts_with("mdadm --stop"));

    assert!(plan("raid10x4+copies=far").0[0].contains("--layout=f2"));
    assert!(plan("raid5+chunk=64K").0[0].contains("--level=5 --layout=left-symmetric --chunk=64 "));
    assert!(!plan("raid1").0[0].contains("--chunk"));
    assert!(plan("raid6").0[0].contains("--raid-devices=4 "));
}

#[test]
fn mapped_disks_are_recognisable_and_need_no_udev() {
    for text in ["crypt", "thin+size=10G"] {
        let (_, made) = plan(text);
        assert!(made.data.starts_with("/dev/mapper"), "{text}");
        assert!(made.data.to_str().unwrap().contains("fstrial_"), "{text}");
        for command in made.assemble.iter().chain(&made.dismantle) {
            let env = ("DM_DISABLE_UDEV".to_owned(), "1".to_owned());
            assert!(command.env.contains(&env), "{text}: {command}");
        }
        assert!(made.assemble[0].destructive, "{text}");
    }
}

#[test]
fn btrfs_joins_its_disks_itself() {
    let contender = one("btrfs:layout=btrfs-raid10x6");
    contender.validate().unwrap();
    let (_, made) = plan("btrfs-raid10x6");
    let request = stack::filesystems::Request {
        contender: &contender,
        data: Some(made.data),
        members: made.members,
        journal: None,
        size: units::Bytes::from_gib(1),
        uuid: crate::contenders::UUID.to_owned(),
        hash_seed: crate::contenders::HASH_SEED.to_owned(),
    };
    let plan = stack::filesystems::find("btrfs").unwrap().plan(&request).unwrap();
    let wiped = plan.make[0].to_string();
    assert!(wiped.ends_with("/dev/disk4 /dev/disk5"), "{wiped}");
    let make = plan.make[1].to_string();
    let tail = "-m raid10 -d raid10 /dev/disk0 /dev/disk1 /dev/disk2 /dev/disk3 /dev/disk4 \
                /dev/disk5";
    assert!(make.ends_with(tail), "{make}");
    assert!(plan.mount.options.contains(&"device=/dev/disk5".to_owned()));
    let copies = one("btrfs:metadata_copies=1:layout=btrfs-raid1").validate().unwrap_err();
    assert!(copies.to_string().contains("over several disks"), "{copies}");
}

#[test]
fn disks_too_small_are_refused_with_what_is_needed() {
    let fits = |text: &str, mib: u64| one(text).fits(units::Bytes::from_mib(mib));
    // xfs takes 300 MiB, however many disks give them.
    for (text, mib) in [
        ("xfs", 300),
        ("xfs:layout=raid10x6", 100),
        ("xfs:layout=hw-raid5x3+journal", 150),
        ("xfs:layout=raid1x3", 300),
        ("xfs:layout=crypt", 300),
        ("btrfs:layout=btrfs-raid10", 125),
    ] {
        assert!(fits(text, mib).is_ok(), "{text}: {:?}", fits(text, mib));
        let refusal = fits(text, mib / 2).unwrap_err().to_string();
        assert!(refusal.contains(" needs ") && refusal.contains("--size"), "{text}: {refusal}");
    }
    assert!(fits("xfs:layout=thin+size=100M", 1000).is_err());
    assert!(fits("tmpfs", 1).is_ok());
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (text, part) in [
        ("btrfs:layout=single+journal", "btrfs"),
        ("f2fs:layout=raid5x3+journal", "f2fs"),
        ("btrfs:layout=hw-raid1+journal", "btrfs"),
        ("ext4:layout=btrfs-raid1", "only btrfs can"),
        ("tmpfs:layout=raid1", "it sits on no disk"),
        ("ext2:layout=single+journal", "journal"),
        ("btrfs:node_size=1K", "node_size"),
        ("xfs:block_size=1K:inode_size=2K", "inode_size"),
    ] {
        let refusal = one(text).validate().unwrap_err().to_string();
        assert!(refusal.contains(part), "{text}: {refusal}");
    }
}

#[test]
fn a_study_names_its_contenders_as_it_likes() {
    let contender = one("xfs/ext/sw=xfs:layout=raid10x6+journal");
    assert_eq!(contender.name, "xfs/ext/sw");
    assert_eq!(contender.layout.to_string(), "raid10x6+journal");
    assert!(contender.layout.has_journal_disk());
    contender.validate().unwrap();
}

#[test]
fn a_wrong_layout_is_an_error_of_the_contender() {
    let error = stack::Contender::parse_list("ext4:layout=raid5x2").unwrap_err().to_string();
    assert!(error.contains("contender `ext4:layout=raid5x2`"), "{error}");
    assert!(error.contains("it takes three"), "{error}");
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(
        name in prop::sample::select(vec!["raid0", "raid5", "raid6", "raid10"]),
        disks in 4usize..20,
        chunk in prop::option::of(2u32..20),
        journal: bool,
    ) {
        let mut text = format!("{name}x{disks}");
        if let Some(chunk) = chunk {
            text.push_str(&format!("+chunk={}", 1u64 << (10 + chunk)));
        }
        if journal {
            text.push_str("+journal");
        }
        let choice = LayoutChoice::parse(&text).unwrap();
        prop_assert_eq!(choice.to_string(), text);
        let roles = choice.layout().unwrap().disks(&choice).unwrap();
        prop_assert_eq!(roles.len(), disks + usize::from(journal));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[a-z0-9x+=-]{0,30}") {
        let _ = LayoutChoice::parse(&text);
    }
}
