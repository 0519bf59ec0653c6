//! The default size of devices.

use std::collections::BTreeMap;

use stack::{Contender, Refusal};
use trial::{TrialSpec, WorkloadChoice};
use units::Bytes;
use workload::{InputFacts, Space};

/// Smallest device made by default: below it some filesystems change their defaults.
const SIZE_MIN: Bytes = Bytes::from_gib(1);

/// What a file or directory may cost beyond its contents: an inode, its place in a
/// directory, and the rest of its last block.
const PER_INODE: u64 = 4096 + 512;

/// One size for all contenders: room for the largest workload with a third to spare, inodes for
/// all its files, at least every contender's minimum, rounded to a multiple of 64 MiB.
///
/// # Errors
/// When a contender's options are refused, or it needs more than a workload wants to fill.
pub fn device_size(
    groups: &[Vec<WorkloadChoice>],
    contenders: &[Contender],
    inputs: &InputFacts,
) -> Result<Bytes, Refusal> {
    let need = room(groups, inputs);
    let most = groups.iter().filter_map(|group| largest(group)).min_by_key(|(size, _)| *size);
    let least = if most.is_some() { Bytes::ZERO } else { SIZE_MIN };
    let mut size = least.max(Bytes(need.bytes.0.saturating_mul(4) / 3));
    for contender in contenders {
        if let Some(filesystem) = stack::filesystems::find(&contender.filesystem) {
            size = size.max(filesystem.minimum_size(contender)? + need.bytes);
            // Inodes are as many as the size allows for.
            while let Some(inodes) = filesystem.inodes(contender, size)?
                && inodes < need.inodes
                && size < SIZE_MAX
            {
                let times = need.inodes as f64 / inodes.max(1) as f64;
                size = Bytes((size.0 as f64 * times) as u64 + (1 << 20)).min(SIZE_MAX);
            }
        }
    }
    let size = size.round_up(64 << 20);
    match most {
        Some((most, workload)) if size > most => Err(too_large(size, most, workload)),
        _ => Ok(size),
    }
}

/// The workload whose room nobody knows beforehand.
const OWN_PROGRAM: &str = "program";

/// No device is made larger for the sake of its inodes.
const SIZE_MAX: Bytes = Bytes::from_gib(16 << 10);

/// The largest filesystem that a workload of this group wants to fill, and which workload.
fn largest(group: &[WorkloadChoice]) -> Option<(Bytes, &str)> {
    let sizes = group.iter().filter_map(|choice| {
        let workload = workload::find(&choice.name)?;
        Some((workload.largest_filesystem(&choice.parameters)?, choice.name.as_str()))
    });
    sizes.min_by_key(|(size, _)| *size)
}

fn too_large(size: Bytes, most: Bytes, workload: &str) -> Refusal {
    let rule = format!(
        "it fills a share of all of it, which its size={} does not mean",
        Bytes(most.0 / 4)
    );
    Refusal::new(format!("{workload} on a filesystem of {size}"), rule)
        .with_next(format!("a larger {workload}:size, or a smaller --size"))
}

/// Why a trial does not fit on its devices, if it does not.
pub(crate) fn too_small(spec: &TrialSpec, inputs: &InputFacts) -> Option<Refusal> {
    let size = spec.size?;
    let name = &spec.contender.name;
    let filesystem = stack::filesystems::find(&spec.contender.filesystem)?;
    let layout = &spec.contender.layout;
    let device = match filesystem.describe().needs_device {
        true => layout.layout().ok()?.device_size(layout, size).ok()?,
        false => size,
    };
    if let Some((most, workload)) = largest(&spec.workloads).filter(|(most, _)| device > *most) {
        return Some(too_large(device, most, workload));
    }
    let need = room_of_group(&spec.workloads, inputs);
    let next = "a larger --size, or none, or a smaller --scale";
    // What a program of the user's writes is a guess, and what others write is an estimate.
    if spec.workloads.iter().any(|choice| choice.name == OWN_PROGRAM) {
        return None;
    }
    if Bytes(need.bytes.0 / 10 * 9) > device {
        let rule = format!("{} are needed, --size {size} makes {device}", need.bytes);
        return Some(Refusal::new(name, rule).with_next(next));
    }
    let inodes = filesystem.inodes(&spec.contender, device).ok()??;
    (inodes < need.inodes).then(|| {
        let rule = format!("{} inodes are needed, --size {size} makes {inodes}", need.inodes);
        Refusal::new(name, rule).with_next(next)
    })
}

/// Room the largest of these trials needs: bytes with what each file costs beyond its contents.
pub fn room(groups: &[Vec<WorkloadChoice>], inputs: &InputFacts) -> Space {
    let rooms = groups.iter().map(|group| room_of_group(group, inputs));
    rooms.fold(Space::default(), |most, one| Space {
        bytes: most.bytes.max(one.bytes),
        inodes: most.inodes.max(one.inodes),
    })
}

/// Room of a sequence: its sum, in which what is taken over counts once, at its largest.
fn room_of_group(group: &[WorkloadChoice], inputs: &InputFacts) -> Space {
    let mut taken_over: BTreeMap<&str, Space> = BTreeMap::new();
    let mut sum = Space::default();
    let mut add = |room: Space| {
        sum.bytes += room.bytes;
        sum.inodes = sum.inodes.saturating_add(room.inodes);
    };
    for choice in group {
        let room = room_of_one(choice, inputs);
        match workload::find(&choice.name) {
            Some(workload) if workload.takes_over_files() => {
                let largest = taken_over.entry(&choice.name).or_default();
                largest.bytes = room.bytes.max(largest.bytes);
                largest.inodes = room.inodes.max(largest.inodes);
            }
            _ => add(room),
        }
    }
    taken_over.into_values().for_each(add);
    sum
}

