//! The jobs of a file of fio, as far as phases, room and safety need: sections and groups. All else
//! is fio's own.

use std::collections::BTreeSet;

use super::allowed::{self, Verdict};

/// A line of a job file that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// File and line, for people.
    pub(super) at: String,
    pub(super) text: String,
}

impl Line {
    /// `[name]`.
    pub(super) fn section(&self) -> Option<&str> {
        self.text.strip_prefix('[')?.strip_suffix(']').map(str::trim)
    }

    /// What is wrong with it.
    fn wrong(&self, why: &str) -> Wrong {
        Wrong { at: Some(self.at.clone()), what: format!("{}: {why}", self.text) }
    }

    /// An option and its value, which is empty where there is none.
    pub(super) fn option(&self) -> (&str, &str) {
        match self.text.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim()),
            None => (self.text.trim(), ""),
        }
    }
}

/// One job: a section that is not `[global]`, with the globals that act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    /// Option and value, in order; a later one counts.
    options: Vec<(String, String)>,
    /// Its lines in the file.
    lines: std::ops::Range<usize>,
}

impl Section {
    /// The value of the first of these names that is given.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        let found = self.options.iter().rev().find(|(name, _)| names.contains(&name.as_str()));
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a switch is on: named alone, or not 0.
    pub(super) fn is_on(&self, names: &[&str]) -> bool {
        self.value(names).is_some_and(|value| value != "0")
    }

    /// Whether it trims through an engine that does so on devices only.
    fn trims_files(&self) -> bool {
        let engine = self.value(&["ioengine"]).unwrap_or("psync");
        let way = self.value(&["rw", "readwrite"]).unwrap_or("read");
        way.contains("trim") && !["falloc", "null"].contains(&engine)
    }

    /// How many threads or processes do it.
    pub(super) fn clones(&self) -> u64 {
        self.value(&["numjobs"]).and_then(|value| value.parse().ok()).unwrap_or(1).max(1)
    }
}

/// A job file with everything that it includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Jobs {
    lines: Vec<Line>,
    pub(super) sections: Vec<Section>,
}

/// What is wrong with a job file, and in which line, if it is in one.
pub(super) struct Wrong {
    pub(super) at: Option<String>,
    pub(super) what: String,
}

/// Jobs that run at the same time, after those before have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) sections: Vec<Section>,
}

