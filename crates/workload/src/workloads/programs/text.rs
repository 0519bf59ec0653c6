//! Text for real programs to keep: drawn, printable, and about as compressible as base64.

use crate::Draw;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// This many characters, none of which has to be quoted.
pub(super) fn words(draw: &mut Draw, length: usize) -> String {
    let mut text = String::with_capacity(length + 10);
    while text.len() < length {
        let mut bits = draw.bits();
        for _ in 0..10 {
            text.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    }
    text.truncate(length);
    text
}

/// Lines of 60 characters, so many bytes in all.
pub(super) fn lines(draw: &mut Draw, length: usize) -> String {
    let mut text = String::with_capacity(length + 60);
    while text.len() < length {
        text.push_str(&words(draw, 59));
        text.push('\n');
    }
    text.truncate(length);
    text
}
