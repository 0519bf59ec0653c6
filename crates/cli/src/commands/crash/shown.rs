//! The answer on the screen, and a finding.

use std::fmt::Write;

use crash::{Cache, Checked, Column, Found, How, Mounted, PROGRAMS, Part, Problem, Stage, Tried};
use units::Nanos;

use super::kept::{Cell, Finding, Kept};

/// The programs, one line each.
pub(super) fn programs() -> String {
    PROGRAMS.iter().map(|one| format!("{:18}{}\n", one.name, one.summary)).collect()
}

/// What was found: for each contender in a line, then by program, then each finding.
pub(super) fn answer(kept: &Kept) -> String {
    let mut text = answers(kept);
    text.push_str(&table(&kept.cells));
    text.push_str(COLUMNS);
    for cell in kept.cells.iter().filter(|cell| !cell.outcome.is_done()) {
        let _ = writeln!(text, "\n{}, {}: {}", cell.contender.name, cell.program, cell.outcome);
    }
    let findings: Vec<&Finding> = kept.cells.iter().flat_map(|cell| &cell.findings).collect();
    if !findings.is_empty() {
        text.push_str("\nEach finding, tried again and shown by `fstrial crash show ID`:\n");
    }
    for finding in findings {
        let Finding { id, contender, program, states, .. } = finding;
        let _ = writeln!(
            text,
            "{id}  {}, {program}: {}; in {}, {}",
            contender.name,
            problem(&finding.problem),
            report::counted(*states, "state"),
            with_fewest(kept, finding),
        );
    }
    text.push_str(&time_of_a_state(kept));
    let _ = writeln!(text, "\nLinux {}, {}. Kept as {}.", kept.kernel, disk(kept), kept.id);
    text
}

