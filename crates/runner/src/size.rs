//! The default size of devices.

use std::collections::BTreeMap;

use stack::{Contender, Refusal};
use trial::WorkloadChoice;
use units::Bytes;
use workload::InputFacts;

/// Smallest device made by default: below it some filesystems change their defaults.
const SIZE_MIN: Bytes = Bytes::from_gib(1);

/// What a file or directory may cost beyond its contents: an inode, its place in a
/// directory, and the rest of its last block.
const PER_INODE: u64 = 4096 + 512;

/// One size for all contenders: room for the largest workload with a third to spare, at least
/// every contender's minimum, rounded to a multiple of 64 MiB.
///
/// # Errors
/// When a contender's options are refused.
pub fn device_size(
    groups: &[Vec<WorkloadChoice>],
    contenders: &[Contender],
    inputs: &InputFacts,
) -> Result<Bytes, Refusal> {
    let need = room(groups, inputs);
    let mut size = SIZE_MIN.max(Bytes(need.0.saturating_mul(4) / 3));
    for contender in contenders {
        if let Some(filesystem) = stack::filesystems::find(&contender.filesystem) {
            size = size.max(filesystem.minimum_size(contender)? + need);
        }
    }
    Ok(size.round_up(64 << 20))
}

/// Room the largest of these trials needs.
pub fn room(groups: &[Vec<WorkloadChoice>], inputs: &InputFacts) -> Bytes {
    groups.iter().map(|group| room_of_group(group, inputs)).max().unwrap_or(Bytes::ZERO)
}

/// Room of a sequence: its sum, in which what is taken over counts once, at its largest.
fn room_of_group(group: &[WorkloadChoice], inputs: &InputFacts) -> Bytes {
    let mut taken_over: BTreeMap<&str, Bytes> = BTreeMap::new();
    let mut sum = Bytes::ZERO;
    for choice in group {
        let room = room_of_one(choice, inputs);
        match workload::find(&choice.name) {
            Some(workload) if workload.takes_over_files() => {
                let largest = taken_over.entry(&choice.name).or_insert(Bytes::ZERO);
                *largest = room.max(*largest);
            }
            _ => sum += room,
        }
    }
    sum + taken_over.into_values().sum()
}

fn room_of_one(choice: &WorkloadChoice, inputs: &InputFacts) -> Bytes {
    workload::find(&choice.name).map_or(Bytes::ZERO, |workload| {
        let space = workload.space(&choice.parameters, inputs);
        space.bytes + Bytes(PER_INODE) * space.inodes
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
        let of = |group: &[WorkloadChoice]| room_of_group(group, &InputFacts::default());
        let (file, other) = (choice("bigfile", &[("size", "1G")]), choice("mongo", &[]));
        let (small, large) = (choice("boot", &[]), choice("boot", &[("installed", "2G")]));
        let alone = |choice: &WorkloadChoice| of(std::slice::from_ref(choice));
        assert_eq!(of(&[file.clone(), file.clone()]), alone(&file) + alone(&file));
        assert!(alone(&large) > alone(&small) && alone(&small) > Bytes::ZERO);
        assert_eq!(of(&[small.clone(), large.clone(), small.clone()]), alone(&large));
        let expected = alone(&other) + alone(&large);
        assert_eq!(of(&[large.clone(), other.clone(), small]), expected);
        let facts = InputFacts::default();
        assert_eq!(room(&[vec![other], vec![large.clone()]], &facts), alone(&large));
    }

    /// 30 files of 100 MiB, 10 directories and the one above: 3000 MiB and 41 inodes of 4.5 KiB.
    #[test]
    fn a_device_has_a_third_more_than_the_room_in_steps_of_64_mib() {
        let given = [("files", "30"), ("directories", "10"), ("max_size", "100M")];
        let group = vec![choice("ffsb", &given)];
        let facts = InputFacts::default();
        let need = Bytes(3000 * 1024 * 1024 + 41 * (4096 + 512));
        assert_eq!(room(std::slice::from_ref(&group), &facts), need);
        // 4000.2 MiB.
        let size = device_size(&[group], &[Contender::plain("ext4")], &facts).unwrap();
        assert_eq!(size, Bytes::from_mib(4032));
    }
}
