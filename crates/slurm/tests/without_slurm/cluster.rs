//! Slurm's commands, as far as fstrial calls them.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// The commands that are played.
pub(crate) const COMMANDS: [&str; 5] = ["sbatch", "squeue", "scontrol", "scancel", "sinfo"];
/// The variable with the directory of what they know.
pub(crate) const CLUSTER: &str = "FSTRIAL_TEST_CLUSTER";

/// A directory with a file for each job, its name in it, and one for the calls of each test.
pub(crate) struct Cluster(pub(crate) PathBuf);

impl Cluster {
    /// Does what the command is for.
    pub(crate) fn play(&self, command: &str, words: &[String]) {
        match command {
            "sbatch" => self.sbatch(words),
            "squeue" => self.squeue(words),
            "scontrol" => self.scontrol(words.last().unwrap()),
            "scancel" => self.note(&words[1], command, words),
            _ => println!("0/3/0/3\n2/3/0/5"),
        }
    }

    /// Notes a call under the name of the test, which the job's name begins with.
    fn note(&self, job: &str, command: &str, words: &[String]) {
        let test = job.split('-').next().unwrap();
        let mut file = File::options();
        let mut file = file.create(true).append(true).open(self.0.join(test)).unwrap();
        writeln!(file, "{command} {}", words.join(" ")).unwrap();
    }

    fn sbatch(&self, words: &[String]) {
        let option = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)).unwrap();
        let (name, array) = (option("--job-name="), option("--array="));
        self.note(name, "sbatch", words);
        let jobs = |number: &u32| self.0.join(format!("job-{number}"));
        let make = |number: &u32| File::create_new(jobs(number)).is_ok();
        let number = (1..).find(make).unwrap();
        fs::write(jobs(&number), name).unwrap();
        let calls = fs::read_to_string(self.0.join(name.split('-').next().unwrap())).unwrap();
        let first = calls.lines().filter(|line| line.starts_with("sbatch")).count() == 1;
        for index in indexes(array.split('%').next().unwrap()) {
            let runs = match name.split('-').next().unwrap() {
                "hopeless" => false,
                "lossy" => index != 0 && !(first && index == 1),
                "endless" => false,
                _ => true,
            };
            if runs {
                let mut task = Command::new("sh");
                task.arg(words.last().unwrap()).env("SLURM_ARRAY_TASK_ID", index.to_string());
                assert!(task.status().unwrap().success());
            }
        }
        println!("{number}");
    }

    fn squeue(&self, words: &[String]) {
        assert!(std::env::var_os("SQUEUE_FORMAT").is_none(), "its words would be others");
        for name in words.last().unwrap().split(',').filter(|name| name.starts_with("endless")) {
            let submitted = self.0.join("endless").exists();
            (0..2).filter(|_| submitted).for_each(|index| println!("{name}|{index}|RUNNING"));
        }
    }

    fn scontrol(&self, task: &str) {
        match task.rsplit_once('_').unwrap().1 {
            "0" => println!("JobId=9 JobState=CANCELLED NodeList=(null)"),
            _ => println!("JobId=9 JobState=NODE_FAIL NodeList=node7"),
        }
    }
}

/// `0-3,7` as numbers.
fn indexes(array: &str) -> Vec<u32> {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    };
    array.split(',').flat_map(part).collect()
}
