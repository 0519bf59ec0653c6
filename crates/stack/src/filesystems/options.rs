//! A contender's options, resolved against what a driver takes: the preset first, the
//! contender's own over it, each name and value checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use units::Bytes;

use super::vocabulary::{ATIME, JOURNAL, READ_AHEAD, SCHEDULER, SYNC, Word};
use super::{Description, OptionDescription, Request};
use crate::{Contender, Durability, Refusal};

/// Options of every filesystem that sits on a disk, beside its own.
pub static QUEUE_OPTIONS: &[OptionDescription] = &[
    SCHEDULER.here("of each disk of the layout; default: the machine's setting"),
    READ_AHEAD.here("whole pages of 4 KiB up to 1 GiB, 0 for none; default: the machine's setting"),
];

/// Options by meaning and raw ones, checked for their names and the syntax of their values. The
/// driver checks which combinations the filesystem supports.
#[derive(Debug)]
pub(super) struct Options<'a> {
    description: &'static Description,
    contender: &'a Contender,
    values: BTreeMap<&'static str, Value>,
    /// Raw mkfs arguments: the preset's, then the contender's.
    pub(super) mkfs: Vec<String>,
}

#[derive(Debug)]
struct Value {
    text: String,
    meaning: Meaning,
}

#[derive(Debug)]
enum Meaning {
    Size(Bytes),
    Number(u64),
    Word,
}

/// Where the journal lies once options and layout agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    Internal,
    External,
    None,
}

