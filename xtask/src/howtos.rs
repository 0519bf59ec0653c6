//! Code in how-tos: Rust is Rust, and a change to a table is shown beside lines that stand in it.

use std::fs;
use std::path::Path;

use anyhow::Result;

const PAGES: &str = "docs/howto";

/// Code that no longer fits what it is about, in words.
pub(crate) fn check() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for entry in fs::read_dir(PAGES)? {
        let page = entry?.path();
        for block in blocks(&fs::read_to_string(&page)?) {
            let problem = match block.kind.as_str() {
                "rust" => syn::parse_file(&block.text).err().map(|error| error.to_string()),
                "diff" => misplaced(&block, &|file: &Path| fs::read_to_string(file).ok()),
                _ => None,
            };
            let place = format!("{}:{}", page.display(), block.line);
            problems.extend(problem.map(|problem| format!("{place}: {problem}")));
        }
    }
    Ok(problems)
}

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    line: usize,
    kind: String,
    text: String,
    /// Paths in the prose above it, the nearest first.
    files: Vec<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    let mut inside = false;
    for (index, line) in page.lines().enumerate() {
        if let Some(kind) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                let (kind, files) = (kind.to_owned(), files.iter().rev().cloned().collect());
                blocks.push(Block { line: index + 1, kind, text: String::new(), files });
            }
        } else if inside {
            if let Some(block) = blocks.last_mut() {
                block.text += line;
                block.text.push('\n');
            }
        } else {
            let quoted = line.split('`').skip(1).step_by(2);
            files.extend(quoted.filter(|name| name.ends_with(".rs")).map(str::to_owned));
        }
    }
    blocks
}

/// Why the change does not fit into the nearest file above it that exists. Its lines stand there
/// either with those it adds or without them.
fn misplaced(block: &Block, read: &dyn Fn(&Path) -> Option<String>) -> Option<String> {
    let found = block.files.iter().find_map(|file| Some((file, read(Path::new(file))?)));
    let Some((file, text)) = found else {
        return Some("no file is named above that it changes".to_owned());
    };
    let lines: Vec<&str> = text.lines().collect();
    let without = block.text.lines().filter(|line| !line.starts_with('+'));
    let stands = [without.collect::<Vec<_>>(), block.text.lines().collect()].iter().any(|shown| {
        let shown: Vec<&str> = shown.iter().map(|line| line.get(1..).unwrap_or("")).collect();
        lines.windows(shown.len().max(1)).any(|lines| lines == shown)
    });
    (!stands).then(|| format!("these lines do not stand together in {file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "In `src/table.rs`, beside `src/none.rs`:\n\n```diff\n mod a;\n+mod b;\n \
                        mod c;\n```\n\n```rust\nfn f( {}\n```\n";

    #[test]
    fn blocks_know_what_stands_above_them() {
        let blocks = blocks(PAGE);
        let kinds: Vec<_> = blocks.iter().map(|block| (block.line, block.kind.as_str())).collect();
        assert_eq!(kinds, [(3, "diff"), (9, "rust")]);
        assert_eq!(blocks[0].files, ["src/none.rs", "src/table.rs"]);
        assert!(syn::parse_file(&blocks[1].text).is_err());
    }

    #[test]
    fn a_change_stands_beside_lines_of_its_file() {
        let block = &blocks(PAGE)[0];
        let in_table = |text: &'static str| {
            misplaced(block, &|file: &Path| file.ends_with("table.rs").then(|| text.to_owned()))
        };
        assert_eq!(in_table("x\nmod a;\nmod c;\n"), None);
        assert_eq!(in_table("mod a;\nmod b;\nmod c;\n"), None);
        assert!(in_table("mod a;\nmod x;\nmod c;\n").unwrap().contains("src/table.rs"));
        assert!(misplaced(block, &|_: &Path| None).unwrap().contains("no file is named"));
    }
}
