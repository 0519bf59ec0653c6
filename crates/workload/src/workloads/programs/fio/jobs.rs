//! The job file of fio, as far as phases, room and safety need: sections, `include`, `${NAME}`,
//! groups. All else is fio's own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::allowed::{self, Verdict};

/// How deep files include others.
const DEEPEST: usize = 8;
/// The most lines that a job file has with all that it includes.
const LINES_MAX: usize = 10_000;

/// A line of a job file that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// File and line, for people.
    at: String,
    pub(super) text: String,
}

impl Line {
    /// `[name]`.
    fn section(&self) -> Option<&str> {
        self.text.strip_prefix('[')?.strip_suffix(']').map(str::trim)
    }

    /// An option and its value, which is empty where there is none.
    fn option(&self) -> (&str, &str) {
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

/// Jobs that run at the same time, after those before have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) sections: Vec<Section>,
}

/// Where a job file's includes and variables come from.
pub struct Surroundings<'a> {
    /// Reads a file.
    pub read: &'a dyn Fn(&Path) -> std::io::Result<String>,
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

/// The text of a job file with what it includes and the values of its variables, and what was
/// changed in it.
///
/// # Errors
/// What cannot be run in a directory of its own, or not be read, with file and line.
pub fn fio_job_text(
    text: &str,
    path: &Path,
    surroundings: &Surroundings<'_>,
) -> Result<(String, Vec<String>), String> {
    let mut lines = Vec::new();
    expand(text, path, surroundings, 0, &mut lines)?;
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    for line in lines {
        let (name, value) = line.option();
        match allowed::judge(name, value) {
            _ if line.section().is_some() => kept.push(line),
            Verdict::Allowed => kept.push(line),
            Verdict::Replaced(how) => notes.push(format!("{}: {} {how}", line.at, line.text)),
            Verdict::Refused(why) => return Err(format!("{}: {}: {why}", line.at, line.text)),
        }
    }
    let text: String = kept.iter().map(|line| format!("{}\n", line.text)).collect();
    Jobs::read(&text)?;
    Ok((text, notes))
}

fn expand(
    text: &str,
    path: &Path,
    surroundings: &Surroundings<'_>,
    depth: usize,
    lines: &mut Vec<Line>,
) -> Result<(), String> {
    for (number, written) in text.lines().enumerate() {
        let at = format!("{}:{}", path.display(), number + 1);
        let Some(plain) = without_comment(written) else { continue };
        let plain = filled(plain, surroundings.variable);
        let is_include =
            plain.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t', '=']));
        let Some(included) = is_include else {
            if depth > 0 && plain.starts_with('[') {
                return Err(format!("{at}: {plain}: a file that is included has no sections"));
            }
            lines.push(Line { at, text: plain });
            if lines.len() > LINES_MAX {
                return Err(format!("{}: it has more than {LINES_MAX} lines", path.display()));
            }
            continue;
        };
        let named = included.trim_start_matches([' ', '\t', '=']).trim();
        if depth >= DEEPEST {
            return Err(format!("{at}: include {named}: files include each other too deep"));
        }
        let beside = path.parent().unwrap_or(Path::new("")).join(named);
        let places = [beside, PathBuf::from(named)];
        let read = places
            .iter()
            .find_map(|place| (surroundings.read)(place).ok().map(|text| (place.clone(), text)));
        let (place, text) = read.ok_or_else(|| {
            format!("{at}: include {named}: it cannot be read, beside the job's file or here")
        })?;
        expand(&text, &place, surroundings, depth + 1, lines)?;
    }
    Ok(())
}

/// A line without blanks around it and without its comment; `None` where nothing is left.
fn without_comment(line: &str) -> Option<&str> {
    let end = line.find([';', '#']).unwrap_or(line.len());
    let plain = line[..end].trim();
    (!plain.is_empty()).then_some(plain)
}

/// The line with `${NAME}` replaced by the variable's value, or by nothing where there is none.
fn filled(line: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        filled += before;
        filled += &variable(name).unwrap_or_default();
        rest = behind;
    }
    filled + rest
}

