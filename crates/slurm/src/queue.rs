//! The tasks of a run in Slurm's queue: submitted, looked for, submitted again.

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::{self, Ended};
use crate::spool::ARRAY;
use crate::{Options, SlurmError, Spool};

/// How often a task is submitted at most.
pub(crate) const ATTEMPTS: u32 = 3;

/// The tasks of one run.
#[derive(Debug)]
pub(crate) struct Queue {
    spool: Spool,
    token: String,
    options: Options,
    /// The newest job of each array's tasks, and how often each was submitted.
    submitted: BTreeMap<u32, (String, u32)>,
    names: BTreeSet<String>,
}

impl Queue {
    pub(crate) fn new(spool: Spool, token: String, options: Options) -> Queue {
        Queue { spool, token, options, submitted: BTreeMap::new(), names: BTreeSet::new() }
    }

    /// The job name of the array that a trial belongs to.
    fn name(&self, ordinal: u32) -> String {
        format!("{}-{}", self.token, ordinal / ARRAY)
    }

    /// Adds trials whose tasks are looked for from now on.
    pub(crate) fn expect(&mut self, ordinals: impl Iterator<Item = u32>) {
        let names: Vec<String> = ordinals.map(|ordinal| self.name(ordinal)).collect();
        self.names.extend(names);
    }

    /// Submits a task for each trial; returns the numbers of the jobs.
    pub(crate) fn submit(&mut self, ordinals: &BTreeSet<u32>) -> Result<Vec<String>, SlurmError> {
        let mut jobs = Vec::new();
        let chunks: BTreeSet<u32> = ordinals.iter().map(|ordinal| ordinal / ARRAY).collect();
        for chunk in chunks {
            let of_chunk: Vec<u32> =
                ordinals.iter().copied().filter(|it| it / ARRAY == chunk).collect();
            let job = self.submit_array(chunk, &of_chunk)?;
            for ordinal in of_chunk {
                let known = self.submitted.entry(ordinal).or_default();
                *known = (job.clone(), known.1 + 1);
            }
            jobs.push(job);
        }
        Ok(jobs)
    }

    fn submit_array(&mut self, chunk: u32, ordinals: &[u32]) -> Result<String, SlurmError> {
        let first = chunk * ARRAY;
        let indexes: Vec<u32> = ordinals.iter().map(|ordinal| ordinal - first).collect();
        let limit = self.options.at_once.map(|tasks| format!("%{tasks}")).unwrap_or_default();
        let program = quoted(&self.spool.program());
        let spool = quoted(self.spool.directory());
        let text = format!("#!/bin/sh\nexec {program} slurm-task {spool} {first}\n");
        let script = self.spool.write_script(&format!("task-{chunk}"), &text)?;
        let log = self.spool.directory().join(format!("logs/{chunk}-%a"));
        let name = self.name(first);
        let mut words = vec![
            "--parsable".to_owned(),
            format!("--job-name={name}"),
            format!("--array={}{limit}", ranges(&indexes)),
            "--requeue".to_owned(),
            "--ntasks=1".to_owned(),
            "--cpus-per-task=1".to_owned(),
            "--open-mode=append".to_owned(),
            format!("--output={}", log.display()),
            "--chdir=/".to_owned(),
        ];
        words.extend(self.options.words());
        words.push(script.display().to_string());
        self.names.insert(name);
        commands::sbatch(&words)
    }

    /// The trials whose tasks wait or run.
    pub(crate) fn alive(&self) -> Result<BTreeSet<u32>, SlurmError> {
        let names: Vec<String> = self.names.iter().cloned().collect();
        let tasks = commands::squeue(&names)?;
        let ordinal = |(name, index): (String, u32)| {
            let chunk: u32 = name.rsplit('-').next()?.parse().ok()?;
            Some(chunk * ARRAY + index)
        };
        Ok(tasks.into_iter().filter_map(ordinal).collect())
    }

    /// How a task that has left the queue ended, as far as Slurm still knows.
    pub(crate) fn ended(&self, ordinal: u32) -> Option<Ended> {
        let (job, _) = self.submitted.get(&ordinal)?;
        commands::state_of(job, ordinal % ARRAY)
    }

    /// How often a trial's task was submitted from here.
    pub(crate) fn attempts(&self, ordinal: u32) -> u32 {
        self.submitted.get(&ordinal).map_or(0, |(_, attempts)| *attempts)
    }

    /// Cancels all of them. One that cannot be cancelled runs to its end; nobody reads its result.
    pub(crate) fn cancel(&self) {
        for name in &self.names {
            let _ = commands::scancel(name);
        }
    }
}

/// `0-3,7`.
fn ranges(indexes: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for index in indexes {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => parts.push((*index, *index)),
        }
    }
    let part = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// A path as a word of a shell.
fn quoted(path: &std::path::Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_names_its_places() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[0, 2, 4, 5]), "0,2,4-5");
    }

    #[test]
    fn a_path_is_one_word_of_the_script() {
        assert_eq!(quoted(std::path::Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
