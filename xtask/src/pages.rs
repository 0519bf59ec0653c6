//! The reference pages under docs/reference, generated from the tables they describe.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use stack::FILESYSTEMS;
use workload::{Kind, catalogue};

/// The pages with their contents.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<_> = catalogue()
        .map(|workload| {
            let description = workload.describe();
            (
                format!("docs/reference/workloads/{}.md", description.name),
                workload_page(description),
            )
        })
        .collect();
    pages.push(("docs/reference/filesystems.md".to_owned(), filesystems_page()));
    pages
}

/// Writes every page.
pub(crate) fn write() -> Result<()> {
    for (path, text) in pages() {
        if let Some(directory) = Path::new(&path).parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// Pages that differ from their tables, in words.
pub(crate) fn check() -> Result<Vec<String>> {
    Ok(pages()
        .into_iter()
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(text))
        .map(|(path, _)| format!("{path}: not what the tables say; run cargo xtask pages"))
        .collect())
}

fn workload_page(description: &workload::Description) -> String {
    let mut text = format!(
        "# {}\n\n{}.\n\n{}\n\n## Phases\n\n",
        description.name,
        capital(description.summary),
        description.origin
    );
    for phase in description.phases {
        let _ = writeln!(text, "### {}\n\n{}.\n", phase.name, capital(phase.summary));
        let _ = writeln!(text, "Inside the clock: {}.\n", phase.clock.trim_end_matches('.'));
        if !phase.ops.is_empty() {
            text += "| op | its latency spans |\n|---|---|\n";
            for op in phase.ops {
                let _ = writeln!(text, "| {} | {} |", op.name, op.span);
            }
            text.push('\n');
        }
    }
    text += "## Parameters\n\n| parameter | values | default | scales | meaning |\n|---|---|---|---|---|\n";
    for parameter in description.parameters {
        let scales = if parameter.scales { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {scales} | {} |",
            parameter.name,
            values(parameter.kind),
            parameter.default,
            parameter.help.replace('|', "\\|")
        );
    }
    text
}

fn meanings(words: &[(&str, &str)]) -> String {
    words
        .iter()
        .map(|(word, meaning)| format!("`{word}`: {}", meaning.replace('|', "\\|")))
        .collect::<Vec<_>>()
        .join("; ")
}

fn values(kind: Kind) -> String {
    match kind {
        Kind::Count { min, max: u64::MAX } => format!("{min} or more"),
        Kind::Count { min, max } => format!("{min} to {max}"),
        Kind::Size => "a size: 4K, 2G".to_owned(),
        Kind::Time => "a time: 500ms, 60s".to_owned(),
        Kind::Fraction => "0 to 1".to_owned(),
        Kind::Switch => "on, off".to_owned(),
        Kind::Choice(words) => meanings(words),
        Kind::Words(words) => format!("all, or some joined by `+`: {}", meanings(words)),
        Kind::Document => "a file's path; its text is kept".to_owned(),
        Kind::Text => "text".to_owned(),
    }
}

fn filesystems_page() -> String {
    let mut text = "# Filesystems\n\nWhat each driver takes. Options are written after the \
                    name: `ext3:dir_index=off`; presets after an `@`: `ext3@2004`.\n"
        .to_owned();
    for filesystem in FILESYSTEMS {
        let description = filesystem.describe();
        let _ = writeln!(text, "\n## {}\n\n{}.", description.name, capital(description.summary));
        let tools = description.package.unwrap_or("none");
        let _ = writeln!(
            text,
            "\nServed by the kernel's `{}` (module {}); tools from package {tools}.",
            description.kernel_type, description.module
        );
        if !description.options.is_empty() {
            text += "\n| option | values | meaning |\n|---|---|---|\n";
            for option in description.options {
                let values = option.values.replace('|', "\\|");
                let help = option.help.replace('|', "\\|");
                let _ = writeln!(text, "| {} | {values} | {help} |", option.name);
            }
        }
        if !description.presets.is_empty() {
            text += "\n| preset | meaning |\n|---|---|\n";
            for preset in description.presets {
                let _ = writeln!(text, "| {} | {} |", preset.name, preset.help.replace('|', "\\|"));
            }
        }
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
