//! Runs on a cluster without one: this program also plays Slurm's commands and the tasks. Its
//! `sbatch` runs all tasks of an array before it returns, but for those that a test wants lost.
//! A job name begins with the token of its run, which says what becomes of its tasks.

mod cluster;
mod runs;

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use slurm::Task;
use testbed::Stop;

use self::cluster::{CLUSTER, COMMANDS, Cluster};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let called = Path::new(&arguments[0]).file_name().and_then(OsStr::to_str).unwrap_or_default();
    if arguments.get(1).is_some_and(|word| word == "slurm-task") {
        run_task(Path::new(&arguments[2]), arguments[3].parse().unwrap());
        return ExitCode::SUCCESS;
    }
    let Some(cluster) = std::env::var_os(CLUSTER) else { return start_again(&arguments) };
    if COMMANDS.contains(&called) {
        Cluster(cluster.into()).play(called, &arguments[1..]);
        return ExitCode::SUCCESS;
    }
    skippable::run(skippable::tests![
        runs::each_trial_is_a_task_and_its_events_come_back,
        runs::what_is_there_already_is_not_submitted_again,
        runs::a_lost_task_is_submitted_again_and_a_cancelled_one_stops_the_run,
        runs::a_run_that_is_stopped_cancels_its_tasks,
        runs::a_task_that_ends_without_a_result_is_tried_three_times,
        runs::a_task_that_is_stopped_leaves_no_result,
        runs::a_node_with_another_lab_has_no_figure_for_the_run,
        runs::lanes_are_the_processors_and_what_is_asked_for,
    ])
}

fn run_task(spool: &Path, first: u32) {
    let task = Task::read(spool, first).unwrap();
    assert!(!task.is_done());
    task.run(&runs::Inner, &Stop::new()).unwrap();
    assert_eq!(task.is_done(), !runs::is_stopped(&task.spec));
}

/// Runs the tests with a path on which the commands come first.
fn start_again(arguments: &[String]) -> ExitCode {
    let cluster = tempfile::tempdir().unwrap();
    let commands = cluster.path().join("commands");
    std::fs::create_dir(&commands).unwrap();
    let own = std::env::current_exe().unwrap();
    COMMANDS.iter().for_each(|name| symlink(&own, commands.join(name)).unwrap());
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    let mut again = Command::new(own);
    again.args(&arguments[1..]).env(CLUSTER, cluster.path()).env("PATH", path);
    // As a user may have set it.
    again.env("SQUEUE_FORMAT", "%i");
    let status = again.arg0(&arguments[0]).status().unwrap();
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}
