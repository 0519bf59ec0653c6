//! The pages under docs/reference, and those of the guide, generated from what they describe.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use stack::FILESYSTEMS;
use stack::filesystems::{OptionDescription, QUEUE_OPTIONS};
use trial::capabilities::{CAPABILITIES, Finding, Tried};
use workload::{Kind, catalogue};

/// The pages with their contents.
fn pages() -> Result<Vec<(String, String)>> {
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
    let tried = Tried::shipped().map_err(anyhow::Error::msg)?;
    pages.push(("docs/reference/capabilities.md".to_owned(), capabilities_page(&tried)));
    pages.extend(crate::guide::pages()?);
    Ok(pages)
}

/// Writes every page.
pub(crate) fn write() -> Result<()> {
    for (path, text) in pages()? {
        if let Some(directory) = Path::new(&path).parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// Pages that differ from their tables, in words.
pub(crate) fn check() -> Result<Vec<String>> {
    Ok(pages()?
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
        Kind::Size(_) | Kind::Time(_) => workload::range(kind).unwrap_or_default(),
        Kind::Fraction => "0 to 1".to_owned(),
        Kind::Switch => "on, off".to_owned(),
        Kind::Choice(words) => meanings(words),
        Kind::Words(words) => format!("all, or some joined by `+`: {}", meanings(words)),
        Kind::Document([]) => "a file's path; its text is kept".to_owned(),
        Kind::Document(shipped) => {
            format!("{}; or a file's path, whose text is kept", meanings(shipped))
        }
        Kind::Text => "text".to_owned(),
    }
}

fn filesystems_page() -> String {
    let mut text = "# Filesystems\n\nWhat each driver takes. Options are written after the \
                    name: `ext3:dir_index=off`; presets after an `@`: `ext3@2004`.\n\nEvery \
                    filesystem that sits on disks takes, beside its own:\n"
        .to_owned();
    text += &options_table(QUEUE_OPTIONS);
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
            text += &options_table(description.options);
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

fn options_table(options: &[OptionDescription]) -> String {
    let mut text = "\n| option | values | meaning |\n|---|---|---|\n".to_owned();
    for option in options {
        let values = option.values.replace('|', "\\|");
        let help = option.help.replace('|', "\\|");
        let _ = writeln!(text, "| {} | {values} | {help} |", option.name);
    }
    text
}

/// The table, then in words what lies behind a cell.
fn capabilities_page(tried: &Tried) -> String {
    let mut text =
        "# Capabilities\n\nWhat each filesystem can do. Every entry was tried in a guest of \
                    the lab, by `fstrial lab capabilities`, on a filesystem made with the driver's \
                    defaults; an empty one could not be tried, and what was in the way is said \
                    below.\n\n| |"
            .to_owned();
    for row in &tried.filesystems {
        let _ = write!(text, " {} |", row.name);
    }
    text += "\n|---|";
    text += &"---|".repeat(tried.filesystems.len());
    text.push('\n');
    for capability in CAPABILITIES {
        let _ = write!(text, "| {} |", capability.name);
        for row in &tried.filesystems {
            let cell = match row.found.get(capability.name) {
                None | Some(Finding::Untried(_)) => "",
                Some(Finding::No(_)) => "no",
                Some(Finding::Yes(detail)) if is_figure(detail) => detail,
                Some(Finding::Yes(_)) => "yes",
            };
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text += "\n## What was done\n\n| capability | attempt |\n|---|---|\n";
    for capability in CAPABILITIES {
        let _ = writeln!(text, "| {} | {} |", capability.name, capability.attempt);
    }
    text += "\n## What was seen\n";
    for row in &tried.filesystems {
        let tools = match row.tools.join(", ") {
            tools if tools.is_empty() => String::new(),
            tools => format!("; {tools}"),
        };
        let _ = writeln!(text, "\n### {}\n\nLinux {}{tools}.\n", row.name, row.kernel);
        for capability in CAPABILITIES {
            match row.found.get(capability.name) {
                Some(Finding::No(reason)) => {
                    let _ = writeln!(text, "* {}: no: {reason}", capability.name);
                }
                Some(Finding::Yes(detail)) if !detail.is_empty() && !is_figure(detail) => {
                    let _ = writeln!(text, "* {}: yes: {detail}", capability.name);
                }
                _ => {}
            }
            if let Some(reason) = row.untried.get(capability.name) {
                let _ = writeln!(text, "* {}, not tried: {reason}", capability.name);
            }
        }
    }
    text
}

/// Whether a detail stands for its `yes` in a table.
fn is_figure(detail: &str) -> bool {
    detail.starts_with(|letter: char| letter.is_ascii_digit())
}

fn capital(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
