//! The studies that ship with fstrial: one line each.

/// A study in the binary.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Its name, and its folder's.
    pub name: &'static str,
    /// Its files: name and text.
    pub files: &'static [(&'static str, &'static str)],
}

/// The files of a folder below `studies/`; files beyond the usual three (machine profiles) are
/// named.
macro_rules! folder {
    ($name:literal $(, $further:literal)*) => {
        Shipped {
            name: $name,
            files: &[
                ("study.toml", include_str!(concat!("../../../studies/", $name, "/study.toml"))),
                (
                    "published.toml",
                    include_str!(concat!("../../../studies/", $name, "/published.toml")),
                ),
                ("claims.toml", include_str!(concat!("../../../studies/", $name, "/claims.toml"))),
                $(($further, include_str!(concat!("../../../studies/", $name, "/", $further))),)*
            ],
        }
    };
}

/// Every shipped study, oldest first.
pub const STUDIES: &[Shipped] = &[
    folder!("seminar-2001", "files.toml"),
    folder!("maildir-2004", "server.toml", "raid.toml"),
    folder!("maildir-2004-full", "server.toml"),
    folder!("boot-2005"),
    folder!("zfs-2007", "array.toml"),
    folder!("video-2011", "server.toml"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, load};

    #[test]
    fn every_shipped_study_is_sound_and_named_like_its_folder() {
        for shipped in STUDIES {
            let source = Source::find(shipped.name).unwrap();
            match load(&source) {
                Ok(study) => assert_eq!(study.name, shipped.name),
                Err(problems) => panic!(
                    "{}:\n{}",
                    shipped.name,
                    problems.iter().map(|p| format!("{p}\n")).collect::<String>()
                ),
            }
        }
    }
}