/// What the time goes to, for each contender.
fn time_of_a_state(kept: &Kept) -> String {
    let mut text = String::new();
    for contender in &kept.asked.contenders {
        let cells = kept.cells.iter().filter(|cell| cell.contender.name == contender.name);
        let (mut tried, mut alike, mut stages) = (0, 0, [0.0; 5]);
        for cell in cells {
            tried += cell.tried;
            alike += cell.alike;
            for (stage, seconds) in &cell.seconds {
                stages[*stage as usize] += seconds;
            }
        }
        let mounted = tried - alike;
        if mounted == 0 {
            continue;
        }
        let each = |stage: Stage| stages[stage as usize] * 1e3 / mounted as f64;
        let _ = writeln!(
            text,
            "{}: {mounted} of {} were mounted, and the others are the same wherever these were \
             read.\n  One takes {:.0} ms of one core to mount, {:.0} to read the files, {:.0} to \
             unmount, {:.0} to check; the comparison of one {:.0}.",
            contender.name,
            report::counted(tried, "state"),
            each(Stage::Mount),
            each(Stage::Look),
            each(Stage::Unmount),
            each(Stage::Check),
            stages[Stage::Compare as usize] * 1e3 / tried as f64,
        );
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

const COLUMNS: &str = "
In how many states: promise: what fsync, fdatasync or O_DSYNC promised is not there; relied on: what
no manual page promises, but programs rely on; damage: it can be mounted, and its own check finds
damage; unnoticed: a file has other contents, and neither mount nor check says so; no mount: it
cannot be mounted. of: how many states there may be at most (all: each was tried). mounts after: the
middle and the longest. a second: states tried in a second on one core.
";

fn table(cells: &[Cell]) -> String {
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
        "a second",
    ];
    let rows = cells.iter().map(row);
    let rows: Vec<[String; 11]> = [heads.map(str::to_owned)].into_iter().chain(rows).collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(nth, (cell, width))| match nth {
            0 | 1 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The smallest example of a finding.
fn with_fewest(kept: &Kept, finding: &Finding) -> String {
    let state = &finding.example.state;
    if finding.is_of_torn_writes() {
        return format!("each with a write torn at {} bytes", kept.asked.tear);
    }
    match state.lost() {
        0 => "even with no write lost".to_owned(),
        lost => format!("with {} lost at the least", report::counted(lost, "write")),
    }
}

fn disk(kept: &Kept) -> String {
    let cache = match kept.asked.cache {
        Cache::Volatile => "a volatile cache",
        Cache::Protected => "no cache that is lost",
        Cache::Lying => "a volatile cache that lies about flushes",
    };
    let name = kept.asked.disk.as_ref().unwrap_or(&kept.asked.profile);
    format!("{name} with {cache}, which writes {} bytes at once", kept.asked.tear)
}

/// A line for each contender; those that kept everything share one.
fn answers(kept: &Kept) -> String {
    let (mut keeps, mut states, mut text) = (Vec::new(), 0, String::new());
    for contender in &kept.asked.contenders {
        let name = contender.name.as_str();
        let cells: Vec<&Cell> = kept.cells.iter().filter(|it| it.contender.name == name).collect();
        let tried: usize = cells.iter().map(|cell| cell.tried).sum();
        let findings: Vec<&Finding> = cells.iter().flat_map(|cell| &cell.findings).collect();
        if findings.is_empty() && tried > 0 {
            keeps.push(name);
            states += tried;
        } else if findings.is_empty() {
            let _ = writeln!(text, "{name}: no state could be tried.");
        } else {
            let _ = writeln!(text, "{name}: {}.", losses(kept, &findings));
        }
    }
    if !keeps.is_empty() {
        let (names, states) = (keeps.join(", "), report::counted(states, "state"));
        let kept = "every promise kept, undamaged, nothing lost that programs rely on";
        text.insert_str(0, &format!("{names}: {kept}, in {states}.\n"));
    }
    if kept.stopped {
        text.insert_str(0, "Stopped: this is what was tried until then.\n");
    }
    text + "\n"
}

/// A kind of loss in words, and the problems it is.
type Kind = (&'static str, fn(&Problem) -> bool);

/// What was found about one contender, the worst first.
fn losses(kept: &Kept, findings: &[&Finding]) -> String {
    let kinds: [Kind; 5] = [
        ("the machine died", |it| *it == Problem::Died),
        ("could not be mounted", |it| *it == Problem::Refused),
        ("lost what was promised", |it| {
            matches!(it, Problem::Lost { column: Column::Promised, .. })
        }),
        ("its check finds damage", |it| *it == Problem::Damaged),
        ("lost what programs rely on, though nothing promises it", |it| {
            matches!(it, Problem::Lost { column: Column::Relied, .. })
        }),
    ];
    let mut said = Vec::new();
    for (what, is_such) in kinds {
        let such: Vec<_> = findings.iter().filter(|it| is_such(&it.problem)).collect();
        if such.is_empty() {
            continue;
        }
        let mut programs: Vec<&str> = such.iter().map(|it| it.program.as_str()).collect();
        programs.dedup();
        let torn = such.iter().all(|it| it.is_of_torn_writes());
        let only = match torn {
            true => format!(", but only where a write was torn at {} bytes", kept.asked.tear),
            false => String::new(),
        };
        said.push(format!("{what} ({}){only}", programs.join(", ")));
    }
    said.join("; ")
}

fn row(cell: &Cell) -> [String; 11] {
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
        match cell.in_all() {
            0.0 => "–".to_owned(),
            seconds => format!("{:.1}", cell.tried as f64 / seconds),
        },
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
                How::Refused => "what it promised is not kept",
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
    text.push_str(&writes(finding));
    text.push('\n');
    text.push_str(&seen(example));
    match again {
        Ok(tried) if finding.is_shown_by(tried) => text.push_str("\nTried again: the same.\n"),
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

/// Which writes are lost.
fn writes(finding: &Finding) -> String {
    let state = &finding.example.state;
    let lost = state.parts.iter().filter(|(_, part)| *part != Part::All);
    let lost: Vec<String> = lost
        .map(|(write, part)| match part {
            Part::First(sectors) => format!("{write} (its first {sectors} sectors are there)"),
            _ => write.to_string(),
        })
        .collect();
    let (some, of) = (lost.len(), state.parts.len());
    format!("Of {of} writes that were not durable, {some} are lost: {}.\n", list(&lost))
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
        let what = if matches!(found, Found::Refused(_)) { "kept" } else { "file" };
        let _ = writeln!(
            text,
            "{what:8}{}: {found} ({column}: {})",
            expectation.path, expectation.because
        );
    }
    text
}