fn room_of_one(choice: &WorkloadChoice, inputs: &InputFacts) -> Space {
    workload::find(&choice.name).map_or(Space::default(), |workload| {
        let space = workload.space(&choice.parameters, inputs);
        Space { bytes: space.bytes + Bytes(PER_INODE) * space.inodes, ..space }
    })
}

#[cfg(test)]
mod tests {
    use workload::Parameters;

    use super::*;

    fn choice(name: &str, given: &[(&str, &str)]) -> WorkloadChoice {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let workload = workload::find(name).unwrap();
        let parameters = Parameters::resolve(workload.describe(), &given.collect(), 1.0).unwrap();
        WorkloadChoice { name: name.to_owned(), parameters }
    }

    #[test]
    fn a_sequence_needs_the_room_of_all_but_what_is_taken_over_once() {
        let of = |group: &[WorkloadChoice]| room_of_group(group, &InputFacts::default()).bytes;
        let (file, other) = (choice("bigfile", &[("size", "1G")]), choice("mongo", &[]));
        let (small, large) = (choice("boot", &[]), choice("boot", &[("installed", "2G")]));
        let alone = |choice: &WorkloadChoice| of(std::slice::from_ref(choice));
        assert_eq!(of(&[file.clone(), file.clone()]), alone(&file) + alone(&file));
        assert!(alone(&large) > alone(&small) && alone(&small) > Bytes::ZERO);
        assert_eq!(of(&[small.clone(), large.clone(), small.clone()]), alone(&large));
        let expected = alone(&other) + alone(&large);
        assert_eq!(of(&[large.clone(), other.clone(), small]), expected);
        let facts = InputFacts::default();
        assert_eq!(room(&[vec![other], vec![large.clone()]], &facts).bytes, alone(&large));
    }

    /// 30 files of 100 MiB, 10 directories and the one above: 3000 MiB and 41 inodes of 4.5 KiB.
    #[test]
    fn a_device_has_a_third_more_than_the_room_in_steps_of_64_mib() {
        let given = [("files", "30"), ("directories", "10"), ("max_size", "100M")];
        let group = vec![choice("ffsb", &given)];
        let facts = InputFacts::default();
        let need = Bytes(3000 * 1024 * 1024 + 41 * (4096 + 512));
        let expected = Space { bytes: need, inodes: 41 };
        assert_eq!(room(std::slice::from_ref(&group), &facts), expected);
        // 4000.2 MiB.
        let size = device_size(&[group], &[Contender::plain("ext4")], &facts).unwrap();
        assert_eq!(size, Bytes::from_mib(4032));
    }

    fn spec(name: &str, given: &[(&str, &str)], contender: &str, size: Bytes) -> TrialSpec {
        TrialSpec {
            contender: Contender::plain(contender),
            workloads: vec![choice(name, given)],
            seed: workload::Seed(1),
            block: 0,
            size: Some(size),
            verify: false,
            timeout: units::Nanos::from_secs(1),
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_it_needs() {
        let facts = InputFacts::default();
        let refused = |given: &[(&str, &str)], mib| {
            let spec = spec("ffsb", given, "ext4", Bytes::from_mib(mib));
            too_small(&spec, &facts).map(|refusal| refusal.to_string())
        };
        let files = [("files", "10"), ("directories", "1"), ("max_size", "40M")];
        let said = refused(&files, 320).unwrap();
        assert!(said.contains("400 MiB are needed, --size 320 MiB makes 320 MiB"), "{said}");
        assert_eq!(refused(&files, 512), None);
        // An inode for each 16 KiB of the device, eleven of which are the filesystem's own.
        let many = [("files", "20000"), ("min_size", "1"), ("max_size", "1")];
        let said = refused(&many, 256).unwrap();
        assert!(said.contains("20011 inodes are needed, --size 256 MiB makes 16373"), "{said}");
    }

    #[test]
    fn a_device_has_an_inode_for_each_file() {
        let group = vec![choice("scale", &[("entries", "1000000"), ("threads", "1")])];
        let ext4 = Contender::plain("ext4");
        let facts = InputFacts::default();
        let size = device_size(std::slice::from_ref(&group), &[ext4], &facts).unwrap();
        let filesystem = stack::filesystems::find("ext4").unwrap();
        let inodes = filesystem.inodes(&Contender::plain("ext4"), size).unwrap().unwrap();
        assert!((1_000_003..1_100_000).contains(&inodes), "{inodes} of {size}");
        let without = device_size(&[group], &[Contender::plain("xfs")], &facts).unwrap();
        assert!(without < size);
    }

    /// What fills a share of a filesystem gets one of about the size that it means.
    #[test]
    fn a_workload_that_fills_the_filesystem_decides_its_size() {
        let facts = InputFacts::default();
        let size = |given: &str, contender: &str| {
            let group = vec![choice("upkeep", &[("size", given)])];
            device_size(&[group], &[Contender::plain(contender)], &facts)
        };
        assert_eq!(size("64M", "ext4").unwrap(), Bytes::from_mib(128));
        assert!(size("1G", "ext4").unwrap() >= Bytes::from_gib(1));
        let said = size("64M", "xfs").unwrap_err().to_string();
        assert!(said.contains("upkeep on a filesystem of 384 MiB"), "{said}");
        let large = spec("upkeep", &[("size", "64M")], "ext4", Bytes::from_gib(1));
        let said = too_small(&large, &facts).unwrap().to_string();
        assert!(said.contains("upkeep on a filesystem of 1 GiB"), "{said}");
    }
}
