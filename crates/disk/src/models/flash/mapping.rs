//! The flash translation layer: which physical slot holds which unit of 4 KiB, which blocks
//! are free, and which block garbage collection empties (greedy: the one with the least valid
//! data). Nothing here depends on time. Memory grows with the amount of data written.

use super::parameters::{SPARE_BLOCKS, SsdParameters, UNIT_SECTORS};

const NOWHERE: u32 = u32::MAX;

/// Entries of one piece of the map, made when its first unit is written.
const PIECE: usize = 1024;

/// A page's place: its die and its number among all pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) die: u32,
    pub(crate) number: u64,
}

/// What collecting garbage on a die moved and erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Collected {
    pub(crate) pages_read: u32,
    pub(crate) pages_programmed: u32,
    pub(crate) erases: u32,
}

#[derive(Debug, Default)]
struct Block {
    /// The unit in each slot written so far; stale ones stay until the block is erased.
    owners: Vec<u32>,
    valid: u32,
}

#[derive(Debug, Default)]
struct DieBlocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// The block being filled by the host, and the one being filled by the collector.
    open: Option<u32>,
    open_collected: Option<u32>,
    /// Units of the host on this die.
    valid: u64,
}

/// The map of one SSD.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: Vec<Option<Box<[u32; PIECE]>>>,
    dies: Vec<DieBlocks>,
    units_per_page: u32,
    units_per_block: u32,
    blocks_per_die: u32,
    next_die: u32,
}

impl Mapping {
    pub(crate) fn new(ssd: &SsdParameters, sectors: u64) -> Mapping {
        let units = sectors.div_ceil(UNIT_SECTORS) as usize;
        let mut map = Vec::new();
        map.resize_with(units.div_ceil(PIECE), || None);
        let mut dies = Vec::new();
        dies.resize_with(ssd.dies() as usize, DieBlocks::default);
        Mapping {
            map,
            dies,
            units_per_page: ssd.units_per_page(),
            units_per_block: ssd.units_per_block(),
            blocks_per_die: ssd.blocks_per_die(sectors),
            next_die: 0,
        }
    }

    /// The page that holds a unit; `None` where nothing was written or it was discarded.
    pub(crate) fn page_of(&self, unit: u64) -> Option<Page> {
        let slot = self.slot_of(unit)?;
        let (die, _, _) = self.split(slot);
        Some(Page { die, number: u64::from(slot / self.units_per_page) })
    }

    /// Writes `units` (a page's worth at most) to the next die's next page.
    pub(crate) fn append(&mut self, units: &[u32]) -> (Page, Collected) {
        let die = self.choose_die();
        self.next_die = (die + 1) % self.dies.len() as u32;
        let collected = self.make_room(die);
        let block = self.open_block(die, false);
        let page = self.put(die, block, units);
        (page, collected)
    }

    /// Forgets a unit; its slot is garbage from now on.
    pub(crate) fn discard(&mut self, unit: u64) {
        if let Some(slot) = self.slot_of(unit) {
            let (die, block, _) = self.split(slot);
            let die = &mut self.dies[die as usize];
            die.blocks[block as usize].valid -= 1;
            die.valid -= 1;
            self.set(unit as u32, NOWHERE);
        }
    }

    /// The next die in turn that is not too full for garbage collection to keep up.
    fn choose_die(&self) -> u32 {
        let count = self.dies.len() as u32;
        let limit = u64::from(self.blocks_per_die - SPARE_BLOCKS) * u64::from(self.units_per_block);
        (0..count)
            .map(|step| (self.next_die + step) % count)
            .find(|die| self.dies[*die as usize].valid + u64::from(self.units_per_page) <= limit)
            .or_else(|| (0..count).min_by_key(|die| self.dies[*die as usize].valid))
            .unwrap_or(0)
    }

    fn slot_of(&self, unit: u64) -> Option<u32> {
        let piece = self.map.get(unit as usize / PIECE)?.as_ref()?;
        Some(piece[unit as usize % PIECE]).filter(|slot| *slot != NOWHERE)
    }

    fn set(&mut self, unit: u32, slot: u32) {
        if let Some(piece) = self.map.get_mut(unit as usize / PIECE) {
            let piece = piece.get_or_insert_with(|| Box::new([NOWHERE; PIECE]));
            piece[unit as usize % PIECE] = slot;
        }
    }

    fn split(&self, slot: u32) -> (u32, u32, u32) {
        let block = slot / self.units_per_block;
        let (die, block) = (block / self.blocks_per_die, block % self.blocks_per_die);
        (die, block, slot % self.units_per_block)
    }

    fn first_slot(&self, die: u32, block: u32) -> u32 {
        (die * self.blocks_per_die + block) * self.units_per_block
    }

    /// Writes a page into an open block that has room for it.
    fn put(&mut self, die: u32, block: u32, units: &[u32]) -> Page {
        let first = self.first_slot(die, block);
        let at = self.dies[die as usize].blocks[block as usize].owners.len() as u32;
        for (index, unit) in units.iter().enumerate() {
            self.discard(u64::from(*unit));
            self.set(*unit, first + at + index as u32);
            let die = &mut self.dies[die as usize];
            die.valid += 1;
            let block = &mut die.blocks[block as usize];
            block.owners.push(*unit);
            block.valid += 1;
        }
        // A page that is not full is padded.
        let block = &mut self.dies[die as usize].blocks[block as usize];
        block.owners.resize((at + self.units_per_page) as usize, NOWHERE);
        Page { die, number: u64::from((first + at) / self.units_per_page) }
    }

