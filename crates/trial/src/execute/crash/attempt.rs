//! Mounts the filesystem in a state, looks at the program's files, unmounts and checks.

use std::collections::BTreeMap;
use std::path::Path;

use crash::{
    Checked, Expectation, Image, Log, Lost, Memory, Plan, Seen, Stage, State, Tape, Told, Tried,
    in_force, judge, pieces,
};
use stack::Command;
use workload::Promising;

use super::super::Execution;
use super::super::cold::drop_device_buffers;
use super::super::mounting::Mounted;
use super::super::place::Stand;
use super::DIRECTORY;
use crate::{Event, Outcome};

/// What was seen of a state while it was mounted, and what that wrote.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    mounted: crash::Mounted,
    /// The files that were looked at.
    files: BTreeMap<String, Seen>,
    written: Image,
}

/// A program of the user's own, and what it promised, in order.
pub(super) struct Own {
    pub(super) program: Promising,
    pub(super) promises: Vec<String>,
}

/// Tries states, and remembers what was found.
pub(super) struct Attempts<'a, 'j> {
    pub(super) execution: &'a Execution<'j>,
    pub(super) tape: &'a dyn Tape,
    pub(super) stand: &'a Stand<'a>,
    pub(super) log: Log,
    pub(super) plan: Plan,
    pub(super) expectations: Vec<Expectation>,
    /// The user's own program, whose check looks instead.
    pub(super) own: Option<Own>,
    /// What is run before it is mounted.
    pub(super) recover: Vec<Command>,
    /// What was seen of disks, by what was read of them while they were mounted.
    pub(super) seen: Memory<Looked>,
    /// What the check said of disks, by what it read of them.
    pub(super) checked: Memory<Checked>,
}

impl Attempts<'_, '_> {
    pub(super) fn tell(&self, told: Told) {
        self.execution.tell(Event::Crash(told));
    }

    fn image(&self, state: &State) -> Image {
        Image::of(&self.log, &pieces(&self.log, self.plan.cache, state))
    }

    /// What a state shows if it is the same as others wherever those were read. `same` are the
    /// states that leave the same disk.
    pub(super) fn alike(&mut self, state: &State, same: &[State]) -> Option<Tried> {
        if self.plan.each {
            return None;
        }
        let image = self.image(state);
        let looked = self.seen.find(&image)?.clone();
        let mounted = matches!(looked.mounted, crash::Mounted::After(_));
        if mounted && !self.paths(same).iter().all(|path| looked.files.contains_key(*path)) {
            return None;
        }
        let checked = self.checked.find(&image.after(&looked.written))?.clone();
        Some(self.judged(looked, checked, state, same))
    }

    /// Tries a state. A disk is not checked that is the same as others wherever the check read
    /// those, unless `whole` asks for it.
    pub(super) fn attempt(
        &mut self,
        state: &State,
        same: &[State],
        whole: bool,
    ) -> Result<Tried, Outcome> {
        let image = self.image(state);
        let looked = self.look(state, &image, same)?;
        self.tell(Told::Stage(Stage::Check));
        let image = image.after(&looked.written);
        let known = match whole || self.plan.each {
            true => None,
            false => self.checked.find(&image).cloned(),
        };
        let checked = known.unwrap_or_else(|| self.check(&image));
        match self.tape.trouble() {
            None => Ok(self.judged(looked, checked, state, same)),
            Some(trouble) => Err(self.execution.failed(trouble)),
        }
    }

    fn look(&mut self, state: &State, image: &Image, same: &[State]) -> Result<Looked, Outcome> {
        self.tell(Told::Stage(Stage::Mount));
        self.tape.set(pieces(&self.log, self.plan.cache, state));
        self.tape.timed(true);
        let began = measure::now();
        self.drop_buffers();
        let mut files = BTreeMap::new();
        let mounted = match self.mounted_again() {
            Err(why) => crash::Mounted::Refused(why),
            Ok(mounted) => {
                let after = crash::Mounted::After((measure::now() - began).0);
                self.tell(Told::Stage(Stage::Look));
                for path in self.paths(same) {
                    files.insert(path.to_owned(), self.look_at(mounted.path(), path));
                }
                self.tell(Told::Stage(Stage::Unmount));
                mounted.unmount().map_err(|error| self.execution.failed(error.to_string()))?;
                after
            }
        };
        let (reads, written) = self.tape.followed();
        let looked = Looked { mounted, files, written };
        self.seen.learn(image, reads, looked.clone());
        Ok(looked)
    }

