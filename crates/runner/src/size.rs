//! The default size of devices.

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
    let of_group = |group: &Vec<WorkloadChoice>| -> Bytes {
        group.iter().map(|choice| room_of_one(choice, inputs)).sum()
    };
    groups.iter().map(of_group).max().unwrap_or(Bytes::ZERO)
}

fn room_of_one(choice: &WorkloadChoice, inputs: &InputFacts) -> Bytes {
    workload::find(&choice.name).map_or(Bytes::ZERO, |workload| {
        let space = workload.space(&choice.parameters, inputs);
        space.bytes + Bytes(PER_INODE) * space.inodes
    })
}
