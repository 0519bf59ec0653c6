//! Links between the documents: each leads to a file that exists, and to a heading in it; every
//! how-to can be reached from the README.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

const START: &str = "README.md";
const HOW_TOS: &str = "docs/howto";

/// Links that lead nowhere and how-tos that the README does not name, in words.
pub(crate) fn check() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut from_start = BTreeSet::new();
    for page in pages()? {
        for (line, target) in links(&fs::read_to_string(&page)?) {
            let (file, heading) = split(&page, &target);
            if page == Path::new(START) {
                from_start.insert(file.clone());
            }
            if !leads_somewhere(&file, heading)? {
                problems.push(format!("{}:{line}: {target} leads nowhere", page.display()));
            }
        }
    }
    for page in markdown(Path::new(HOW_TOS))? {
        if !from_start.contains(&page) {
            problems.push(format!("{START}: does not name {}", page.display()));
        }
    }
    Ok(problems)
}

/// Every document: those of the root and all below `docs`.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = markdown(Path::new(""))?;
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        pages.extend(markdown(&folder)?);
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(pages)
}

fn markdown(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = if folder == Path::new("") { Path::new(".") } else { folder };
    let mut pages = Vec::new();
    for entry in fs::read_dir(read).with_context(|| read.display().to_string())? {
        let name = PathBuf::from(entry?.file_name());
        if name.extension().is_some_and(|extension| extension == "md") {
            pages.push(folder.join(name));
        }
    }
    Ok(pages)
}

/// The line and the target of each link that stays among the documents.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // What stands between backticks may go on in the next line of its paragraph.
    let mut code = false;
    for (number, line) in prose(text) {
        code &= !line.trim().is_empty();
        for (index, part) in line.split('`').enumerate() {
            code ^= index > 0;
            for rest in part.split("](").skip(1).filter(|_| !code) {
                let target = rest.split(')').next().unwrap_or_default();
                if !target.contains("://") {
                    found.push((number, target.to_owned()));
                }
            }
        }
    }
    found
}

/// The lines outside of fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// The file that a link of this page names, and the heading if it names one.
fn split<'a>(page: &Path, target: &'a str) -> (PathBuf, Option<&'a str>) {
    let (file, heading) = match target.split_once('#') {
        Some((file, heading)) => (file, Some(heading)),
        None => (target, None),
    };
    if file.is_empty() {
        return (page.to_owned(), heading);
    }
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            other => path.push(other),
        }
    }
    (path, heading)
}

fn leads_somewhere(file: &Path, heading: Option<&str>) -> Result<bool> {
    if !file.exists() {
        return Ok(false);
    }
    let Some(heading) = heading else { return Ok(true) };
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Ok(prose(&text).any(|(_, line)| anchor(line).is_some_and(|anchor| anchor == heading)))
}

/// The name by which a heading is linked to.
fn anchor(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text =
            "[a](b.md) and `[c](d.md)`, [e](https://f)\n```\n[g](h.md)\n```\n| [i\nj](../k#l) |\n";
        assert_eq!(links(text), [(1, "b.md".to_owned()), (6, "../k#l".to_owned())]);
        let text = "`a\nb` [c](d.md) `\n\n[e](f.md)\n";
        assert_eq!(links(text), [(2, "d.md".to_owned()), (4, "f.md".to_owned())]);
    }

    #[test]
    fn a_link_is_read_from_where_it_stands() {
        let page = Path::new("docs/howto/lab.md");
        assert_eq!(split(page, "../agreement.md#a-b"), ("docs/agreement.md".into(), Some("a-b")));
        assert_eq!(split(page, "#a"), (page.to_owned(), Some("a")));
        assert_eq!(split(Path::new("README.md"), "docs/studies"), ("docs/studies".into(), None));
    }

    #[test]
    fn a_heading_is_named_as_pages_name_it() {
        assert_eq!(anchor("## What is far, and why").unwrap(), "what-is-far-and-why");
        assert_eq!(anchor("# `lab fit`: how").unwrap(), "lab-fit-how");
        assert_eq!(anchor("none"), None);
    }
}
