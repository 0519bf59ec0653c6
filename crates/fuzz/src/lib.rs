//! Tries a reader of what others made with inputs that nobody meant: seeds with bytes changed,
//! cut, doubled and mixed. A reader may refuse what it gets and may never panic.
//!
//! A test runs some thousand inputs for each reader, always the same ones. `FSTRIAL_FUZZ=100000`
//! runs that many, `FSTRIAL_FUZZ_SEED=2` others. An input that made a reader panic is kept in a
//! file, which the message names: it becomes a seed of the test that mends it.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use workload::{Draw, Seed};

/// Inputs for each reader, where `FSTRIAL_FUZZ` says nothing.
const INPUTS: u64 = 2000;
/// Changes made to a seed, at most.
const CHANGES_MAX: u64 = 8;
/// Longest piece that is cut, doubled or moved.
const PIECE_MAX: u64 = 64;
/// Longer inputs are cut: what grows by doubling does not get slower and slower.
const LENGTH_MAX: usize = 1 << 20;

/// Numbers and words at which readers fail.
const WORDS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1e400",
    b"NaN",
    b"inf",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"1e-320",
    b"\"",
    b"\\u0000",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\0",
    b"[[",
    b"{",
    b"= [",
    b"\n",
    b"\r\n",
    b"../",
    b"/dev/zero",
    b"%s",
    "\u{202e}".as_bytes(),
];

/// Gives `read` inputs made of `seeds`, each whole and many changed.
///
/// # Panics
/// When `read` does, with the place of the input that made it.
pub fn run(reader: &str, seeds: &[Vec<u8>], read: impl Fn(&[u8])) {
    let number = |name: &str, usual: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => usual,
    };
    let count = number("FSTRIAL_FUZZ", INPUTS);
    let mut draw = Seed(number("FSTRIAL_FUZZ_SEED", 1)).stream(reader);
    let mut slowest = Duration::ZERO;
    let mut tried = 0;
    for input in seeds {
        slowest = slowest.max(one(reader, input, &read));
        tried += 1;
    }
    while tried < count {
        let input = changed(seeds, &mut draw);
        slowest = slowest.max(one(reader, &input, &read));
        tried += 1;
    }
    println!("{reader}: {tried} inputs, the slowest took {slowest:.1?}");
}

fn one(reader: &str, input: &[u8], read: &impl Fn(&[u8])) -> Duration {
    let began = Instant::now();
    if catch_unwind(AssertUnwindSafe(|| read(input))).is_err() {
        let kept = keep(reader, input);
        panic!("{reader}: panics on {kept}");
    }
    began.elapsed()
}

/// Writes an input into a file of its own; its path, or why there is none.
fn keep(reader: &str, input: &[u8]) -> String {
    let file = tempfile::Builder::new().prefix(&format!("fuzz-{reader}-")).tempfile();
    let kept = file.and_then(|mut file| {
        file.write_all(input)?;
        Ok(file.into_temp_path().keep()?)
    });
    kept.map_or_else(|error| error.to_string(), |path| path.display().to_string())
}

/// A seed with some changes.
fn changed(seeds: &[Vec<u8>], draw: &mut Draw) -> Vec<u8> {
    let mut input = pick(seeds, draw).cloned().unwrap_or_default();
    for _ in 0..=draw.below(CHANGES_MAX) {
        change(&mut input, seeds, draw);
    }
    input.truncate(LENGTH_MAX);
    input
}

fn pick<'t, T>(all: &'t [T], draw: &mut Draw) -> Option<&'t T> {
    all.get(draw.below(all.len() as u64) as usize)
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], draw: &mut Draw) {
    let at = draw.below(input.len() as u64 + 1) as usize;
    let piece = draw.below(PIECE_MAX) as usize;
    let end = (at + piece).min(input.len());
    match draw.below(8) {
        0 if at < input.len() => input[at] ^= 1 << draw.below(8),
        1 if at < input.len() => input[at] = draw.bits() as u8,
        2 => drop(input.drain(at..end)),
        3 => {
            let doubled = input[at..end].to_vec();
            input.splice(at..at, doubled);
        }
        4 => input.truncate(at),
        5 => {
            let other = pick(seeds, draw).map(Vec::as_slice).unwrap_or_default();
            let from = draw.below(other.len() as u64 + 1) as usize;
            let to = (from + piece).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        6 => {
            // A number in place of a number.
            let digits = input[at..].iter().position(u8::is_ascii_digit).map(|skip| at + skip);
            let from = digits.unwrap_or(at);
            let rest = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let word = pick(WORDS, draw).copied().unwrap_or_default();
            input.splice(from..from + rest, word.iter().copied());
        }
        _ => {
            let word = pick(WORDS, draw).copied().unwrap_or_default();
            input.splice(at..at, word.iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input that was found is kept in a file, and the message names it.
    #[test]
    fn a_reader_that_panics_is_found() {
        let found = catch_unwind(|| {
            run("planted", &[b"name = 12".to_vec()], |input| {
                assert!(!input.windows(2).any(|pair| pair == b"-1"), "planted");
            });
        });
        let message = *found.unwrap_err().downcast::<String>().unwrap();
        let kept = message.strip_prefix("planted: panics on ").unwrap();
        let input = std::fs::read(kept).unwrap();
        std::fs::remove_file(kept).unwrap();
        assert!(input.windows(2).any(|pair| pair == b"-1"), "{input:?}");
    }

    #[test]
    fn a_reader_without_fault_passes() {
        run("sound", &[b"name = 12".to_vec(), Vec::new()], |input| {
            let _ = std::str::from_utf8(input);
        });
    }
}
