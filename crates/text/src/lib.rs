//! Text that others wrote (titles, names of files, TOML files, messages of programs), shown
//! so that it is nothing but text: it steers no terminal, makes no link and is no formula.
//!
//! [`line`] and [`lines`] are for terminals and the base of the others; [`html`],
//! [`markdown`], [`csv`] and [`json`] also escape what their format takes for more than text.
#![forbid(unsafe_code)]

/// One line: control characters (an escape sequence begins with one, a line ends with one)
/// and the marks that turn the direction of writing become spaces.
pub fn line(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// As [`line`], but ends of lines and tabulators stay.
pub fn lines(text: &str) -> String {
    text.chars().map(|c| if steers(c) && !matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

/// A name that need not be UTF-8, for a message; of a long one its beginning, its end and its
/// length.
pub fn name(bytes: &[u8]) -> String {
    const LONG: usize = 120;
    let shown: Vec<char> = line(&String::from_utf8_lossy(bytes)).chars().collect();
    match shown.len() > LONG {
        false => shown.into_iter().collect(),
        true => {
            let (first, last) = (&shown[..LONG / 2], &shown[shown.len() - LONG / 4..]);
            let part = |part: &[char]| part.iter().collect::<String>();
            format!("{}…{} ({} bytes)", part(first), part(last), bytes.len())
        }
    }
}

/// A word as one types it in a shell: quoted where the shell would see more than letters. A
/// placeholder in braces is none to a shell as long as there is no comma in it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || "-_=,./:@%+^".contains(c)
            || ("{}".contains(c) && !word.contains(','))
    };
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A command as one types it in a shell.
pub fn shell_words<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// For the contents and the quoted attributes of HTML and SVG.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// For a sentence or a table's cell of Markdown: no link, no emphasis, no code, no HTML, and
/// the cell does not end.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// A field of CSV. A spreadsheet takes what begins like a formula for one, unless an
/// apostrophe stands before it. Figures stay as they are.
pub fn csv(field: &str) -> String {
    let formula = field.trim_start().starts_with(['=', '+', '-', '@']);
    let mut shown = line(field);
    if formula && field.parse::<f64>().is_err() {
        shown.insert(0, '\'');
    }
    if shown.contains([',', '"']) { format!("\"{}\"", shown.replace('"', "\"\"")) } else { shown }
}

/// For a whole JSON document: what steers a terminal is written as an escape, which reads as
/// the same value. (A writer of JSON leaves some of these as they are.)
pub fn json(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for c in document.chars() {
        match c {
            // Between the values.
            '\n' | '\t' => escaped.push(c),
            c if steers(c) => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What was probably meant by a name that does not exist, as a question: the most alike of what
/// exists, or all that begin so. `None` where nothing is alike.
pub fn alike<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Below this likeness (0 to 1) a guess is none.
    const ALIKE: f64 = 0.75;
    let known: Vec<&str> = known.into_iter().collect();
    let mut begin: Vec<&str> =
        known.iter().copied().filter(|name| name.starts_with(wrong) && !wrong.is_empty()).collect();
    begin.dedup();
    if begin.len() > 1 {
        return Some(format!("did you mean one of {}?", begin.join(", ")));
    }
    let nearest = known
        .iter()
        .map(|name| (strsim::jaro_winkler(&wrong.to_lowercase(), &name.to_lowercase()), *name))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 >= ALIKE).then(|| format!("did you mean `{}`?", nearest.1))
}

/// What was probably meant, as [`alike`], else the list of what exists. `None` where nothing
/// exists.
pub fn meant<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.dedup();
    if known.is_empty() {
        return None;
    }
    alike(wrong, known.iter().copied()).or_else(|| Some(format!("there is: {}", known.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let words = ["sh", "-c", "date > {target}/now", "{target}/f", "{a,b}", "it's", ""];
        let typed = r"sh -c 'date > {target}/now' {target}/f '{a,b}' 'it'\''s' ''";
        assert_eq!(shell_words(&words), typed);
    }

    #[test]
    fn the_nearest_name_or_all_of_them() {
        let known = ["ext3-index", "reiserfs", "xfs"];
        assert_eq!(meant("rieserfs", known).unwrap(), "did you mean `reiserfs`?");
        assert_eq!(meant("zfq!", ["ext2", "jfs"]).unwrap(), "there is: ext2, jfs");
        assert_eq!(meant("x", []), None);
        let disks = ["ideal", "samsung-pm883", "samsung-970-pro"];
        let several = "did you mean one of samsung-pm883, samsung-970-pro?";
        assert_eq!(meant("samsung", disks).unwrap(), several);
    }

    #[test]
    fn nothing_steers_a_terminal() {
        let foreign = "a\u{1b}]0;title\u{7}b\u{9b}2J\u{202e}\r\n\tc";
        assert_eq!(line(foreign), "a ]0;title b 2J    c");
        assert_eq!(lines("a\u{1b}[31m\n\tb\r"), "a [31m\n\tb ");
        assert_eq!(line("naïve 日本語"), "naïve 日本語");
    }

    #[test]
    fn formats_take_it_for_text() {
        let link = "[x](javascript:alert(1)) `rm` <b onclick='a'>|\u{1b}";
        assert_eq!(
            markdown(link),
            "\\[x\\](javascript:alert(1)) \\`rm\\` &lt;b onclick='a'&gt;\\| "
        );
        assert_eq!(html("<a href=\"'&"), "&lt;a href=&quot;&#39;&amp;");
        assert_eq!(csv("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
        assert_eq!(csv(" \t@sum"), "'  @sum");
        assert_eq!(csv("-3.5"), "-3.5");
        assert_eq!(csv("ext4"), "ext4");
        let name = "\"a\u{9b}b\u{202e}\"\n";
        assert_eq!(json(name), "\"a\\u009bb\\u202e\"\n");
    }

    proptest::proptest! {
        #[test]
        fn no_control_character_is_left(text: String) {
            for shown in [line(&text), html(&text), markdown(&text), csv(&text)] {
                proptest::prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
            }
        }

        #[test]
        fn markdown_leaves_no_link_and_html_no_tag(text: String) {
            let escaped = markdown(&text);
            let mut before = ' ';
            for c in escaped.chars() {
                proptest::prop_assert!(!matches!(c, '[' | '`' | '|') || before == '\\');
                // A backslash that is itself escaped escapes nothing.
                before = if before == '\\' && c == '\\' { ' ' } else { c };
            }
            proptest::prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
        }
    }
}
