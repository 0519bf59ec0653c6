//! Output to the user: lines on standard error, one document on standard output.

use std::io::Write;

use crate::exit::{Exit, Failure};
use crate::writing::ended_by_signals;

/// Writes a line for the user to standard error; control characters in it are made harmless. If
/// the terminal was closed the line is lost, and the program goes on.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::output::tell(&format!($($words)*))
    };
}
pub(crate) use say;

/// For [`say`].
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text::lines(&shortened(line)));
}

/// The longest line that is told. A line of a file that is quoted in an error may be the whole file.
const LINE_MAX: usize = 2000;

/// The text with its longest lines cut off.
fn shortened(text: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(LINE_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    text.split('\n').map(cut).collect::<Vec<_>>().join("\n")
}

/// Writes text to standard output; control characters in it are made harmless.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_document(&text::lines(text))
}

/// Writes a document to standard output unchanged: its format has escaped text from outside.
pub(crate) fn print_document(text: &str) -> Result<(), Failure> {
    let _ends = ended_by_signals();
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // The reader has seen enough (`fstrial report | head`).
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        ended => {
            ended.map_err(|error| Failure::new(Exit::Output, format!("standard output: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_nobody_reads_are_cut_off() {
        let long = "é".repeat(LINE_MAX);
        let text = format!("a\n{long}\n{long}x\n");
        assert_eq!(shortened(&text), format!("a\n{long}\n{long}…\n"));
    }
}
