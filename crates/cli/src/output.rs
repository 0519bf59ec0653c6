//! What is told the user: lines on standard error, one document on standard output.

use std::io::Write;

use crate::exit::{Exit, Failure};

/// Tells the user something on standard error, whatever others put into it. A closed terminal
/// takes no more lines, and that stops nothing.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::output::tell(&format!($($words)*))
    };
}
pub(crate) use say;

/// For [`say`].
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text::lines(line));
}

/// Writes text to standard output, whatever others put into it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_document(&text::lines(text))
}

/// Writes a document to standard output as it is: its format has escaped what others wrote.
pub(crate) fn print_document(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // The reader has seen enough (`fstrial report | head`).
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        ended => {
            ended.map_err(|error| Failure::new(Exit::Output, format!("standard output: {error}")))
        }
    }
}
