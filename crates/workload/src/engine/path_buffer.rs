//! A path that is built in place: a hot loop builds one for each op without allocating and without
//! `core::fmt` (which would cost more than entering a system call).

use std::ffi::{CStr, OsStr};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;

use crate::OpError;

/// A path relative to the target directory, always ending in a NUL.
#[derive(Clone)]
pub(crate) struct PathBuffer(Vec<u8>);

impl PathBuffer {
    pub(crate) fn new() -> PathBuffer {
        let mut bytes = Vec::with_capacity(256);
        bytes.push(0);
        PathBuffer(bytes)
    }

    /// How long the path is, for [`PathBuffer::truncate`].
    pub(crate) fn len(&self) -> usize {
        self.0.len() - 1
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
        self.0.push(0);
    }

    pub(crate) fn clear(&mut self) -> &mut PathBuffer {
        self.truncate(0);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut PathBuffer {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut PathBuffer {
        self.0.pop();
        self.0.extend_from_slice(bytes);
        self.0.push(0);
        self
    }

    /// Appends a number in decimal with at least `digits` digits.
    pub(crate) fn number(&mut self, number: u64, digits: usize) -> &mut PathBuffer {
        let mut text = [b'0'; 20];
        let (mut rest, mut at) = (number, text.len());
        while rest > 0 {
            at -= 1;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let at = at.min(text.len() - digits.clamp(1, text.len()));
        self.bytes(&text[at..])
    }

    /// The path for a system call.
    #[inline]
    pub(crate) fn c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0[..self.len()]
    }

    /// For `map_err`: an op on this path has failed.
    pub(crate) fn failed<E: Into<io::Error>>(
        &self,
        op: &'static str,
    ) -> impl FnOnce(E) -> OpError + '_ {
        move |source| OpError::new(op, OsStr::from_bytes(self.as_bytes()), source)
    }
}

impl fmt::Display for PathBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::name(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn builds_what_format_would(number: u64, digits in 1usize..20, keep in 0usize..3) {
            let mut path = PathBuffer::new();
            path.text("a/b").number(number, digits).bytes(b".x");
            proptest::prop_assert_eq!(path.to_string(), format!("a/b{number:0digits$}.x"));
            path.truncate(keep);
            proptest::prop_assert_eq!(path.c_str().to_bytes(), &b"a/b"[..keep]);
            path.clear().number(number, 1);
            proptest::prop_assert_eq!(path.to_string(), number.to_string());
        }
    }
}
