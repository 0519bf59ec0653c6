//! Mailboxes in one file: mbox, with lines that end with LF, CR LF or CR, and MMDF.

use std::io::{self, BufRead, Read};

/// Longest part of a line that is held beside the mail it belongs to.
const PIECE_MAX: u64 = 1 << 20;
/// The line before and after each mail of MMDF.
const MMDF: &[u8] = b"\x01\x01\x01\x01";

/// What a mailbox held, beside the mails that were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// Mails that were left out since they are too large.
    LeftOut(u64),
    /// It does not begin like a mailbox.
    NoMailbox,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Mbox,
    Mmdf,
}

/// Splits a mailbox into mails. In an mbox a mail begins after a line `From …` that is the first or
/// follows an empty one. The separating lines are not part of the mails; `>From` stays as it is.
/// Those of more than `most` bytes are left out.
///
/// # Errors
/// Of the reader, or of `add`.
pub(super) fn split<E: From<io::Error>>(
    reader: &mut impl BufRead,
    most: usize,
    add: &mut impl FnMut(Vec<u8>) -> Result<(), E>,
) -> Result<Split, E> {
    if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    let end = line_end(reader.fill_buf()?);
    let mut style = None;
    let mut mail = Mail { most, ..Mail::default() };
    let (mut line, mut begins, mut after_empty) = (Vec::new(), true, true);
    loop {
        line.clear();
        Read::take(&mut *reader, PIECE_MAX).read_until(end, &mut line)?;
        if line.is_empty() {
            break;
        }
        let text = line.strip_suffix(&[end]).unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let is_from = begins && after_empty && text.starts_with(b"From ");
        let is_mmdf = begins && text == MMDF;
        let known = match style {
            Some(known) => known,
            None if is_from => Style::Mbox,
            None if is_mmdf => Style::Mmdf,
            None if text.is_empty() => continue,
            None => return Ok(Split::NoMailbox),
        };
        style = Some(known);
        if if known == Style::Mbox { is_from } else { is_mmdf } {
            mail.end(known, add)?;
        } else {
            mail.push(&line);
        }
        after_empty = begins && text.is_empty();
        begins = line.ends_with(&[end]);
    }
    match style {
        None => Ok(Split::NoMailbox),
        Some(style) => {
            mail.end(style, add)?;
            Ok(Split::LeftOut(mail.left_out))
        }
    }
}

/// With what lines end, by the first that does.
fn line_end(text: &[u8]) -> u8 {
    let first = text.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
    match first.map(|at| &text[at..]) {
        Some([b'\r', next, ..]) if *next != b'\n' => b'\r',
        _ => b'\n',
    }
}

/// The mail that is being read.
#[derive(Default)]
struct Mail {
    text: Vec<u8>,
    most: usize,
    too_large: bool,
    left_out: u64,
}

impl Mail {
    fn push(&mut self, line: &[u8]) {
        self.too_large |= self.text.len() + line.len() > self.most;
        if self.too_large {
            self.text = Vec::new();
        } else {
            self.text.extend_from_slice(line);
        }
    }

    fn end<E>(
        &mut self,
        style: Style,
        add: &mut impl FnMut(Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut text = std::mem::take(&mut self.text);
        self.left_out += u64::from(std::mem::take(&mut self.too_large));
        if style == Style::Mbox {
            // The empty line before the next separator.
            for end in [&b"\r\n"[..], b"\n", b"\r"] {
                if let Some(rest) = text.strip_suffix(end)
                    && (rest.is_empty() || rest.ends_with(end))
                {
                    text.truncate(rest.len());
                    break;
                }
            }
        }
        if text.is_empty() { Ok(()) } else { add(text) }
    }
}

/// Whether a mailbox may begin with these bytes.
pub(super) fn may_begin(first: &[u8]) -> bool {
    first.starts_with(b"From ") || first.starts_with(MMDF)
}

/// Whether a text is a mailbox of several mails, and not one mail that begins with the line of a
/// mailbox: of such a line a sentence has not the time, nor a header behind it.
pub(super) fn has_several(text: &[u8]) -> bool {
    if text.starts_with(MMDF) {
        return true;
    }
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end());
    let (mut before, mut found) = (&b""[..], 0);
    let mut next = lines.next();
    while let Some(line) = next {
        next = lines.next();
        let separates = before.is_empty() && line.starts_with(b"From ") && has_time(line);
        found += u32::from(separates && next.is_some_and(begins_with_header));
        before = line;
    }
    found > 1
}

/// Whether a time such as `12:05` stands in it.
fn has_time(line: &[u8]) -> bool {
    line.windows(5)
        .any(|it| it[2] == b':' && [0, 1, 3, 4].iter().all(|at| it[*at].is_ascii_digit()))
}

