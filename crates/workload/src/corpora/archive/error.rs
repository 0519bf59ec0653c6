//! Why an archive cannot be unpacked.

use std::io;

/// Why an archive cannot be unpacked. Completes "ARCHIVE cannot be unpacked: …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// It begins with no header.
    #[error("{}", match format {
        Some(format) => format!("it is {format}, not a tar"),
        None => "it is no tar".to_owned(),
    })]
    NoTar {
        /// What it is, where that is known.
        format: Option<&'static str>,
    },
    /// It ends too early.
    #[error("it is cut off{}", within(after, "in or after"))]
    CutOff {
        /// The member last seen.
        after: Option<String>,
    },
    /// Its headers contradict the format.
    #[error("it is damaged{}: {why}", within(after, "after"))]
    Damaged {
        /// The member last seen.
        after: Option<String>,
        /// What is wrong.
        why: String,
    },
    /// One of its members cannot be unpacked.
    #[error("member {member}: {why}")]
    Member {
        /// Its name.
        member: String,
        /// What is wrong with it.
        why: String,
    },
}

fn within(member: &Option<String>, how: &str) -> String {
    member.as_ref().map_or_else(String::new, |member| format!(" {how} member {member}"))
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> io::Error {
        match error {
            ArchiveError::Unreadable(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
        }
    }
}
