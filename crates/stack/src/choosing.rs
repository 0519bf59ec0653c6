//! How a contender is written on the command line, and which contenders are possible.
//!
//! ```text
//! ext4                                    the filesystem with today's defaults
//! ext3@2004                               a named preset: the feature set of a time
//! ext3:dir_index=off:journal_size=256M    options by meaning
//! xfs:mkfs=-m reflink=0:mount=logbsize=256k   raw options
//! ext4:nobarrier:commit=60                names from manual pages, where ours is another
//! ext4:scheduler=bfq:read_ahead=1M        options of the disks' queues
//! old=ext3@2004                           a name of one's own for the tables
//! xfs:layout=single+journal               a disk of its own for the journal
//! xfs/ext/sw=xfs:layout=raid10x6+journal  six disks in md RAID 10, and one for the journal
//! ```
//! A layout is a name, `xN` for its number of disks, and `+name=value` for each further
//! parameter; `+journal` is short for `+journal=external`.
//!
//! Contenders are separated by commas; a comma inside raw options is written `\,` and a
//! colon `\:`. Anything more complicated goes into TOML, where the same fields have the same
//! names.

use std::path::PathBuf;

use units::Bytes;

use crate::filesystems::aliases;
use crate::layouts::LayoutChoice;
use crate::{Contender, Refusal, filesystems, layouts};

/// What is wrong with a contender as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContenderError {
    /// No such filesystem.
    #[error("there is no filesystem `{name}`; {meant}")]
    UnknownFilesystem {
        /// The name given.
        name: String,
        /// What was probably meant, or the names that exist.
        meant: String,
    },
    /// Not of the form `key=value`.
    #[error("contender `{contender}`: `{part}` is not of the form option=value; {next}")]
    NotAnOption {
        /// The contender as written.
        contender: String,
        /// The part that is wrong.
        part: String,
        /// What was probably meant, or how to pass it on.
        next: String,
    },
    /// A name from a manual page that does nothing any more.
    #[error("contender `{contender}`: `{part}`: {why}")]
    Nothing {
        /// The contender as written.
        contender: String,
        /// The part.
        part: String,
        /// Why.
        why: String,
    },
    /// The layout is not one, or breaks a rule.
    #[error("contender `{contender}`: {refusal}")]
    Layout {
        /// The contender as written.
        contender: String,
        /// What is wrong with it.
        refusal: Refusal,
    },
    /// Two contenders with one name.
    #[error("two contenders are called `{0}`; name one of them: NEWNAME={0}")]
    Duplicate(String),
    /// An empty list or an empty place in it.
    #[error("an empty contender in `{0}`")]
    Empty(String),
}

/// Manual pages separate options by commas, which here separate contenders: what is no filesystem,
/// and like none, is probably an option of the one before.
fn perhaps_an_option(
    error: ContenderError,
    before: Option<&Contender>,
    part: &str,
) -> ContenderError {
    let ContenderError::UnknownFilesystem { name, meant } = error else { return error };
    let known = filesystems::FILESYSTEMS.iter().map(|fs| fs.describe().name);
    let meant = match before {
        Some(before) if text::alike(&name, known).is_none() => format!(
            "if it belongs to the contender before it, write a colon in place of the comma, or \\, \
             for a comma inside an option: {}\\,{part}",
            before.name
        ),
        _ => meant,
    };
    ContenderError::UnknownFilesystem { name, meant }
}

impl Contender {
    /// Reads a comma-separated list.
    ///
    /// # Errors
    /// On anything malformed, an unknown filesystem or a name given twice. The driver checks later
    /// whether the filesystem takes the options.
    pub fn parse_list(text: &str) -> Result<Vec<Contender>, ContenderError> {
        let mut contenders: Vec<Contender> = Vec::new();
        for part in split_unescaped(text, ',') {
            if part.trim().is_empty() {
                return Err(ContenderError::Empty(text.to_owned()));
            }
            let contender = Contender::parse(part.trim())
                .map_err(|error| perhaps_an_option(error, contenders.last(), part.trim()))?;
            if contenders.iter().any(|other| other.name == contender.name) {
                return Err(ContenderError::Duplicate(contender.name));
            }
            contenders.push(contender);
        }
        Ok(contenders)
    }

