//! The files of one set: where they lie, which are there, whose turn is next.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::model::{FileSet, gamma};
use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, Seed};

/// Everything is below this directory of the target.
pub(super) const DIRECTORY: &str = "filebench";
/// Deepest directory, so that every path can be named.
const DEEPEST: f64 = 60.0;

/// A set of files that threads share. Several threads may have a file open; one that creates or
/// removes it has it alone meanwhile.
pub(super) struct Files {
    root: String,
    /// Parent and number of each directory; the first is the root.
    directories: Vec<(u32, u32)>,
    places: Vec<Place>,
    /// Bytes of each file, if it is there.
    sizes: Vec<AtomicU64>,
    state: Mutex<State>,
}

/// Where a file lies, and the size it is made with.
#[derive(Debug, Clone, Copy)]
struct Place {
    directory: u32,
    number: u32,
    planned: u64,
}

struct State {
    there: BTreeSet<u32>,
    missing: BTreeSet<u32>,
    busy: BTreeSet<u32>,
    /// How many descriptors of a file are open.
    opened: Vec<u32>,
    /// Where the search for the next file begins.
    turn: Turns,
    next_directory: usize,
}

/// Files are taken in turn, those that are there and those that are not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turns {
    there: u32,
    missing: u32,
}

impl Files {
    /// Draws the sizes and the tree of a set, which has this many files.
    pub(super) fn draw(set: &FileSet, number: usize, entries: u64, seed: Seed) -> Files {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = match set.name.len() <= 40 && set.name.chars().all(plain) {
            true => set.name.clone(),
            false => format!("set-{number}"),
        };
        let mut tree = Tree {
            set,
            entries,
            depth: mean_depth(entries, set.width),
            directories: Vec::new(),
            files: Vec::new(),
            draw: seed.stream(&format!("filebench directories {number}")),
        };
        tree.fill(None, 1, 0.0);
        let mut sizes = seed.stream(&format!("filebench sizes of set {number}"));
        let places = tree.files.iter().map(|(directory, number)| Place {
            directory: *directory,
            number: *number,
            planned: set.size.draw(&mut sizes),
        });
        let places: Vec<Place> = places.collect();
        let count = places.len();
        Files {
            root: format!("{DIRECTORY}/{name}"),
            directories: tree.directories,
            places,
            sizes: (0..count).map(|_| AtomicU64::new(0)).collect(),
            state: Mutex::new(State {
                there: BTreeSet::new(),
                missing: (0..count as u32).collect(),
                busy: BTreeSet::new(),
                opened: vec![0; count],
                turn: Turns::default(),
                next_directory: 0,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn directory_count(&self) -> usize {
        self.directories.len()
    }

    /// The size a file is made with.
    pub(super) fn planned(&self, place: usize) -> u64 {
        self.places[place].planned
    }

    /// Bytes that a file has now.
    pub(super) fn size(&self, place: usize) -> &AtomicU64 {
        &self.sizes[place]
    }

    /// The path of a file.
    pub(super) fn path(&self, place: usize, path: &mut PathBuffer) {
        let Place { directory, number, .. } = self.places[place];
        self.directory(directory as usize, path);
        path.text("/").number(number.into(), 8);
    }

    /// The path of a directory.
    pub(super) fn directory(&self, directory: usize, path: &mut PathBuffer) {
        let mut numbers = Vec::new();
        let mut at = directory;
        while at != 0 {
            let (parent, number) = self.directories[at];
            numbers.push(number);
            at = parent as usize;
        }
        path.clear().text(&self.root);
        for number in numbers.iter().rev() {
            path.text("/").number((*number).into(), 8);
        }
    }

    /// Counts one more descriptor of the next file that is there, which stays until it is closed;
    /// `own` are turns of a thread in place of those that all share.
    pub(super) fn share(&self, own: Option<&mut Turns>) -> Option<usize> {
        let mut state = self.state();
        let place = next(&mut state, true, own)?;
        state.opened[place as usize] += 1;
        Some(place as usize)
    }

    /// Takes the next file that is there, or that is not, for a thread alone.
    pub(super) fn take(&self, is_there: bool) -> Option<usize> {
        let mut state = self.state();
        let place = next(&mut state, is_there, None)?;
        state.busy.insert(place);
        Some(place as usize)
    }

    /// Takes this very file, if nobody else has it in hand.
    pub(super) fn hold(&self, place: usize) -> bool {
        self.state().busy.insert(place as u32)
    }

    /// Gives a file back: whether it is there now, and how the number of its descriptors changed.
    pub(super) fn give_back(&self, place: usize, is_there: bool, opened: i32) {
        let mut state = self.state();
        let key = place as u32;
        state.busy.remove(&key);
        state.opened[place] = state.opened[place].saturating_add_signed(opened);
        let State { there, missing, .. } = &mut *state;
        let (to, from) = if is_there { (there, missing) } else { (missing, there) };
        from.remove(&key);
        to.insert(key);
    }

    /// Closes one descriptor of a file.
    pub(super) fn closed(&self, place: usize) {
        let mut state = self.state();
        state.opened[place] = state.opened[place].saturating_sub(1);
    }

    /// How many descriptors of a file are open.
    pub(super) fn opened(&self, place: usize) -> u32 {
        self.state().opened[place]
    }

    /// The next directory in turn.
    pub(super) fn next_directory(&self) -> usize {
        let mut state = self.state();
        let next = state.next_directory;
        state.next_directory = (next + 1) % self.directories.len();
        next
    }

    /// The files that are made beforehand, in random order as Filebench makes them.
    pub(super) fn chosen(&self, percent: u64, number: usize, seed: Seed) -> Vec<usize> {
        let mut draw = seed.stream(&format!("filebench preallocated of set {number}"));
        let mut chosen: Vec<usize> =
            (0..self.len()).filter(|_| draw.below(100) < percent).collect();
        draw.shuffle(&mut chosen);
        chosen
    }

    /// The files that are there.
    pub(super) fn present(&self) -> Vec<bool> {
        let state = self.state();
        (0..self.len() as u32).map(|place| state.there.contains(&place)).collect()
    }

    /// Notes that a file was made with the size planned for it.
    pub(super) fn note_made(&self, place: usize) {
        self.sizes[place].store(self.planned(place), Ordering::Relaxed);
        self.give_back(place, true, 0);
    }
}

/// The file whose turn it is and that no thread has for itself.
fn next(state: &mut State, is_there: bool, own: Option<&mut Turns>) -> Option<u32> {
    let State { there, missing, busy, turn, .. } = state;
    let turns = own.unwrap_or(turn);
    let (among, turn) = match is_there {
        true => (&*there, &mut turns.there),
        false => (&*missing, &mut turns.missing),
    };
    let mut order = among.range(*turn..).chain(among.range(..*turn));
    let place = *order.find(|place| !busy.contains(*place))?;
    *turn = place + 1;
    Some(place)
}

fn mean_depth(entries: u64, width: u64) -> f64 {
    match width {
        // Filebench divides by the logarithm of 0 or 1 here, and gets no depth.
        0 | 1 => 0.0,
        width => (entries as f64).ln() / (width as f64).ln(),
    }
}

/// A tree while it is drawn, as Filebench draws it: directories of a drawn width, to a drawn depth,
/// until there are enough files.
struct Tree<'a> {
    set: &'a FileSet,
    entries: u64,
    depth: f64,
    directories: Vec<(u32, u32)>,
    files: Vec<(u32, u32)>,
    draw: Draw,
}

impl Tree<'_> {
    fn fill(&mut self, parent: Option<u32>, number: u32, depth: f64) {
        let depth = depth + 1.0;
        let own = self.directories.len() as u32;
        self.directories.push((parent.unwrap_or(0), number));
        let deepest = self.drawn(self.depth).floor().clamp(1.0, DEEPEST);
        let width = self.drawn(self.set.width as f64);
        let width = if width == 0.0 { 1.0 } else { width };
        let is_leaf = depth >= deepest;
        let mut child = 1;
        while (parent.is_none() || f64::from(child) < width + 1.0)
            && (self.files.len() as u64) < self.entries
        {
            match parent.is_some() && is_leaf {
                true => self.files.push((own, child)),
                false => self.fill(Some(own), child, depth),
            }
            child += 1;
        }
    }

    fn drawn(&mut self, mean: f64) -> f64 {
        match self.set.gamma {
            0 => mean,
            thousandths => {
                let shape = thousandths as f64 / 1000.0;
                gamma(shape, &mut self.draw) * mean / shape
            }
        }
    }
}