/// What a file with these first bytes is, if it is known and no mailbox.
pub(super) fn name_of(first: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"!BDN", "it is a mailbox of Outlook; export it as mbox, or as a directory of mails"),
        (b"*mbx*", "it is a mailbox of the format mbx; convert it to mbox"),
        (b"BABYL OPTIONS", "it is a mailbox of the format Babyl; convert it to mbox"),
        (b"PK", "it is a zip archive; unpack it and name the directory"),
        (b"\xff\xfe", "it is text in UTF-16; an mbox is written in bytes of ASCII"),
    ];
    if first.get(257..262) == Some(b"ustar") {
        return Some("it is a tar; unpack it and name the directory");
    }
    let known = KNOWN.iter().find(|(begins, _)| first.starts_with(begins)).map(|(_, name)| *name);
    known.or(begins_with_header(first)
        .then_some("it is a single mail; name the directory of such files"))
}

/// Whether it begins with a mail's header, such as `Subject:`.
fn begins_with_header(first: &[u8]) -> bool {
    let name = first.split(|byte| *byte == b':').next().unwrap_or_default();
    let letters = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    !name.is_empty() && name.len() < first.len() && letters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mails(text: &[u8]) -> (Vec<String>, Split) {
        let mut mails = Vec::new();
        let mut add = |mail: Vec<u8>| -> io::Result<()> {
            mails.push(mail.escape_ascii().to_string());
            Ok(())
        };
        let found = split(&mut &text[..], 20, &mut add).unwrap();
        (mails, found)
    }

    #[test]
    fn a_mail_that_begins_like_a_mailbox_is_one_mail() {
        let of =
            |name: &str| format!("From {name} Mon Jan  3 12:05:00 2000\nSubject: x\n\nText\n\n");
        assert!(has_several((of("a") + &of("b")).as_bytes()));
        assert!(has_several((of("a") + &of("b")).replace('\n', "\r\n").as_bytes()));
        // The corpora of SpamAssassin have one mail in each file, and sentences with `From`.
        for one in
            [of("a"), of("a") + "From here on: nothing\n", of("a") + "From 12:05 on\n\nS: x\n"]
        {
            assert!(!has_several(one.as_bytes()), "{one}");
        }
        assert!(has_several(b"\x01\x01\x01\x01\nx\n"));
        assert!(!may_begin(b"Return-Path: <>") && may_begin(b"From "));
    }

    #[test]
    fn mailboxes_of_each_kind_are_split() {
        let both = |text: &[u8]| {
            let (mails, found) = mails(text);
            assert_eq!(found, Split::LeftOut(0), "{}", text.escape_ascii());
            mails.join("|")
        };
        let two = b"From a\nS: 1\n\nFrom here\n\nFrom b\nS: 2\n\n>From x\n";
        // A line `From …` after an empty line separates mails, even if it is part of the text.
        assert_eq!(both(two), r"S: 1\n|S: 2\n\n>From x\n");
        assert_eq!(both(&[b"\xef\xbb\xbf\n\n", &two[..]].concat()), both(two));
        assert_eq!(both(b"From a\r\nS: 1\r\n\r\nFrom b\r\nx\r\n\r\n"), r"S: 1\r\n|x\r\n");
        assert_eq!(both(b"From a\rS: 1\r\rFrom b\rx\r"), r"S: 1\r|x\r");
        let mmdf = b"\x01\x01\x01\x01\nFrom a\nS: 1\n\n\x01\x01\x01\x01\n\x01\x01\x01\x01\nx\n\x01\x01\x01\x01\n";
        assert_eq!(both(mmdf), r"From a\nS: 1\n\n|x\n");
        assert_eq!(both(b"From a\n\nFrom b\nno end"), "no end");
    }

    #[test]
    fn a_mail_that_is_too_large_leaves_the_others() {
        let long = "y".repeat(3 << 20);
        let text = format!("From a\nS: 1\n\nFrom b\nS: 2\n{long}\nFrom \n{long}\n\nFrom c\nS: 3\n");
        let (mails, found) = mails(text.as_bytes());
        assert_eq!((mails.join("|").as_str(), found), (r"S: 1\n|S: 3\n", Split::LeftOut(1)));
    }

    #[test]
    fn what_is_no_mailbox_is_said_to_be_none() {
        for text in [&b"just text\n"[..], b"", b"\n\n", b"Subject: x\n\nFrom a\n"] {
            assert_eq!(mails(text), (Vec::new(), Split::NoMailbox));
        }
        for mail in [&b"From: a@b\n"[..], b"MIME-Version: 1.0\n"] {
            assert!(name_of(mail).is_some_and(|name| name.contains("a single mail")));
        }
        assert_eq!(name_of(b"just text: a\n"), None);
    }
}
