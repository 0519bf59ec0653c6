//! Text that keeps to a width and cannot steer the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text, cut with an ellipsis where it is wider.
pub fn fitted(text: &str, width: usize) -> String {
    let text = text::line(text);
    if text.width() <= width {
        return text;
    }
    let mut cut = String::new();
    for c in text.chars() {
        if cut.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}

/// The text in lines of at most `width`, broken at spaces or after `:` and `,`, within a
/// word only where it must be; what exceeds `lines_max` is cut.
pub fn folded(text: &str, width: usize, lines_max: usize) -> Vec<String> {
    let tamed = text::line(text);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let long_only = |piece: &str| piece.trim_end().width() > width;
    for word in tamed.split_inclusive(' ') {
        let pieces: Vec<&str> = if long_only(word) {
            word.split_inclusive([':', ',', '=', '/', '-', '_']).collect()
        } else {
            vec![word]
        };
        for piece in pieces {
            if !line.trim().is_empty() && (line.clone() + piece.trim_end()).width() > width {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
            }
            for c in piece.chars() {
                let fits = line.width() + c.width().unwrap_or(0) <= width;
                if !fits && c != ' ' {
                    lines.push(std::mem::take(&mut line).trim_end().to_owned());
                }
                if fits || c != ' ' {
                    line.push(c);
                }
            }
        }
    }
    if !line.trim().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        if let Some(last) = lines.last_mut() {
            *last = fitted(&format!("{last}  …"), width);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_at_spaces_then_at_signs_then_anywhere() {
        assert_eq!(folded("one two three", 8, 9), ["one two", "three"]);
        assert_eq!(folded("ext4:dir_index=off", 10, 9), ["ext4:dir_", "index=off"]);
        assert_eq!(folded("abcdefgh", 3, 9), ["abc", "def", "gh"]);
        assert_eq!(folded("a b c", 1, 2), ["a", "…"]);
        assert!(folded("", 5, 9).is_empty());
    }

    #[test]
    fn wide_letters_count_twice() {
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(folded("日本語", 4, 9), ["日本", "語"]);
    }

    #[test]
    fn control_characters_are_spaces() {
        assert_eq!(fitted("a\u{1b}[31mb\u{202e}", 20), "a [31mb ");
    }
}