    fn look_at(&self, mount_point: &Path, path: &str) -> Seen {
        let Some(Own { program, promises }) = &self.own else {
            return look(&mount_point.join(DIRECTORY).join(path));
        };
        let nth = self.expectations.iter().position(|expectation| expectation.path == path);
        match program.check(&promises[..nth.map_or(0, |nth| nth + 1)]) {
            Ok(()) => Seen::Accepted,
            Err(why) => Seen::Refused(why),
        }
    }

    /// Runs the filesystem's check on what is on the disks now.
    fn check(&mut self, image: &Image) -> Checked {
        // Nobody asks how long that takes.
        self.tape.timed(false);
        self.drop_buffers();
        let mut checked = Checked::Missing;
        for command in &self.stand.plan.check {
            match self.execution.programs.run(command) {
                Ok(_) if checked == Checked::Missing => checked = Checked::Clean,
                Ok(_) => {}
                Err(error) => checked = Checked::Damaged(error.to_string()),
            }
        }
        let (reads, _) = self.tape.followed();
        self.checked.learn(image, reads, checked.clone());
        checked
    }

    fn drop_buffers(&self) {
        self.stand.place.disks.iter().for_each(|disk| drop_device_buffers(disk));
    }

    /// Mounts it as Linux does when it boots.
    fn mounted_again(&self) -> Result<Mounted, String> {
        let Stand { plan, place, .. } = *self.stand;
        for command in &self.recover {
            self.execution.programs.run(command).map_err(|error| error.to_string())?;
            // What it wrote is in the device's page cache, and a filesystem may read past that.
            self.drop_buffers();
        }
        Mounted::mount(&plan.mount, place.mount_point).map_err(|error| error.to_string())
    }

    /// The files of which something is expected in any of these states. Of the promises of the
    /// user's own program the last, with which its check gets those before.
    fn paths(&self, same: &[State]) -> Vec<&str> {
        if self.own.is_some() {
            let last = same.iter().map(|state| state.expected).max().unwrap_or(0);
            let last = last.checked_sub(1).map(|nth| self.expectations[nth].path.as_str());
            return last.into_iter().collect();
        }
        let of = |state: &State| in_force(&self.expectations, state.expected);
        let mut paths: Vec<&str> =
            same.iter().flat_map(of).map(|expectation| expectation.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// What was lost, each with the first of these states in which it was.
    fn judged(&self, looked: Looked, checked: Checked, state: &State, same: &[State]) -> Tried {
        let Looked { mounted, files, .. } = looked;
        let mut lost = Vec::<Lost>::new();
        for state in same {
            for expectation in in_force(&self.expectations, state.expected) {
                // Nothing was looked at where it could not be mounted.
                let Some(seen) = files.get(&expectation.path) else { continue };
                // A promise comes first; what is relied on says nothing more about the same file.
                let known = |lost: &Lost| {
                    let of = &lost.expectation;
                    of == expectation
                        || (of.path == expectation.path && of.column < expectation.column)
                };
                if lost.iter().any(known) {
                    continue;
                }
                if let Some(found) = judge(expectation, &self.expectations, seen) {
                    let expectation = expectation.clone();
                    lost.push(Lost { expectation, state: state.clone(), found });
                }
            }
        }
        Tried { state: state.clone(), mounted, checked, lost }
    }
}

fn look(path: &Path) -> Seen {
    match std::fs::read(path) {
        Ok(bytes) => Seen::Bytes(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Seen::Absent,
        Err(error) => Seen::Unreadable(error.to_string()),
    }
}
