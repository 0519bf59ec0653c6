//! Slurm's own commands, and what they print.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::process::Command;

use crate::SlurmError;

/// Runs one of Slurm's commands; returns what it printed.
fn output(program: &'static str, words: &[String]) -> Result<String, SlurmError> {
    // The output is parsed; formats set by the user would change it.
    let environment = ["SQUEUE_FORMAT", "SQUEUE_STATES", "SINFO_FORMAT", "SLURM_TIME_FORMAT"];
    let mut command = Command::new(program);
    environment.iter().for_each(|name| {
        command.env_remove(name);
    });
    let output = command.args(words).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => SlurmError::NotInstalled { program },
        _ => SlurmError::Command { program, message: error.to_string() },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join("; ");
    Err(SlurmError::Command { program, message })
}

/// Submits a job; returns its number.
pub(crate) fn sbatch(words: &[String]) -> Result<String, SlurmError> {
    let printed = output("sbatch", words)?;
    // `123` or `123;cluster`.
    Ok(printed.trim().split(';').next().unwrap_or_default().to_owned())
}

/// The waiting and running tasks of the jobs of these names: job name and array index.
pub(crate) fn squeue(names: &[String]) -> Result<Vec<(String, u32)>, SlurmError> {
    let words = ["--noheader", "--array", "--format=%j|%K|%T", "--name", &names.join(",")];
    Ok(tasks(&output("squeue", &words.map(str::to_owned))?))
}

fn tasks(printed: &str) -> Vec<(String, u32)> {
    let task = |line: &str| {
        let mut fields = line.trim().split('|');
        let (name, index, state) = (fields.next()?, fields.next()?, fields.next()?);
        let ended = matches!(
            state,
            "COMPLETED" | "CANCELLED" | "FAILED" | "TIMEOUT" | "NODE_FAIL" | "OUT_OF_MEMORY"
        );
        (!ended).then_some((name.to_owned(), index.parse().ok()?))
    };
    printed.lines().filter_map(task).collect()
}

/// Cancels the jobs of this name.
pub(crate) fn scancel(name: &str) -> Result<(), SlurmError> {
    output("scancel", &["--name".to_owned(), name.to_owned()]).map(drop)
}

/// How a task that has left the queue ended (`CANCELLED`, `NODE_FAIL`), and its node. `None` if
/// Slurm has forgotten it.
pub(crate) fn state_of(job: &str, index: u32) -> Option<Ended> {
    let words = ["--oneliner", "show", "job", &format!("{job}_{index}")].map(str::to_owned);
    ended(&output("scontrol", &words).ok()?)
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Slurm's word.
    pub(crate) state: String,
    /// Where it ran; empty if nowhere.
    pub(crate) node: String,
}

fn ended(printed: &str) -> Option<Ended> {
    let line = printed.lines().next()?;
    let fields: BTreeMap<&str, &str> =
        line.split_whitespace().filter_map(|field| field.split_once('=')).collect();
    let node = fields.get("NodeList").filter(|node| **node != "(null)");
    Some(Ended {
        state: (*fields.get("JobState")?).to_owned(),
        node: node.map(|node| (*node).to_owned()).unwrap_or_default(),
    })
}

/// How many processors the partition has.
pub(crate) fn processors(partition: Option<&str>) -> Option<usize> {
    let mut words = vec!["--noheader".to_owned(), "--format=%C".to_owned()];
    words.extend(partition.map(|name| format!("--partition={name}")));
    total(&output("sinfo", &words).ok()?)
}

/// The sum over lines of the form `allocated/idle/other/total`, one for each group of nodes; `None`
/// where there are no processors.
fn total(printed: &str) -> Option<usize> {
    let total = |line: &str| line.trim().rsplit('/').next()?.parse::<usize>().ok();
    Some(printed.lines().filter_map(total).sum()).filter(|sum| *sum > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_wait_or_run_are_read() {
        let printed = "t-0|4|PENDING\nt-0|0|RUNNING\nt-1|7|COMPLETING\nt-1|8|COMPLETED\nt-1|9|CANCELLED\nx|N/A|RUNNING\n";
        assert_eq!(
            tasks(printed),
            [("t-0".to_owned(), 4), ("t-0".to_owned(), 0), ("t-1".to_owned(), 7)]
        );
    }

    #[test]
    fn the_processors_of_all_nodes_are_added() {
        assert_eq!(total("0/8/0/8\n4/12/16/32\n"), Some(40));
        assert_eq!(total("0/0/0/0\n"), None);
        assert_eq!(total(""), None);
    }

    #[test]
    fn a_command_that_fails_says_what_it_said() {
        assert_eq!(output("echo", &["a".to_owned(), "b".to_owned()]).unwrap(), "a b\n");
        let failed = output("cat", &["/no/such/file".to_owned()]).unwrap_err().to_string();
        assert!(failed.contains("cat") && failed.contains("/no/such/file"), "{failed}");
        let missing = output("no-such-slurm", &[]).unwrap_err();
        assert!(matches!(missing, SlurmError::NotInstalled { program: "no-such-slurm" }));
    }

    #[test]
    fn the_end_of_a_task_is_read() {
        let line = "JobId=12 ArrayJobId=11 ArrayTaskId=3 JobName=t JobState=NODE_FAIL Reason=NodeDown NodeList=node2 BatchHost=node2";
        assert_eq!(ended(line), Some(Ended { state: "NODE_FAIL".into(), node: "node2".into() }));
        assert_eq!(ended("JobState=CANCELLED NodeList=(null)").unwrap().node, "");
        assert_eq!(ended(""), None);
    }
}