    /// Checks every rule of the filesystem and the layout with placeholder devices, so that an
    /// impossible request is refused before any device is touched. Only the size of the devices is
    /// checked later.
    ///
    /// # Errors
    /// The first rule broken, with the next step.
    pub fn validate(&self) -> Result<(), Refusal> {
        let filesystem = filesystems::find(&self.filesystem).ok_or_else(|| {
            Refusal::new(
                self.name.as_str(),
                format!("there is no filesystem `{}`", self.filesystem),
            )
            .with_next("`fstrial list filesystems` shows what there is")
        })?;
        let layout = self.layout.layout()?;
        let roles = layout.disks(&self.layout)?;
        if !filesystem.describe().needs_device && self.layout != LayoutChoice::default() {
            let what = format!("{} on layout {}", self.filesystem, self.layout);
            return Err(Refusal::new(what, "it sits on no disk").with_next("leave the layout out"));
        }
        if let Some(able) = layout.describe().filesystems
            && !able.contains(&self.filesystem.as_str())
        {
            let what = format!("{} on layout {}", self.filesystem, self.layout);
            return Err(Refusal::new(what, format!("only {} can", able.join(", "))));
        }
        let disks: Vec<PathBuf> =
            (0..roles.len()).map(|disk| PathBuf::from(format!("/dev/disk{disk}"))).collect();
        const UUID: &str = "00000000-0000-4000-8000-000000000000";
        let plan = layout.plan(&layouts::Request {
            choice: &self.layout,
            disks: &disks,
            uuid: UUID.to_owned(),
        })?;
        let needs_device = filesystem.describe().needs_device;
        filesystems::Queue::of(filesystem, self)?;
        filesystem.plan(&filesystems::Request {
            contender: self,
            data: needs_device.then_some(plan.data),
            members: plan.members,
            journal: plan.journal,
            size: Bytes::from_gib(1 << 10),
            uuid: UUID.to_owned(),
            hash_seed: UUID.to_owned(),
        })?;
        Ok(())
    }

    /// Checks that data disks of `each` are large enough for the filesystem on its layout.
    ///
    /// # Errors
    /// When they are too small, with what is needed.
    pub fn fits(&self, each: Bytes) -> Result<(), Refusal> {
        let Some(filesystem) = filesystems::find(&self.filesystem) else { return Ok(()) };
        if !filesystem.describe().needs_device {
            return Ok(());
        }
        let least = filesystem.minimum_size(self)?;
        let size = self.layout.layout()?.device_size(&self.layout, each)?;
        if size >= least {
            return Ok(());
        }
        let what = format!("{} on disks of {each}", self.name);
        let rule = format!(
            "{} needs {least} with these options, layout {} gives it {size} at most",
            self.filesystem, self.layout
        );
        Err(Refusal::new(what, rule).with_next("a larger --size"))
    }

    fn parse(text: &str) -> Result<Contender, ContenderError> {
        let mut parts = with_levels(split_unescaped(text, ':')).into_iter();
        let head = parts.next().unwrap_or_default();
        let (own_name, filesystem) = match head.split_once('=') {
            Some((name, filesystem)) => (Some(name.to_owned()), filesystem.to_owned()),
            None => (None, head),
        };
        let (filesystem, preset) = match filesystem.split_once('@') {
            Some((filesystem, preset)) => (filesystem.to_owned(), Some(preset.to_owned())),
            None => (filesystem, None),
        };
        let Some(found) = filesystems::find(&filesystem) else {
            let known = filesystems::FILESYSTEMS.iter().map(|fs| fs.describe().name);
            let meant = text::meant(&filesystem, known).unwrap_or_default();
            return Err(ContenderError::UnknownFilesystem { name: filesystem, meant });
        };
        let mut contender = Contender::plain(&filesystem);
        contender.preset = preset;
        contender.name = own_name.unwrap_or_else(|| unescape(text));
        for part in parts {
            contender.understand(found, &part, text)?;
        }
        Ok(contender)
    }

