//! Ways in which programs save a file. [`PROGRAMS`] is the only list of them.

mod append;
mod create;
mod editor;
mod header;
mod maildir;
mod overwrite;
mod package;
mod rename;
mod tmpfile;
mod unlink;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::content::mix;
use crate::{Column, Content, Expectation, Version};

/// A way to save files.
#[derive(Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// What it does in each round.
    pub summary: &'static str,
    /// Does it.
    pub run: fn(&mut Run<'_>) -> io::Result<()>,
}

macro_rules! programs {
    ($($name:literal $run:expr, $summary:literal;)*) => {
        /// Every program, in the order of the list.
        pub static PROGRAMS: &[Program] =
            &[$(Program { name: $name, summary: $summary, run: $run },)*];
    };
}

programs! {
    "overwrite" overwrite::synced, "write 8 KiB in the middle of a file, fdatasync";
    "overwrite-dsync" overwrite::in_step, "write 8 KiB in the middle of a file opened with O_DSYNC";
    "header" header::run, "write a header of 4 KiB over the old one, fdatasync: old or new is \
                           relied on";
    "create" create::safe, "write a new file, fsync it, fsync its directory";
    "create-no-dirsync" create::careless, "write a new file, fsync it: its name is relied on";
    "rename" rename::safe, "write, fsync, rename over the old file, fsync the directory";
    "rename-no-dirsync" rename::no_directory, "write, fsync, rename over the old file";
    "rename-no-fsync" rename::careless, "write, rename over the old file";
    "tmpfile" tmpfile::run, "O_TMPFILE, write, fsync, link, fsync the directory";
    "append" append::safe, "append a record to a log, fdatasync";
    "append-no-fsync" append::careless, "append a record to a log: relied on to be there";
    "unlink" unlink::run, "remove a file, fsync its directory: it does not come back";
    "maildir" maildir::run, "deliver a mail: write to tmp, fsync, rename to new, fsync new";
    "editor" editor::run, "copy to a backup and fsync it, write the file anew, fsync";
    "package" package::run, "unpack four files beside the old ones, fsync each, rename all, fsync \
                             the directory";
}

/// The program of this name.
pub fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// One execution of a program.
pub struct Run<'a> {
    root: PathBuf,
    seed: u64,
    rounds: u64,
    expectations: Vec<Expectation>,
    mark: &'a dyn Fn(),
    pause: &'a dyn Fn(),
}

impl<'a> Run<'a> {
    /// In an empty directory. `mark` is called when something else is expected from then on, `pause`
    /// between rounds.
    pub fn new(
        root: &Path,
        seed: u64,
        rounds: u64,
        mark: &'a dyn Fn(),
        pause: &'a dyn Fn(),
    ) -> Run<'a> {
        Run { root: root.to_owned(), seed, rounds, expectations: Vec::new(), mark, pause }
    }

    /// Runs a program and returns what it expected, in order.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn execute(mut self, program: &Program) -> io::Result<Vec<Expectation>> {
        (program.run)(&mut self)?;
        Ok(self.expectations)
    }

    /// Contents that nothing else has; of a few thousand bytes.
    fn content(&self, what: &str, round: u64) -> Content {
        let name = what.bytes().fold(self.seed, |sum, byte| mix(sum, u64::from(byte)));
        let seed = mix(name, round);
        Content { seed, len: 3000 + seed % 9000 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn expect(&mut self, column: Column, path: &str, allowed: Vec<Version>, because: &str) {
        let (path, because) = (path.to_owned(), because.to_owned());
        self.expectations.push(Expectation { column, path, allowed, because });
        (self.mark)();
    }

    fn promised(&mut self, path: &str, allowed: Vec<Version>, because: &str) {
        self.expect(Column::Promised, path, allowed, because);
    }

    fn relied(&mut self, path: &str, allowed: Vec<Version>, because: &str) {
        self.expect(Column::Relied, path, allowed, because);
    }

    /// What is done in each round; between some, so much time passes that a filesystem commits.
    fn each_round(
        &mut self,
        mut round: impl FnMut(&mut Self, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        for nth in 0..self.rounds {
            round(self, nth)?;
            if nth % 2 == 1 {
                (self.pause)();
            }
        }
        Ok(())
    }

    /// Writes a new file, or one anew.
    fn write(&self, name: &str, content: Content) -> io::Result<File> {
        let mut file = File::create(self.path(name))?;
        file.write_all(&content.bytes())?;
        Ok(file)
    }

    /// fsync of a directory; `.` is the program's own.
    fn sync_directory(&self, name: &str) -> io::Result<()> {
        File::open(self.path(name))?.sync_all()
    }

    /// A file that is there from the beginning, with its name and contents.
    fn begin_with(&mut self, name: &str, content: Content) -> io::Result<()> {
        self.write(name, content)?.sync_all()?;
        self.sync_directory(".")?;
        self.promised(name, vec![Version::Is(content)], SYNCED);
        Ok(())
    }
}

/// Why a file whose directory was synced is expected.
const SYNCED: &str = "fsync of the file and of its directory returned";

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Seen, in_force, judge};

    fn seen(path: &Path) -> Seen {
        match std::fs::read(path) {
            Ok(bytes) => Seen::Bytes(bytes),
            Err(_) => Seen::Absent,
        }
    }

    #[test]
    fn where_the_power_stays_every_program_finds_what_it_expects_at_every_moment() {
        for program in PROGRAMS {
            let place = tempfile::tempdir().unwrap();
            let marks = Cell::new(0);
            let mark = || marks.set(marks.get() + 1);
            let run = Run::new(place.path(), 7, 3, &mark, &|| {});
            let expectations = run.execute(program).unwrap();
            assert_eq!(expectations.len(), marks.get(), "{}", program.name);
            let last = in_force(&expectations, expectations.len());
            assert!(!last.is_empty(), "{}", program.name);
            for expectation in last {
                let found =
                    judge(expectation, &expectations, &seen(&place.path().join(&expectation.path)));
                assert_eq!(found, None, "{}: {expectation:?}", program.name);
            }
        }
    }

    #[test]
    fn names_are_words_and_none_comes_twice() {
        let mut names: Vec<&str> = PROGRAMS.iter().map(|one| one.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PROGRAMS.len());
        assert!(program("rename").is_some() && program("rename-none").is_none());
    }
}
