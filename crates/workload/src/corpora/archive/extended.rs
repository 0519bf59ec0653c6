//! Extended headers of the format pax: records `LENGTH key=value`.

/// What extended headers say, as far as it decides what is unpacked.
#[derive(Debug, Default)]
pub(super) struct Extended {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) uid: Option<u64>,
    pub(super) gid: Option<u64>,
    /// Seconds since 1970, and nanoseconds after them.
    pub(super) mtime: Option<(i64, u32)>,
    pub(super) sparse: SparseRecords,
}

/// GNU tar's records of a sparse file, of all its versions.
#[derive(Debug, Default)]
pub(super) struct SparseRecords {
    pub(super) name: Option<Vec<u8>>,
    /// Bytes of the unpacked file.
    pub(super) size: Option<u64>,
    pub(super) major: Option<u64>,
    /// Versions 0.0 and 0.1: offset, length, offset, length …
    pub(super) map: Option<Vec<u64>>,
}

impl Extended {
    pub(super) fn clear(&mut self) {
        *self = Extended::default();
    }

    /// Adds the records of one header.
    pub(super) fn read(&mut self, mut text: &[u8]) -> Result<(), String> {
        // Some writers fill up with NUL.
        while text.first().is_some_and(|byte| *byte != 0) {
            let (key, value, rest) =
                record(text).ok_or("an extended header that is no list of records")?;
            self.take(key, value).ok_or_else(|| {
                format!("{}={} in an extended header", text::name(key), text::name(value))
            })?;
            text = rest;
        }
        Ok(())
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let bytes = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match key {
            b"path" => self.path = bytes(),
            b"linkpath" => self.link = bytes(),
            b"size" => self.size = number(value)?,
            b"uid" => self.uid = number(value)?,
            b"gid" => self.gid = number(value)?,
            b"mtime" if value.is_empty() => self.mtime = None,
            b"mtime" => self.mtime = Some(time(value)?),
            b"GNU.sparse.name" => self.sparse.name = bytes(),
            b"GNU.sparse.size" | b"GNU.sparse.realsize" => self.sparse.size = number(value)?,
            b"GNU.sparse.major" => self.sparse.major = number(value)?,
            b"GNU.sparse.map" => self.sparse.map.get_or_insert_default().extend(
                value
                    .split(|byte| *byte == b',')
                    .map(number)
                    .collect::<Option<Option<Vec<_>>>>()??,
            ),
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => {
                self.sparse.map.get_or_insert_default().push(number(value)??);
            }
            _ => {}
        }
        Some(())
    }
}

/// The first record: key, value, and what follows it.
fn record(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let length = usize::try_from(number(&text[..space])??).ok()?;
    let record = text.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((&record[..equals], &record[equals + 1..], &text[length..]))
}

/// A whole number; the inner `None` for an empty value, which takes back an earlier one.
fn number(value: &[u8]) -> Option<Option<u64>> {
    match value.is_empty() {
        true => Some(None),
        false => std::str::from_utf8(value).ok()?.parse().ok().map(Some),
    }
}

/// Seconds with a fraction, before 1970 negative.
fn time(value: &[u8]) -> Option<(i64, u32)> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanos: u32 = digits.parse().ok()?;
    match whole.starts_with('-') && nanos > 0 {
        true => Some((seconds.checked_sub(1)?, 1_000_000_000 - nanos)),
        false => Some((seconds, nanos)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fractions_and_may_be_negative() {
        let cases: [(&str, Option<(i64, u32)>); 7] = [
            ("12", Some((12, 0))),
            ("12.5", Some((12, 500_000_000))),
            ("-1.25", Some((-2, 750_000_000))),
            ("-0.1", Some((-1, 900_000_000))),
            ("32503680000.0000000019", Some((32_503_680_000, 1))),
            ("1e9", None),
            ("12.x", None),
        ];
        for (text, expected) in cases {
            assert_eq!(time(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_record_that_is_none_is_an_error() {
        let read = |text: &[u8]| Extended::default().read(text);
        for wrong in [&b"5 a=b"[..], b"7 a=b\n", b"x a=b\n", b"99999999999999999999 a=b\n", b"2 "] {
            assert!(read(wrong).is_err(), "{}", wrong.escape_ascii());
        }
        assert_eq!(read(b"6 a=b\n\0\0\0"), Ok(()));
        assert_eq!(read(b"12 size=two\n"), Err("size=two in an extended header".to_owned()));
    }

    #[test]
    fn an_empty_value_takes_back_an_earlier_one() {
        let mut extended = Extended::default();
        extended.read(b"10 uid=12\n8 path=x\n").unwrap_err();
        extended.read(b"10 uid=12\n9 path=x\n").unwrap();
        assert_eq!((extended.uid, extended.path.as_deref()), (Some(12), Some(&b"x"[..])));
        extended.read(b"7 uid=\n8 path=\n").unwrap();
        assert_eq!((extended.uid, extended.path), (None, None));
    }
}
