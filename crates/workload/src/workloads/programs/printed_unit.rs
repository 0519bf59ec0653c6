//! Units as programs print them: prefixes, bytes, bits, times, and words of their own.

/// A unit in which a figure is wanted.
#[derive(Debug, PartialEq)]
pub(super) struct Unit<'a> {
    text: &'a str,
    kind: Kind,
    scale: f64,
    is_binary: bool,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Things, or nothing but a number.
    Count,
    Bytes,
    BytesPerSecond,
    Bits,
    BitsPerSecond,
    Time,
    /// A word of the program's own.
    Own,
}

const PREFIXES: [(&str, f64, bool); 11] = [
    ("Ki", 1024.0, true),
    ("Mi", 1_048_576.0, true),
    ("Gi", 1_073_741_824.0, true),
    ("Ti", 1_099_511_627_776.0, true),
    ("k", 1e3, false),
    ("K", 1e3, false),
    ("M", 1e6, false),
    ("G", 1e9, false),
    ("T", 1e12, false),
    ("P", 1e15, false),
    ("", 1.0, false),
];

const BASES: [(&str, Kind); 15] = [
    ("", Kind::Count),
    ("IOPS", Kind::Count),
    ("iops", Kind::Count),
    ("ops", Kind::Count),
    ("ops/s", Kind::Count),
    ("B", Kind::Bytes),
    ("bytes", Kind::Bytes),
    ("B/s", Kind::BytesPerSecond),
    ("B/sec", Kind::BytesPerSecond),
    ("Bps", Kind::BytesPerSecond),
    ("bit", Kind::Bits),
    ("bits", Kind::Bits),
    ("bit/s", Kind::BitsPerSecond),
    ("bits/s", Kind::BitsPerSecond),
    ("bps", Kind::BitsPerSecond),
];

const TIMES: [(&str, f64); 16] = [
    ("ns", 1e-9),
    ("nsec", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("usec", 1e-6),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("min", 60.0),
    ("minutes", 60.0),
    ("h", 3600.0),
];

impl<'a> Unit<'a> {
    pub(super) fn of(text: &'a str) -> Unit<'a> {
        if let Some((_, scale)) = TIMES.iter().find(|(name, _)| *name == text) {
            return Unit { text, kind: Kind::Time, scale: *scale, is_binary: false };
        }
        let prefixed = PREFIXES.iter().find_map(|(prefix, scale, is_binary)| {
            let base = text.strip_prefix(prefix)?;
            let (_, kind) = BASES.iter().find(|(name, _)| *name == base)?;
            Some(Unit { text, kind: *kind, scale: *scale, is_binary: *is_binary })
        });
        prefixed.unwrap_or(Unit { text, kind: Kind::Own, scale: 1.0, is_binary: false })
    }

    /// Whether it is a word of the program's own.
    pub(super) fn is_own(&self) -> bool {
        self.kind == Kind::Own
    }

    /// By what a number is multiplied that stands before this word; `None` where they do not fit.
    pub(super) fn factor(&self, printed: &str) -> Option<f64> {
        if printed.is_empty() || printed == self.text {
            return Some(1.0);
        }
        let from = Unit::of(printed);
        let is_prefix = PREFIXES.iter().any(|(prefix, ..)| *prefix == printed);
        match (from.kind, self.kind) {
            (Kind::Own, _) => None,
            (Kind::Count, Kind::Time) => None,
            // `5M` where MiB are wanted counts as they do.
            (Kind::Count, _) if is_prefix && self.is_binary && !from.is_binary => {
                let binary = Unit::of(match printed {
                    "k" | "K" => "Ki",
                    "M" => "Mi",
                    "G" => "Gi",
                    "T" => "Ti",
                    _ => return None,
                });
                Some(binary.scale / self.scale)
            }
            (Kind::Count, _) if is_prefix => Some(from.scale / self.scale),
            (from_kind, kind) if from_kind == kind => Some(from.scale / self.scale),
            // Without a unit: bytes, bits, seconds.
            (_, Kind::Count) if self.text.is_empty() => Some(from.scale),
            _ => None,
        }
    }
}

/// Whether a word is a unit that programs print.
pub(super) fn known(word: &str) -> bool {
    !word.is_empty() && !Unit::of(word).is_own()
}

/// The word that a text begins with: letters, `%`, and `/` before a letter.
pub(super) fn token(text: &str) -> &str {
    let mut end = 0;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let goes_on = c.is_alphabetic()
            || c == '%'
            || c == '/' && rest.peek().is_some_and(|next| next.is_alphabetic());
        if !goes_on {
            break;
        }
        end += c.len_utf8();
    }
    &text[..end]
}
