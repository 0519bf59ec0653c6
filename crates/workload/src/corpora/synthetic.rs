//! Invented mails: sizes from a measured distribution, text that looks like mail.
//!
//! Most bytes are attachments in base64, as in the measured mails: gzip leaves 73 % of the
//! whole (25 % of the SpamAssassin mails, which are nearly all text).

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::pack_writer::existing;
use super::{CorpusError, PackWriter};
use crate::{Draw, Seed};

/// Number of mails made by default: about 107 MB.
pub const DEFAULT_COUNT: u64 = 2000;

/// Sizes of mails measured in 2002: (upper bound of the bin in bytes, share of mails below
/// it), from 900 bytes on. Published by M. Buchner via johannes.jakeapp.com, 2009. The last
/// row is ours: the table ends at 2 MiB with 0.04 % above it.
const SIZES: [(u64, f64); 12] = [
    (2 << 10, 0.235),
    (4 << 10, 0.492),
    (8 << 10, 0.676),
    (16 << 10, 0.796),
    (32 << 10, 0.854),
    (64 << 10, 0.905),
    (128 << 10, 0.933),
    (256 << 10, 0.957),
    (512 << 10, 0.972),
    (1 << 20, 0.985),
    (2 << 20, 0.9996),
    (4 << 20, 1.0),
];
const SMALLEST: u64 = 900;

/// Above this size a mail carries an attachment.
const TEXT_MAX: usize = 16 << 10;

/// Raised when the same arguments begin to give different mails.
const METHOD: &str = "synthetic mail, method 1";

/// Makes the pack `synthetic-COUNT-SEED.mailpack` in `cache_dir`, unless it is there.
///
/// # Errors
/// When it cannot be written.
pub fn ensure(cache_dir: &Path, count: u64, seed: u64) -> Result<PathBuf, CorpusError> {
    let pack = cache_dir.join(format!("synthetic-{count}-{seed}.mailpack"));
    let mut source = Sha256::new();
    source.update(format!("{METHOD}, {count}, {seed}"));
    let fingerprint = source.finalize().into();
    if existing(&pack, &fingerprint).is_some() {
        return Ok(pack);
    }
    let mut writer = PackWriter::create(&pack, fingerprint, false)?;
    let sizes = sizes(count, Seed(seed));
    let mut draw = Seed(seed).stream("mail text");
    let mut mail = Vec::new();
    for (number, size) in sizes.iter().enumerate() {
        compose(&mut mail, *size as usize, number, &mut draw);
        writer.add(&mail)?;
    }
    writer.finish(&format!("synthetic mail, {count} mails, seed {seed}"))?;
    Ok(pack)
}

/// Bytes that the mails of [`ensure`] have together, before any is made.
pub fn total_size(count: u64, seed: u64) -> u64 {
    let mut draw = Seed(seed).stream("mail sizes");
    (0..count).map(|part| nth_size(part, count, &mut draw)).sum()
}

fn nth_size(part: u64, count: u64, draw: &mut Draw) -> u64 {
    size_at((part as f64 + draw.unit()) / count as f64)
}

/// Sizes of `count` mails in random order. One is drawn from each `count`-th of the
/// distribution, so that a small corpus has its shape too.
fn sizes(count: u64, seed: Seed) -> Vec<u64> {
    let mut draw = seed.stream("mail sizes");
    let mut sizes: Vec<u64> = (0..count).map(|part| nth_size(part, count, &mut draw)).collect();
    draw.shuffle(&mut sizes);
    sizes
}

/// The size that a share `quantile` of the mails stays below, log-uniform within a bin.
fn size_at(quantile: f64) -> u64 {
    let (mut low, mut below) = (SMALLEST, 0.0);
    for (high, share) in SIZES {
        if quantile < share {
            let within = (quantile - below) / (share - below);
            return (low as f64 * (high as f64 / low as f64).powf(within)) as u64;
        }
        (low, below) = (high, share);
    }
    low
}

/// Words of the text; the first ones occur most.
const WORDS: [&str; 96] = [
    "the",
    "to",
    "and",
    "of",
    "in",
    "is",
    "that",
    "it",
    "for",
    "you",
    "on",
    "with",
    "this",
    "be",
    "are",
    "not",
    "have",
    "as",
    "can",
    "from",
    "we",
    "if",
    "will",
    "was",
    "or",
    "at",
    "by",
    "an",
    "but",
    "list",
    "your",
    "all",
    "there",
    "would",
    "one",
    "about",
    "which",
    "they",
    "any",
    "when",
    "mail",
    "has",
    "so",
    "what",
    "more",
    "out",
    "some",
    "time",
    "other",
    "their",
    "use",
    "only",
    "new",
    "like",
    "just",
    "than",
    "should",
    "people",
    "work",
    "message",
    "please",
    "then",
    "also",
    "how",
    "could",
    "does",
    "problem",
    "server",
    "system",
    "file",
    "version",
    "information",
    "because",
    "report",
    "subject",
    "number",
    "every",
    "question",
    "answer",
    "tomorrow",
    "meeting",
    "disk",
    "kernel",
    "install",
    "directory",
    "address",
    "running",
    "different",
    "possible",
    "without",
    "change",
    "package",
    "configuration",
    "regards",
    "probably",
    "everything",
];