    /// The block that takes the next page, opened if need be.
    fn open_block(&mut self, die: u32, collected: bool) -> u32 {
        let blocks = &mut self.dies[die as usize];
        let full = self.units_per_block as usize;
        let open = if collected { blocks.open_collected } else { blocks.open };
        if let Some(open) = open
            && blocks.blocks[open as usize].owners.len() < full
        {
            return open;
        }
        let fresh = blocks.free.pop().unwrap_or_else(|| {
            blocks.blocks.push(Block::default());
            blocks.blocks.len() as u32 - 1
        });
        blocks.blocks[fresh as usize].owners.reserve_exact(full);
        *(if collected { &mut blocks.open_collected } else { &mut blocks.open }) = Some(fresh);
        fresh
    }

    fn free_blocks(&self, die: u32) -> u32 {
        let blocks = &self.dies[die as usize];
        self.blocks_per_die.saturating_sub(blocks.blocks.len() as u32) + blocks.free.len() as u32
    }

    /// Empties blocks of a die until two are free: one to fill, one for what is moved.
    fn make_room(&mut self, die: u32) -> Collected {
        let mut collected = Collected::default();
        let mut moved = Vec::new();
        while self.free_blocks(die) < 2 {
            let blocks = &self.dies[die as usize];
            let full = self.units_per_block as usize;
            let victims = blocks.blocks.iter().enumerate().filter(|(index, block)| {
                let open = [blocks.open, blocks.open_collected].contains(&Some(*index as u32));
                !open && block.owners.len() == full
            });
            let Some((victim, block)) = victims.min_by_key(|(_, block)| block.valid) else {
                break;
            };
            if block.valid as usize == full {
                // Everything is valid: moving it would free nothing.
                break;
            }
            self.empty(die, victim as u32, &mut moved, &mut collected);
        }
        if !moved.is_empty() {
            self.move_page(die, &mut moved, &mut collected);
        }
        collected
    }

    /// Moves the valid data out of a block and erases it. A remainder that does not fill a page
    /// stays in `moved`, to be written with the next block's data.
    fn empty(&mut self, die: u32, victim: u32, moved: &mut Vec<u32>, collected: &mut Collected) {
        let first = self.first_slot(die, victim);
        let owners = std::mem::take(&mut self.dies[die as usize].blocks[victim as usize].owners);
        let mut last_page = None;
        for (index, unit) in owners.iter().enumerate() {
            let slot = first + index as u32;
            if *unit == NOWHERE || self.slot_of(u64::from(*unit)) != Some(slot) {
                continue;
            }
            let page = slot / self.units_per_page;
            if last_page != Some(page) {
                last_page = Some(page);
                collected.pages_read += 1;
            }
            // The old place is forgotten at once, since the block may be refilled meanwhile.
            self.discard(u64::from(*unit));
            moved.push(*unit);
            if moved.len() == self.units_per_page as usize {
                self.move_page(die, moved, collected);
            }
        }
        self.dies[die as usize].free.push(victim);
        collected.erases += 1;
    }

    fn move_page(&mut self, die: u32, moved: &mut Vec<u32>, collected: &mut Collected) {
        let block = self.open_block(die, true);
        self.put(die, block, moved);
        collected.pages_programmed += 1;
        moved.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::models::flash::parameters::tests_support::small;

    proptest! {
        /// Whatever is written and discarded in any order, every unit is found where it was
        /// last put, no slot holds two, and the blocks never run out.
        #[test]
        fn the_map_stays_a_map(
            steps in prop::collection::vec((0u32..512, 1u32..5, prop::bool::weighted(0.8)), 1..4000)
        ) {
            let ssd = small(512 * UNIT_SECTORS);
            let mut mapping = Mapping::new(&ssd, ssd.sectors);
            let mut written = std::collections::BTreeSet::new();
            for (unit, count, write) in steps {
                let units: Vec<u32> = (unit..(unit + count).min(512)).collect();
                if write {
                    mapping.append(&units);
                    written.extend(units);
                } else {
                    mapping.discard(u64::from(unit));
                    written.remove(&unit);
                }
            }
            let mut slots = std::collections::BTreeSet::new();
            for unit in 0..512 {
                let slot = mapping.slot_of(u64::from(unit));
                prop_assert_eq!(slot.is_some(), written.contains(&unit));
                if let Some(slot) = slot {
                    prop_assert!(slots.insert(slot));
                    let (die, block, index) = mapping.split(slot);
                    let block = &mapping.dies[die as usize].blocks[block as usize];
                    prop_assert_eq!(block.owners[index as usize], unit);
                }
            }
            for die in &mapping.dies {
                prop_assert!(die.blocks.len() <= mapping.blocks_per_die as usize);
                let valid: u32 = die.blocks.iter().map(|block| block.valid).sum();
                prop_assert_eq!(u64::from(valid), die.valid);
            }
        }
    }

    /// 13 blocks of 32 units a die, 5 of them spare: 256 units of the host at most.
    #[test]
    fn a_die_is_passed_over_when_a_page_more_is_more_than_it_should_hold() {
        let ssd = small(512 * UNIT_SECTORS);
        let mut mapping = Mapping::new(&ssd, ssd.sectors);
        mapping.dies[0].valid = 252;
        assert_eq!(mapping.choose_die(), 0);
        mapping.dies[0].valid = 253;
        assert_eq!(mapping.choose_die(), 1);
        mapping.dies[1].valid = 254;
        assert_eq!(mapping.choose_die(), 0, "the emptiest where all are full");
    }
}