impl Jobs {
    /// Reads a text that [`fio_job_text`] made.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub(super) fn read(text: &str) -> Result<Jobs, String> {
        let lines: Vec<Line> = text
            .lines()
            .enumerate()
            .map(|(number, text)| Line {
                at: format!("line {}", number + 1),
                text: text.to_owned(),
            })
            .collect();
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
                return Err(format!("{}: {}: {why}", line.at, line.text));
            }
            let option = (name.to_owned(), value.to_owned());
            match (in_global, sections.last_mut()) {
                (None, _) => {
                    let why = "it stands before the first section; a job begins with [name]";
                    return Err(format!("{}: {}: {why}", line.at, line.text));
                }
                (Some(false), Some(section)) => {
                    section.options.push(option);
                    section.lines.end = number + 1;
                }
                _ => globals.push(option),
            }
        }
        if sections.is_empty() {
            return Err("it has no job: a section other than [global]".to_owned());
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

    fn text(written: &str) -> Result<(String, Vec<String>), String> {
        let read = |path: &Path| match path.to_str() {
            Some("place/common.inc") => Ok("bs=4k\nsize=1m\n".to_owned()),
            Some("place/round.inc") => Ok("include round.inc\n".to_owned()),
            Some("place/section.inc") => Ok("[x]\n".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        let variable = |name: &str| (name == "SIZE").then(|| "8m".to_owned());
        let surroundings = Surroundings { read: &read, variable: &variable };
        fio_job_text(written, Path::new("place/my.fio"), &surroundings)
    }

    fn jobs(written: &str) -> Jobs {
        Jobs::read(&text(written).unwrap().0).unwrap()
    }

    #[test]
    fn globals_act_on_the_jobs_below_them_and_includes_are_read_where_they_stand() {
        let jobs = jobs(
            "; a comment\n[global]\ninclude common.inc\n[a]\nrw=read ; of all\n[global]\nbs=${SIZE}\n\
             [b]\nsize=${NONE}2m\n",
        );
        let [a, b] = &jobs.sections[..] else { panic!("{jobs:?}") };
        assert_eq!((a.value(&["bs"]), a.value(&["rw"])), (Some("4k"), Some("read")));
        assert_eq!((b.value(&["bs"]), b.value(&["size"])), (Some("8m"), Some("2m")));
        assert!(text("[a]\ninclude round.inc").unwrap_err().contains("too deep"));
        assert!(text("[a]\ninclude none.inc").unwrap_err().contains("place/my.fio:2: include"));
        assert!(text("[a]\ninclude section.inc").unwrap_err().contains("no sections"));
    }

    #[test]
    fn a_wall_begins_a_phase_that_has_the_globals_and_its_own_sections() {
        let jobs = jobs(
            "[global]\nsize=1m\nrandseed=5\n[write]\nrw=write\n[read]\nstonewall\nrw=read\n[two]\n\
             wait_for_previous=0\n[third]\nwait_for_previous\nrw=randread\n",
        );
        let groups = jobs.groups();
        let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["write", "read+two", "third"]);
        let second = jobs.text_of(&groups[1], 7);
        assert!(second.starts_with("[global]\nrandseed=7\n[global]\nsize=1m\n[read]"), "{second}");
        assert!(second.contains("[two]") && !second.contains("randread"), "{second}");
        assert!(!second.contains("randseed=5"), "{second}");
    }

    #[test]
    fn what_leaves_the_directory_or_runs_programs_is_refused_with_its_line() {
        for (line, why) in [
            ("filename=/dev/sda", "device"),
            ("filename=a:/dev/nvme0n1", "device"),
            ("filename=/etc/passwd", "outside"),
            ("filename=../x", "outside"),
            ("directory=../x", "outside"),
            ("filename_format=/tmp/$jobnum", "outside"),
            ("exec_prerun=rm -rf /", "program"),
            ("ioengine=rbd", "engine"),
            ("ioengine=external:x.so", "engine"),
            ("write_bw_log=x", "file"),
            ("read_iolog=x", "file"),
            ("ioscheduler=none", "disk"),
            ("zonemode=zbd", "device"),
        ] {
            let error = text(&format!("[a]\n{line}\n")).unwrap_err();
            assert!(error.starts_with("place/my.fio:2: "), "{error}");
            assert!(error.contains(why), "{line}: {error}");
        }
        assert!(text("rw=read\n").unwrap_err().contains("before the first section"));
        assert!(text("[global]\nrw=read\n").unwrap_err().contains("no job"));
        let (kept, notes) = text("[a]\ndirectory=/mnt/x\nfilename=data\n").unwrap();
        assert_eq!(kept, "[a]\nfilename=data\n");
        assert!(notes[0].contains("place/my.fio:2: directory=/mnt/x"), "{notes:?}");
    }
}
