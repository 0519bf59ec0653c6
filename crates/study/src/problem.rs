//! What is wrong with a study's files.

use std::fmt;

/// One thing that is wrong, where, and what was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as a path from where the study was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if that can be said.
    pub suggestion: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; {suggestion}"),
            None => Ok(()),
        }
    }
}

/// `did you mean …?` with the most alike of what exists, else the list of it.
pub(crate) fn suggest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Below this likeness (0 to 1) a guess is none.
    const ALIKE: f64 = 0.75;
    let mut known: Vec<&str> = known.into_iter().collect();
    known.dedup();
    let nearest = known
        .iter()
        .map(|name| (strsim::jaro_winkler(&wrong.to_lowercase(), &name.to_lowercase()), *name))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    if nearest.0 >= ALIKE {
        return Some(format!("did you mean `{}`?", nearest.1));
    }
    Some(format!("there is: {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_or_all_of_them() {
        let known = ["ext3-index", "reiserfs", "xfs"];
        assert_eq!(suggest("rieserfs", known).unwrap(), "did you mean `reiserfs`?");
        assert_eq!(suggest("zfq!", ["ext2", "jfs"]).unwrap(), "there is: ext2, jfs");
        assert_eq!(suggest("x", []), None);
    }
}
