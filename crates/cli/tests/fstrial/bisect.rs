//! `git bisect run` with the script that the how-to shows.

use std::path::{Path, PathBuf};
use std::process::Command;

use skippable::{Ending, needs_program};

use crate::sandbox::{Ran, Sandbox};

const VERSIONS: usize = 16;
const SLOW_FROM: usize = 11;
/// Does not compile, and does not run: nobody can tell whether it is slower.
const NO_BUILD: usize = 6;
const NO_RUN: usize = 8;

/// The script as the page has it.
fn script() -> String {
    let page = include_str!("../../../../docs/howto/bisect.md");
    let (_, rest) = page.split_once("```text slower.sh\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

struct Project {
    sandbox: Sandbox,
    directory: PathBuf,
}

impl Project {
    fn command(&self, program: &str, words: &[&str]) -> Command {
        let built = Path::new(env!("CARGO_BIN_EXE_fstrial")).parent().unwrap();
        let path = format!("{}:{}", built.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(&self.directory)
            .env("HOME", self.sandbox.directory.path())
            .env("PATH", path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        for (whose, name) in [("AUTHOR", "a"), ("COMMITTER", "c")] {
            command.env(format!("GIT_{whose}_NAME"), name);
            command.env(format!("GIT_{whose}_EMAIL"), "nobody@example.org");
        }
        command
    }

    fn ran(&self, program: &str, words: &[&str]) -> Ran {
        Ran::of(self.command(program, words).output().unwrap())
    }

    /// Commits a version; returns its hash.
    fn commit(&self, version: usize) -> String {
        let takes = if version >= SLOW_FROM { "2" } else { "0.2" };
        let job = if version == NO_RUN { "exit 3" } else { "sleep" };
        let make = if version == NO_BUILD { "false" } else { "cp job.sh job && chmod +x job" };
        let job = format!("#!/bin/sh\n# version {version}\n{job} {takes}\n");
        std::fs::write(self.directory.join("job.sh"), job).unwrap();
        let rules = format!(".PHONY: job\njob: job.sh\n\t{make}\n");
        std::fs::write(self.directory.join("Makefile"), rules).unwrap();
        self.ran("git", &["add", "job.sh", "Makefile"]).ended_with(0);
        let message = format!("version {version}");
        self.ran("git", &["commit", "--quiet", "-m", &message]).ended_with(0);
        self.ran("git", &["rev-parse", "HEAD"]).ended_with(0).stdout.trim().to_owned()
    }
}

pub(crate) fn the_first_slow_one_of_sixteen_versions_is_found() -> Ending {
    needs_program("git", "git")?;
    needs_program("make", "make")?;
    let sandbox = Sandbox::new();
    let (directory, target) = (sandbox.path("project"), sandbox.path("target"));
    for made in [&directory, &target] {
        std::fs::create_dir(made).unwrap();
    }
    std::fs::write(sandbox.path("slower.sh"), script()).unwrap();
    let project = Project { sandbox, directory };
    project.ran("git", &["init", "--quiet"]).ended_with(0);
    let versions: Vec<String> = (1..=VERSIONS).map(|version| project.commit(version)).collect();
    let of = |version: usize| versions[version - 1].as_str();

    project.ran("git", &["checkout", "--quiet", of(1)]).ended_with(0);
    project.ran("make", &[]).ended_with(0);
    let target = target.to_str().unwrap();
    let words = ["run", "--dir", target, "--repeats", "5", "--quiet", "--", "./job"];
    project.ran("fstrial", &words).ended_with(0);

    // On a machine that is busy two runs are compared within a factor of two.
    let asked = ["../slower.sh", "r1", "300%"];
    for (version, code) in [(SLOW_FROM - 1, 0), (SLOW_FROM, 1), (NO_BUILD, 125), (NO_RUN, 125)] {
        project.ran("git", &["checkout", "--quiet", of(version)]).ended_with(0);
        project.ran("sh", &asked).ended_with(code);
    }
    project.ran("git", &["bisect", "start", of(VERSIONS), of(1)]).ended_with(0);
    let ran = project.ran("git", &["bisect", "run", "sh", "../slower.sh", "r1", "300%"]);
    let ran = ran.ended_with(0);
    let found = format!("{} is the first bad commit", of(SLOW_FROM));
    assert!(ran.stdout.contains(&found), "{found}\n{}\n{}", ran.stdout, ran.stderr);
    Ok(())
}
