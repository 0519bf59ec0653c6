//! The pages in docs/studies whose results are kept beside them: each is what this program makes of
//! them.

use std::path::{Path, PathBuf};

use skippable::Ending;

use crate::sandbox::Sandbox;

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/studies");

/// The files of one page in `directory`, by name: the page itself and its charts.
fn files(directory: &Path, page: &str) -> Vec<(String, String)> {
    let names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let pages: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".md")).collect();
    // Of `maildir-2004` and `maildir-2004-reiser4` a chart belongs to the longer one.
    let of_page = |name: &str| {
        let begins = |page: &&&str| name.starts_with(&format!("{page}-"));
        let longest = pages.iter().filter(begins).max_by_key(|page| page.len());
        name.ends_with(".svg") && longest == Some(&page)
    };
    let mut files: Vec<_> = names
        .iter()
        .filter(|name| name.strip_suffix(".md") == Some(page) || of_page(name))
        .map(|name| (name.clone(), std::fs::read_to_string(directory.join(name)).unwrap()))
        .collect();
    files.sort();
    files
}

/// Each page with its results.
fn results() -> Vec<(String, PathBuf)> {
    std::fs::read_dir(Path::new(PAGES).join("results"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".db.xz")?.to_owned();
            Some((name, path))
        })
        .collect()
}

pub(crate) fn a_page_is_what_this_program_makes_of_its_results() {
    assert!(!results().is_empty());
    for (study, path) in results() {
        let sandbox = Sandbox::new();
        std::fs::copy(&path, sandbox.path("results.db.xz")).unwrap();
        let page = format!("{study}.md");
        sandbox.run(&format!("study report --store results.db.xz --markdown {page}")).ended_with(0);
        let (kept, made) = (files(Path::new(PAGES), &study), files(&sandbox.path(""), &study));
        let names = |files: &[(String, String)]| -> Vec<String> {
            files.iter().map(|(name, _)| name.clone()).collect()
        };
        let again = format!(
            "fstrial study report --store docs/studies/results/{study}.db.xz --markdown \
             docs/studies/{page}"
        );
        assert_eq!(names(&kept), names(&made), "run: {again}");
        for ((name, kept), (_, made)) in kept.iter().zip(&made) {
            let line = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
            assert!(kept == made, "{name} is not what its results give; run: {again}\n{line:#?}");
        }
    }
}

pub(crate) fn every_page_is_in_the_list_of_pages() {
    let list = std::fs::read_to_string(Path::new(PAGES).join("README.md")).unwrap();
    for entry in std::fs::read_dir(PAGES).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "README.md" {
            assert!(
                list.contains(&format!("]({name})")),
                "{name} is not in docs/studies/README.md"
            );
        }
    }
}

/// Of two pages, since their results are read in seconds: one with sizes, one whose seeds were added
/// later.
pub(crate) fn a_script_without_this_program_finds_the_verdicts_of_the_pages() -> Ending {
    skippable::needs_program("python3", "python3")?;
    for page in ["maildir-2004", "boot-2005"] {
        let script = Path::new(PAGES).join("recompute.py");
        let ran = std::process::Command::new("python3").arg(script).arg(page).output().unwrap();
        let (said, problem) = (String::from_utf8(ran.stdout).unwrap(), ran.stderr);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&problem));
        let text = std::fs::read_to_string(Path::new(PAGES).join(format!("{page}.md"))).unwrap();
        let mut compared = 0;
        for (claim, verdict) in said.lines().filter_map(|line| line.split_once(' ')) {
            let row = text.lines().find(|line| line.starts_with(&format!("| {claim} |"))).unwrap();
            let measured = row.rsplit_once("| **").unwrap().1;
            if verdict.starts_with("not computed here") {
                continue;
            }
            assert!(measured.starts_with(verdict), "{page} {claim}: {verdict}, page: {measured}");
            compared += 1;
        }
        assert!(compared >= 8, "{said}");
    }
    Ok(())
}