impl<'a> Options<'a> {
    /// Reads the contender's options.
    ///
    /// # Errors
    /// An unknown preset, a name the filesystem does not take, a value it does not take.
    pub(super) fn of(
        description: &'static Description,
        contender: &'a Contender,
    ) -> Result<Options<'a>, Refusal> {
        let mut options =
            Options { description, contender, values: BTreeMap::new(), mkfs: Vec::new() };
        if let Some(name) = &contender.preset {
            let Some(preset) = description.presets.iter().find(|preset| preset.name == name) else {
                let known = description.presets.iter().map(|preset| preset.name);
                let what = format!("{}@{name}", description.name);
                return Err(Refusal::new(what, "it has no such preset")
                    .with_next(listed("its presets are", known)));
            };
            for (name, value) in preset.options {
                options.set(name, value)?;
            }
            options.mkfs.extend(preset.mkfs.iter().map(|&arg| arg.to_owned()));
        }
        for (name, value) in &contender.options {
            options.set(name, value)?;
        }
        super::raw::check(contender)?;
        options.mkfs.extend(contender.mkfs.iter().cloned());
        Ok(options)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), Refusal> {
        let what = format!("{}: {name}={text}", self.description.name);
        let on_disks = if self.description.needs_device { QUEUE_OPTIONS } else { &[] };
        let taken = self.description.options.iter().chain(on_disks);
        let Some(option) = taken.clone().find(|option| option.name == name) else {
            let known = taken.map(|option| option.name);
            let rule = match super::vocabulary::word(name) {
                Some(word) => {
                    format!("{} has no such option ({})", self.description.name, word.meaning)
                }
                None => "fstrial has no option of that name".to_owned(),
            };
            let alike = text::alike(name, known.clone());
            // An option of another filesystem is not a typing error.
            let next =
                alike.filter(|_| super::vocabulary::word(name).is_none()).unwrap_or_else(|| {
                    let takes = listed("it takes", known);
                    match super::vocabulary::word(name) {
                        Some(_) => takes,
                        None => format!(
                            "a mount option of the kernel is written mount={name}={text}, a \
                             feature of mkfs behind its flag, as `-O {name}`; {takes}"
                        ),
                    }
                });
            return Err(Refusal::new(what, rule).with_next(next));
        };
        let meaning = read(option, text).map_err(|rule| {
            Refusal::new(what, rule).with_next(format!("{name} takes {}", option.values))
        })?;
        self.values.insert(option.name, Value { text: text.to_owned(), meaning });
        Ok(())
    }

    /// The contender these are the options of.
    pub(super) fn contender(&self) -> &'a Contender {
        self.contender
    }

    /// The size given for a word.
    pub(super) fn size(&self, word: &Word) -> Option<Bytes> {
        match self.values.get(word.name)?.meaning {
            Meaning::Size(size) => Some(size),
            Meaning::Number(_) | Meaning::Word => None,
        }
    }

    /// The number given for a word.
    pub(super) fn number(&self, word: &Word) -> Option<u64> {
        match self.values.get(word.name)?.meaning {
            Meaning::Number(number) => Some(number),
            Meaning::Size(_) | Meaning::Word => None,
        }
    }

    /// The value given for a word, as it was written.
    pub(super) fn text(&self, word: &Word) -> Option<&str> {
        Some(self.values.get(word.name)?.text.as_str())
    }

    /// Whether a word is switched on or off.
    pub(super) fn switch(&self, word: &Word) -> Option<bool> {
        Some(self.text(word)? == "on")
    }

    /// The refusal of the value given for `word`.
    pub(super) fn refuse(&self, word: &Word, rule: impl Into<String>) -> Refusal {
        let name = self.description.name;
        let what = match self.text(word) {
            Some(value) => format!("{name}: {}={value}", word.name),
            None => format!("{name}: {}", word.name),
        };
        Refusal::new(what, rule)
    }

    /// A size that is a power of two within limits, both included.
    pub(super) fn power_of_two(
        &self,
        word: &Word,
        least: u64,
        most: u64,
    ) -> Result<Option<Bytes>, Refusal> {
        match self.size(word) {
            Some(size) if !size.0.is_power_of_two() || size.0 < least || size.0 > most => {
                let rule = format!("a power of two from {} to {}", Bytes(least), Bytes(most));
                Err(self.refuse(word, rule))
            }
            size => Ok(size),
        }
    }

    /// A number within limits, both included.
    pub(super) fn number_within(
        &self,
        word: &Word,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, Refusal> {
        match self.number(word) {
            Some(number) if number < least || number > most => {
                Err(self.refuse(word, format!("a number from {least} to {most}")))
            }
            number => Ok(number),
        }
    }

    /// Where the journal lies. `disk` says whether the layout has a disk for it: if so, an
    /// external journal is meant, and leaving the disk unused is an error.
    pub(super) fn placement(
        &self,
        word: &Word,
        takes_external: bool,
        disk: bool,
    ) -> Result<Placement, Refusal> {
        let name = self.description.name;
        if disk && !takes_external {
            let what = format!("{name} on layout {}", self.contender.layout);
            return Err(Refusal::new(what, format!("{name} cannot keep its journal elsewhere"))
                .with_next("use the same layout without `+journal`"));
        }
        match self.text(word) {
            Some("external") if !disk => Err(self
                .refuse(word, "the layout has no disk for the journal")
                .with_next(format!("give it one: layout={}+journal", self.contender.layout))),
            Some("internal" | "none") if disk => Err(self
                .refuse(word, "the layout's journal disk would stay unused")
                .with_next("use the same layout without `+journal`")),
            Some("none") => Ok(Placement::None),
            _ if disk => Ok(Placement::External),
            _ => Ok(Placement::Internal),
        }
    }

    /// For a filesystem that has no external journal.
    pub(super) fn no_journal_disk(&self, request: &Request<'_>) -> Result<(), Refusal> {
        self.placement(&JOURNAL, false, request.journal.is_some()).map(|_| ())
    }

    /// Mount options: the access time first, the driver's own, synchronous writing, and the
    /// raw ones last.
    pub(super) fn mount(&self, own: Vec<String>) -> Vec<String> {
        let raw = &self.contender.mount;
        let mut options = Vec::new();
        let raw_atime = ["noatime", "relatime", "strictatime", "atime", "norelatime"];
        if self.text(&ATIME).is_some() || !raw.iter().any(|raw| raw_atime.contains(&raw.as_str())) {
            options.push(match self.text(&ATIME) {
                Some("relatime") => "relatime".to_owned(),
                Some("strict") => "strictatime".to_owned(),
                _ => "noatime".to_owned(),
            });
        }
        options.extend(own);
        if self.switch(&SYNC) == Some(true) {
            options.push("sync".to_owned());
        }
        options.extend(raw.iter().cloned());
        options
    }

    /// The durability that these mount options promise, raw ones included.
    pub(super) fn durability(&self, mount: &[String]) -> Durability {
        Durability::of_mount_options(self.description.kernel_type, &mount.join(","))
    }

    /// The device of the filesystem, checked to be there and large enough.
    pub(super) fn device<'r>(
        &self,
        request: &'r Request<'_>,
        minimum: Bytes,
    ) -> Result<&'r str, Refusal> {
        let name = self.description.name;
        if !request.members.is_empty() && !matches!(name, "btrfs" | "zfs") {
            let what = format!("{name} on layout {}", self.contender.layout);
            return Err(Refusal::new(what, format!("{name} takes one device"))
                .with_next("an md layout makes one of several: layout=raid1"));
        }
        let device = text(name, request.data.as_deref())?
            .ok_or_else(|| Refusal::new(name, "it needs a block device"))?;
        if request.size < minimum {
            let what = format!("{} on a device of {}", self.contender.name, request.size);
            let rule = format!("with these options {name} needs at least {minimum}");
            return Err(Refusal::new(what, rule).with_next("make the device larger"));
        }
        Ok(device)
    }

    /// The device of an external journal, if the layout has one.
    pub(super) fn journal<'r>(&self, request: &'r Request<'_>) -> Result<Option<&'r str>, Refusal> {
        text(self.description.name, request.journal.as_deref())
    }
}

fn text<'r>(name: &str, path: Option<&'r Path>) -> Result<Option<&'r str>, Refusal> {
    let Some(path) = path else { return Ok(None) };
    path.to_str().map(Some).ok_or_else(|| {
        let what = format!("{name} on {}", PathBuf::from(path).display());
        Refusal::new(what, "the device's name is not UTF-8")
    })
}

fn listed(head: &str, names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { format!("{head}: none") } else { format!("{head}: {}", names.join(", ")) }
}

fn read(option: &OptionDescription, text: &str) -> Result<Meaning, String> {
    match option.values {
        "SIZE" => text.parse().map(Meaning::Size).map_err(|error| format!("{error}")),
        "NUMBER" => {
            text.parse().map(Meaning::Number).map_err(|_| "it is not a whole number".to_owned())
        }
        words if words.split('|').any(|word| word == text) => Ok(Meaning::Word),
        _ => Err("there is no such value".to_owned()),
    }
}