impl Jobs {
    /// Reads a text that [`fio_job_text`] made.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub(super) fn read(text: &str) -> Result<Jobs, String> {
        let lines = text.lines().enumerate().map(|(number, text)| Line {
            at: format!("line {}", number + 1),
            text: text.to_owned(),
        });
        Jobs::of(lines.collect()).map_err(|wrong| match wrong.at {
            Some(at) => format!("{at}: {}", wrong.what),
            None => wrong.what,
        })
    }

    /// The jobs of these lines.
    pub(super) fn of(lines: Vec<Line>) -> Result<Jobs, Wrong> {
        let mut globals: Vec<(String, String)> = Vec::new();
        let mut sections: Vec<Section> = Vec::new();
        let mut in_global = None;
        for (number, line) in lines.iter().enumerate() {
            if let Some(name) = line.section() {
                in_global = Some(name == "global");
                if name != "global" {
                    let options = globals.clone();
                    let lines = number..number + 1;
                    sections.push(Section { name: name.to_owned(), options, lines });
                }
                continue;
            }
            let (name, value) = line.option();
            if let Verdict::Refused(why) = allowed::judge(name, value) {
                return Err(line.wrong(&why));
            }
            let option = (name.to_owned(), value.to_owned());
            match (in_global, sections.last_mut()) {
                (None, _) => {
                    let why = "it stands before the first section; a job begins with [name]";
                    return Err(line.wrong(why));
                }
                (Some(false), Some(section)) => {
                    section.options.push(option);
                    section.lines.end = number + 1;
                }
                _ => globals.push(option),
            }
        }
        if sections.is_empty() {
            let what = "it has no job: a section other than [global]".to_owned();
            return Err(Wrong { at: None, what });
        }
        if let Some(section) = sections.iter().find(|section| section.trims_files()) {
            let why = "only devices can be trimmed; with ioengine=falloc it makes holes in a file";
            let of_section = |line: &&Line| is_way(line.option().0);
            let own = &lines[section.lines.clone()];
            let line = own.iter().rfind(of_section).or_else(|| lines.iter().rfind(of_section));
            return Err(line.map_or(Wrong { at: None, what: why.to_owned() }, |it| it.wrong(why)));
        }
        Ok(Jobs { lines, sections })
    }

    /// The groups, in order: a job with `stonewall` begins one. Where jobs wait for others by name,
    /// all are one group.
    pub(super) fn groups(&self) -> Vec<Group> {
        let by_name = self.sections.iter().any(|it| it.value(&["wait_for"]).is_some());
        let mut groups: Vec<Vec<Section>> = Vec::new();
        for section in &self.sections {
            let waits = section.is_on(&["stonewall", "wait_for_previous"]) && !by_name;
            match groups.last_mut().filter(|_| !waits) {
                Some(group) => group.push(section.clone()),
                None => groups.push(vec![section.clone()]),
            }
        }
        let mut names = BTreeSet::new();
        let mut named = Vec::new();
        for (number, sections) in groups.into_iter().enumerate() {
            let mut name = name_of(&sections, number + 1);
            while !names.insert(name.clone()) {
                name = format!("{name}-{}", number + 1);
            }
            named.push(Group { name, sections });
        }
        named
    }

    /// The job file of one group, its random numbers from this seed: everything but the other
    /// groups' sections, in its order.
    pub(super) fn text_of(&self, group: &Group, seed: u64) -> String {
        let others = self.sections.iter().filter(|section| !group.sections.contains(section));
        let others: Vec<_> = others.map(|section| section.lines.clone()).collect();
        let mut text = format!("[global]\nrandseed={seed}\n");
        for (number, line) in self.lines.iter().enumerate() {
            let is_seed = line.option().0 == "randseed" && line.section().is_none();
            if !is_seed && !others.iter().any(|lines| lines.contains(&number)) {
                text += &line.text;
                text.push('\n');
            }
        }
        text
    }

    /// The directories below the target that its jobs work in, which fio does not make.
    pub(super) fn directories(&self) -> Vec<String> {
        let values = self.sections.iter().filter_map(|section| section.value(&["directory"]));
        let all: BTreeSet<&str> = values.flat_map(|value| value.split(':')).collect();
        all.into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

fn is_way(option: &str) -> bool {
    matches!(option, "rw" | "readwrite")
}

/// The name of a phase: those of its jobs, if they are short.
fn name_of(sections: &[Section], number: usize) -> String {
    const LONGEST: usize = 32;
    let names: Vec<String> = sections.iter().map(|section| plain(&section.name, '-')).collect();
    let joined = names.join("+");
    match joined.len() <= LONGEST && !joined.is_empty() {
        true => joined,
        false => format!("group-{number}"),
    }
}

/// A name of lower-case letters and digits, all else replaced.
pub(super) fn plain(name: &str, other: char) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { other };
    let plain: String = name.chars().map(plain).collect();
    let plain = plain.trim_matches(other);
    if plain.is_empty() { "job".to_owned() } else { plain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_begins_a_phase_that_has_the_globals_and_its_own_sections() {
        let jobs = Jobs::read(
            "[global]\nsize=1m\nrandseed=5\n[write]\nrw=write\n[read]\nstonewall\nrw=read\n[two]\n\
             wait_for_previous=0\n[third]\nwait_for_previous\nrw=randread\n",
        )
        .unwrap();
        let groups = jobs.groups();
        let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["write", "read+two", "third"]);
        let second = jobs.text_of(&groups[1], 7);
        assert!(second.starts_with("[global]\nrandseed=7\n[global]\nsize=1m\n[read]"), "{second}");
        assert!(second.contains("[two]") && !second.contains("randread"), "{second}");
        assert!(!second.contains("randseed=5"), "{second}");
    }
}