    /// Adds a part of what is written after the filesystem.
    fn understand(
        &mut self,
        filesystem: &dyn filesystems::Filesystem,
        part: &str,
        text: &str,
    ) -> Result<(), ContenderError> {
        let plain = unescape(part);
        let meant = aliases::meant(filesystem, &plain).map_err(|why| ContenderError::Nothing {
            contender: text.to_owned(),
            part: plain.clone(),
            why: why.to_owned(),
        })?;
        if let Some(meant) = meant {
            self.options.extend(meant.options);
            self.mount.extend(meant.mount);
            self.mkfs.extend(meant.mkfs);
            return Ok(());
        }
        let Some((key, value)) = part.split_once('=') else {
            let known = aliases::names(filesystem);
            let known = known.chain(filesystem.describe().options.iter().map(|it| it.name));
            let of_others = filesystems::FILESYSTEMS
                .iter()
                .find(|other| matches!(aliases::meant(**other, &plain), Ok(Some(_))));
            let next = match (of_others, text::alike(&plain, known)) {
                (Some(other), _) => format!("{} has that option", other.describe().name),
                (None, Some(alike)) => {
                    format!("{alike} A mount option of the kernel is written mount={plain}")
                }
                (None, None) => {
                    format!("a mount option of the kernel: mount={plain}, a flag of mkfs: mkfs=…")
                }
            };
            return Err(ContenderError::NotAnOption {
                contender: text.to_owned(),
                part: plain,
                next,
            });
        };
        let value = unescape(value);
        match key {
            "mkfs" => self.mkfs.extend(value.split_whitespace().map(str::to_owned)),
            "mount" => {
                for option in value.split(',') {
                    if let Some(why) = aliases::feature_as_mount(filesystem, option) {
                        let part = format!("mount={option}");
                        return Err(ContenderError::Nothing {
                            contender: text.to_owned(),
                            part,
                            why,
                        });
                    }
                    self.mount.push(option.to_owned());
                }
            }
            "layout" => {
                self.layout = LayoutChoice::parse(&value).map_err(|refusal| {
                    ContenderError::Layout { contender: text.to_owned(), refusal }
                })?;
            }
            _ => {
                self.options.insert(key.to_owned(), value);
            }
        }
        Ok(())
    }
}

/// Splits at each `separator` that is not preceded by a backslash; the parts keep their escapes.
fn split_unescaped(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == separator && !escaped {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    parts
}

/// A level belongs to the algorithm before it: `compress=zstd:3`.
fn with_levels(parts: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for part in parts {
        let is_level = !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        match joined.last_mut().filter(|last| is_level && last.starts_with("compress")) {
            Some(last) => *last += &format!(":{part}"),
            None => joined.push(part),
        }
    }
    joined
}

fn unescape(text: &str) -> String {
    text.replace("\\,", ",").replace("\\:", ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Contender {
        Contender::parse_list(text).unwrap().remove(0)
    }

    #[test]
    fn reads_what_the_documentation_shows() {
        let names: Vec<_> = Contender::parse_list("ext4,tmpfs")
            .unwrap()
            .into_iter()
            .map(|contender| contender.name)
            .collect();
        assert_eq!(names, ["ext4", "tmpfs"]);
        let tuned = one("ext4:dir_index=off:journal_size=256M");
        assert_eq!(tuned.name, "ext4:dir_index=off:journal_size=256M");
        assert_eq!(tuned.options["journal_size"], "256M");
        let raw = one(r"fast=ext4@2011:mkfs=-T news:mount=data=writeback\,noatime");
        assert_eq!(raw.name, "fast");
        assert_eq!(raw.preset.as_deref(), Some("2011"));
        assert_eq!(raw.mkfs, ["-T", "news"]);
        assert_eq!(raw.mount, ["data=writeback", "noatime"]);
    }

    #[test]
    fn errors_say_what_and_what_else() {
        let message = |text| Contender::parse_list(text).unwrap_err().to_string();
        assert!(message("ext5").starts_with("there is no filesystem `ext5`"));
        assert!(message("xfs,ext5").contains("did you mean"), "{}", message("xfs,ext5"));
        let pages = message("ext4:-O ^metadata_csum,^dir_index");
        assert!(pages.ends_with(r"ext4:-O ^metadata_csum\,^dir_index"), "{pages}");
        assert!(message("ext4,,tmpfs").contains("empty contender"));
        assert!(message("ext4,ext4").contains("NEWNAME=ext4"));
        assert!(message("ext4:barriers").contains("option=value"));
        assert!(message("ext4:nodatacow").ends_with("btrfs has that option"));
        assert!(message("ext4:dax").ends_with("mount=dax"), "{}", message("ext4:dax"));
    }

    #[test]
    fn toml_and_command_line_carry_the_same() {
        let contender = one("old=ext4@2011:dir_index=off");
        let json = serde_json::to_string(&contender).unwrap();
        assert_eq!(serde_json::from_str::<Contender>(&json).unwrap(), contender);
    }
}