/// A mail of exactly `size` bytes: headers, text in lines of at most 78 characters, and in a
/// large one an attachment in base64.
fn compose(mail: &mut Vec<u8>, size: usize, number: usize, draw: &mut Draw) {
    mail.clear();
    let mut line = |text: String| {
        mail.extend_from_slice(text.as_bytes());
        mail.push(b'\n');
    };
    let person = |draw: &mut Draw| {
        format!("{}{}@host{}.example", word(draw), draw.below(100), draw.below(500))
    };
    let (from, to) = (person(draw), person(draw));
    let (day, hour, minute) = (draw.below(28) + 1, draw.below(24), draw.below(60));
    let date = format!("{day} Jan 2004 {hour:02}:{minute:02}:{:02} +0000", draw.below(60));
    line(format!("Return-Path: <{from}>"));
    line(format!("Delivered-To: {to}"));
    for hop in 0..2 {
        line(format!(
            "Received: from relay{}.example (10.0.{hop}.{})",
            draw.below(50),
            draw.below(255)
        ));
        line(format!("\tby mx{hop}.example with ESMTP id {:016X}; {date}", draw.bits()));
    }
    line(format!("Message-ID: <{:016x}.{number}@example>", draw.bits()));
    line(format!("From: {from}"));
    line(format!("To: {to}"));
    let subject: Vec<_> = (0..3 + draw.below(5)).map(|_| word(draw)).collect();
    line(format!("Subject: {}", subject.join(" ")));
    line(format!("Date: {date}"));
    line("MIME-Version: 1.0".to_owned());
    if size <= TEXT_MAX {
        line("Content-Type: text/plain; charset=us-ascii".to_owned());
        line(String::new());
        text(mail, size, draw);
    } else {
        let boundary = format!("----=_part_{:016x}", draw.bits());
        line(format!("Content-Type: multipart/mixed; boundary=\"{boundary}\""));
        line(String::new());
        line(format!("--{boundary}"));
        line("Content-Type: text/plain; charset=us-ascii".to_owned());
        line(String::new());
        let letter = mail.len() + 500 + draw.below(3000) as usize;
        text(mail, letter, draw);
        let part = format!(
            "\n--{boundary}\nContent-Type: application/octet-stream; name=\"file{number}.bin\"\n\
             Content-Transfer-Encoding: base64\n\n"
        );
        mail.extend_from_slice(part.as_bytes());
        let ending = format!("--{boundary}--\n");
        base64(mail, size - ending.len(), draw);
        mail.extend_from_slice(ending.as_bytes());
    }
    debug_assert_eq!(mail.len(), size);
}

/// A word; its rank has roughly Zipf's distribution.
fn word(draw: &mut Draw) -> &'static str {
    let rank = (WORDS.len() as f64).powf(draw.unit()) - 1.0;
    WORDS[(rank * WORDS.len() as f64 / (WORDS.len() - 1) as f64) as usize % WORDS.len()]
}

/// Lines of words until the mail has `until` bytes, ending with a newline.
fn text(mail: &mut Vec<u8>, until: usize, draw: &mut Draw) {
    let mut column = 0;
    while mail.len() < until {
        let word = word(draw);
        if column > 0 && column + 1 + word.len() > 72 {
            mail.push(b'\n');
            column = 0;
        } else if column > 0 {
            mail.push(b' ');
            column += 1;
        }
        mail.extend_from_slice(word.as_bytes());
        column += word.len();
    }
    mail.truncate(until);
    end_line(mail);
}

/// Lines of 76 base64 digits of random bytes until the mail has `until` bytes.
fn base64(mail: &mut Vec<u8>, until: usize, draw: &mut Draw) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut noise = [0; 76];
    while mail.len() < until {
        draw.fill(&mut noise);
        mail.extend(noise.iter().map(|byte| DIGITS[usize::from(byte & 63)]));
        mail.push(b'\n');
    }
    mail.truncate(until);
    end_line(mail);
}

fn end_line(mail: &mut [u8]) {
    if let Some(last) = mail.last_mut() {
        *last = b'\n';
    }
}

#[cfg(test)]
mod tests {
    use super::super::MailCorpus;
    use super::*;

    #[test]
    fn sizes_follow_the_measured_table() {
        let sizes = sizes(20_000, Seed(1));
        for (bound, share) in SIZES {
            let below = sizes.iter().filter(|size| **size < bound).count() as f64 / 20_000.0;
            assert!((below - share).abs() < 0.0005, "below {bound}: {below}, table {share}");
        }
        let mut sorted = sizes.clone();
        sorted.sort_unstable();
        assert!(sorted[0] >= SMALLEST);
        // The source gives a median of about 4.2 KB and a mean of about 53 KB.
        assert!((4100..4400).contains(&sorted[10_000]), "median {}", sorted[10_000]);
        let mean = sizes.iter().sum::<u64>() / 20_000;
        assert!((52_000..56_000).contains(&mean), "mean {mean}");
    }

    #[test]
    fn a_small_corpus_has_the_shape_too() {
        let below_4k = sizes(100, Seed(5)).iter().filter(|size| **size < 4096).count();
        assert!((48..=50).contains(&below_4k), "{below_4k}");
    }

    #[test]
    fn same_arguments_same_mails_and_they_look_like_mail() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = MailCorpus::open(&ensure(one.path(), 60, 3).unwrap()).unwrap();
        let again = MailCorpus::open(&ensure(two.path(), 60, 3).unwrap()).unwrap();
        let other = MailCorpus::open(&ensure(two.path(), 60, 4).unwrap()).unwrap();
        assert_eq!(first.identity(), again.identity());
        assert_ne!(first.identity(), other.identity());
        let sizes = sizes(60, Seed(3));
        for (index, size) in sizes.iter().enumerate() {
            let mail = first.mail(index);
            assert_eq!(mail.len() as u64, *size);
            assert!(mail.starts_with(b"Return-Path: <") && mail.ends_with(b"\n"));
            assert!(mail.split(|byte| *byte == b'\n').all(|line| line.len() <= 78));
        }
    }
}
