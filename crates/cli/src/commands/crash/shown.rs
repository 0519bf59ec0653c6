//! The answer on the screen, and a finding.

use std::fmt::Write;

use crash::{Cache, Checked, Column, How, Mounted, PROGRAMS, Part, Problem, Tried};
use units::Nanos;

use super::kept::{Cell, Finding, Kept};

/// The programs, one line each.
pub(super) fn programs() -> String {
    PROGRAMS.iter().map(|one| format!("{:18}{}\n", one.name, one.summary)).collect()
}

/// What was found, first in one line.
pub(super) fn answer(kept: &Kept) -> String {
    let mut text = sentence(kept);
    let heads = [
        "contender",
        "program",
        "states",
        "of",
        "promise",
        "relied on",
        "damage",
        "unnoticed",
        "no mount",
        "mounts after",
    ];
    let rows = kept.cells.iter().map(row);
    let rows: Vec<[String; 10]> = [heads.map(str::to_owned)].into_iter().chain(rows).collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(nth, (cell, width))| match nth {
            0 | 1 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str(
        "\nIn how many states: promise: what fsync and fdatasync promised is not there; relied on: \
         what no\nmanual page promises; damage: its check found some; unnoticed: a file has other \
         contents, and\nneither mount nor check says so; no mount: it cannot be mounted.\n",
    );
    for cell in kept.cells.iter().filter(|cell| !cell.outcome.is_done()) {
        let _ = writeln!(text, "\n{}, {}: {}", cell.contender.name, cell.program, cell.outcome);
    }
    let findings: Vec<&Finding> = kept.cells.iter().flat_map(|cell| &cell.findings).collect();
    if !findings.is_empty() {
        text.push('\n');
    }
    for finding in findings {
        let Finding { id, contender, program, states, example, .. } = finding;
        let lost = report::counted(example.state.lost(), "write");
        let _ = writeln!(
            text,
            "{id}  {}, {program}: {}; in {}, once with {lost} lost",
            contender.name,
            problem(&finding.problem),
            report::counted(*states, "state"),
        );
    }
    let (tried, seconds) = kept
        .cells
        .iter()
        .fold((0, 0.0), |(tried, seconds), cell| (tried + cell.tried, seconds + cell.seconds));
    if seconds > 0.0 {
        let rate = tried as f64 / seconds;
        let _ = writeln!(
            text,
            "\n{tried} states, {rate:.1} a second and guest, the guests' start included. Linux {}, \
             {}. Kept as {}.",
            kept.kernel,
            disk(kept),
            kept.id
        );
    }
    text
}

fn disk(kept: &Kept) -> String {
    let cache = match kept.asked.cache {
        Cache::Volatile => "a volatile cache",
        Cache::Protected => "no cache that is lost",
        Cache::Lying => "a volatile cache that lies about flushes",
    };
    format!("{} with {cache}", kept.asked.disk.as_ref().unwrap_or(&kept.asked.profile))
}

fn sentence(kept: &Kept) -> String {
    let mut loses: Vec<&str> = Vec::new();
    let mut keeps: Vec<&str> = Vec::new();
    for contender in &kept.asked.contenders {
        let name = contender.name.as_str();
        let mut cells = kept.cells.iter().filter(|cell| cell.contender.name == name).peekable();
        if cells.peek().is_none_or(|cell| cell.tried == 0) {
            continue;
        }
        let bad = cells.any(|cell| cell.findings.iter().any(Finding::is_promise));
        if bad { loses.push(name) } else { keeps.push(name) }
    }
    let mut text = String::new();
    if !keeps.is_empty() {
        let names = keeps.join(", ");
        let _ = writeln!(text, "Kept every promise, undamaged, in every state tried: {names}.");
    }
    if !loses.is_empty() {
        let _ = writeln!(text, "Lost a promise or was damaged: {}.", loses.join(", "));
    }
    if text.is_empty() {
        text.push_str("No state could be tried.\n");
    }
    text + "\n"
}

fn row(cell: &Cell) -> [String; 10] {
    let of = cell.recorded.as_ref().map_or("–".to_owned(), |recorded| match recorded.complete {
        true => "all".to_owned(),
        false if recorded.possible < 1e6 => format!("{}", recorded.possible),
        false => format!("2^{:.0}", recorded.possible.log2()),
    });
    let known = cell.tried > 0;
    let count =
        |count: usize| if known || count > 0 { count.to_string() } else { "–".to_owned() };
    let time = |nanos: Option<u64>| nanos.map(|nanos| Nanos(nanos).to_string());
    let mounts = match (time(cell.mount_median), time(cell.mount_longest)) {
        (Some(median), Some(longest)) => format!("{median}, at most {longest}"),
        _ => "–".to_owned(),
    };
    [
        cell.contender.name.to_string(),
        cell.program.clone(),
        count(cell.tried),
        of,
        count(cell.promised),
        count(cell.relied),
        count(cell.damaged),
        count(cell.silent),
        count(cell.refused),
        mounts,
    ]
}

fn problem(problem: &Problem) -> String {
    match problem {
        Problem::Died => "the machine died of it".to_owned(),
        Problem::Refused => "it cannot be mounted".to_owned(),
        Problem::Damaged => "its check finds damage".to_owned(),
        Problem::Lost { column, because, how } => {
            let what = match how {
                How::Missing => "a file is missing",
                How::Present => "a file is there",
                How::Unreadable => "a file cannot be read",
                How::Short => "a file is empty or too short",
                How::Zeroes => "a file has zeroes",
                How::Version => "a file is another version",
                How::Other => "a file has other contents",
            };
            let column = match column {
                Column::Promised => "promised",
                Column::Relied => "relied on",
            };
            format!("{what} ({column}: {because})")
        }
    }
}

/// A finding, and what its state showed once more.
pub(super) fn finding(kept: &Kept, finding: &Finding, again: &Result<Tried, String>) -> String {
    let Finding { id, contender, program, states, example, .. } = finding;
    let mut text = format!(
        "{id}: {}, {program}: {}\n\nSeen in {states} states. This one: the power fails after {} \
         events of the disk, when the program\nhad made {} of its expectations.\n",
        contender.name,
        problem(&finding.problem),
        example.state.at,
        example.state.expected,
    );
    let lost = example.state.parts.iter().filter(|(_, part)| *part != Part::All);
    let lost: Vec<String> = lost
        .map(|(write, part)| match part {
            Part::First(sectors) => format!("{write} (its first {sectors} sectors are there)"),
            _ => write.to_string(),
        })
        .collect();
    let (some, of) = (lost.len(), example.state.parts.len());
    let _ =
        writeln!(text, "Of {of} writes that were not durable, {some} are lost: {}.", list(&lost));
    text.push('\n');
    text.push_str(&seen(example));
    match again {
        Ok(tried) if tried == example => text.push_str("\nTried again: the same.\n"),
        Ok(tried) => {
            text.push_str("\nTried again, and something else was found:\n");
            text.push_str(&seen(tried));
        }
        Err(why) => {
            let _ = writeln!(text, "\nIt could not be tried again: {why}.");
        }
    }
    let _ = writeln!(text, "\nLinux {}, {}, lab {}.", kept.kernel, disk(kept), kept.lab_id);
    text
}

fn list(words: &[String]) -> String {
    match words {
        [] => "none".to_owned(),
        words => words.join(", "),
    }
}

/// What a state showed.
fn seen(tried: &Tried) -> String {
    let mut text = String::new();
    let _ = match &tried.mounted {
        Mounted::After(nanos) => writeln!(text, "mount   after {}", Nanos(*nanos)),
        Mounted::Refused(why) => writeln!(text, "mount   refused: {why}"),
    };
    let _ = match &tried.checked {
        Checked::Clean => writeln!(text, "check   clean"),
        Checked::Damaged(said) => writeln!(text, "check   {said}"),
        Checked::Missing => writeln!(text, "check   there is none"),
    };
    for lost in &tried.lost {
        let (expectation, found) = (&lost.expectation, &lost.found);
        let column = match expectation.column {
            Column::Promised => "promised",
            Column::Relied => "relied on",
        };
        let _ = writeln!(
            text,
            "file    {}: {found} ({column}: {})",
            expectation.path, expectation.because
        );
    }
    text
}
