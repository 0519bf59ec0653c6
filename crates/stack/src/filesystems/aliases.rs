//! Mount options and mkfs flags as their manual pages write them, each with the option of ours that
//! does it. A driver lists its own in its file; [`COMMON`] are every filesystem's.

use super::{Filesystem, QUEUE_OPTIONS};

/// A name from a manual page. One that ends with `=` or a blank is followed by a value.
#[derive(Debug)]
pub struct Alias {
    written: &'static str,
    means: Means,
}

#[derive(Debug)]
enum Means {
    /// These options of ours.
    Options(&'static [(&'static str, &'static str)]),
    /// The option with this name, its value followed by this unit.
    Value(&'static str, &'static str),
    /// The option with this name and, behind a `:`, the one with the other.
    Leveled(&'static str, &'static str),
    /// A mount option that is passed on as it is.
    Mount,
    /// A flag of mkfs, each of whose items, separated by commas, is looked up in this list; the
    /// others are passed on.
    Items(&'static [Alias]),
    /// Nothing: why, and what to write.
    Nothing(&'static str),
}

/// What a name from a manual page means.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Meant {
    /// Options of ours, with their values.
    pub(crate) options: Vec<(String, String)>,
    /// Mount options.
    pub(crate) mount: Vec<String>,
    /// Arguments of mkfs.
    pub(crate) mkfs: Vec<String>,
}

/// `nodatacow`: these options of ours.
pub(super) const fn is(
    written: &'static str,
    options: &'static [(&'static str, &'static str)],
) -> Alias {
    Alias { written, means: Means::Options(options) }
}

/// `commit=`: an option of ours with the same value.
pub(super) const fn value(written: &'static str, option: &'static str) -> Alias {
    Alias { written, means: Means::Value(option, "") }
}

/// `size=` in MiB: an option of ours whose value has this unit.
pub(super) const fn value_in(
    written: &'static str,
    option: &'static str,
    unit: &'static str,
) -> Alias {
    Alias { written, means: Means::Value(option, unit) }
}

/// `compress-force=`: an algorithm and, behind a `:`, its level.
pub(super) const fn leveled(
    written: &'static str,
    option: &'static str,
    level: &'static str,
) -> Alias {
    Alias { written, means: Means::Leveled(option, level) }
}

/// `logbsize=`: a mount option for which there is no word of ours.
pub(super) const fn mount(written: &'static str) -> Alias {
    Alias { written, means: Means::Mount }
}

/// `-O `: a flag of mkfs with a list.
pub(super) const fn items(written: &'static str, known: &'static [Alias]) -> Alias {
    Alias { written, means: Means::Items(known) }
}

/// A name that does nothing there any more.
pub(super) const fn nothing(written: &'static str, why: &'static str) -> Alias {
    Alias { written, means: Means::Nothing(why) }
}

/// What every filesystem of the kernel takes.
static COMMON: &[Alias] = &[
    is("noatime", &[("atime", "noatime")]),
    is("relatime", &[("atime", "relatime")]),
    is("strictatime", &[("atime", "strict")]),
    is("atime", &[("atime", "strict")]),
    is("sync", &[("sync", "on")]),
    is("async", &[("sync", "off")]),
    mount("nodiratime"),
    mount("diratime"),
    mount("lazytime"),
    mount("nolazytime"),
    mount("discard"),
    mount("nodiscard"),
    mount("discard="),
    mount("user_xattr"),
    mount("acl"),
    mount("noacl"),
    mount("nosuid"),
    mount("nodev"),
    mount("noexec"),
    is("defaults", &[]),
    is("rw", &[]),
    nothing("ro", "nothing could be written to it"),
];

impl Alias {
    /// What follows its name, if `text` is it.
    fn matches<'t>(&self, text: &'t str) -> Option<&'t str> {
        let rest = text.strip_prefix(self.written)?;
        let takes = self.written.ends_with(['=', ' ']);
        (takes != rest.is_empty()).then_some(rest)
    }

    fn meant(&self, text: &str, rest: &str, meant: &mut Meant) -> Result<(), &'static str> {
        let mut option = |name: &str, value: String| meant.options.push((name.to_owned(), value));
        match self.means {
            Means::Options(options) => {
                options.iter().for_each(|(name, value)| option(name, (*value).to_owned()));
            }
            Means::Value(name, unit) => option(name, format!("{rest}{unit}")),
            Means::Leveled(name, level) => match rest.split_once(':') {
                Some((algorithm, effort)) => {
                    option(name, algorithm.to_owned());
                    option(level, effort.to_owned());
                }
                None if rest == "no" || rest == "none" => option(name, "off".to_owned()),
                None => option(name, rest.to_owned()),
            },
            Means::Mount => meant.mount.push(text.to_owned()),
            Means::Items(known) => {
                for item in rest.split(',') {
                    match known.iter().find_map(|alias| Some((alias, alias.matches(item)?))) {
                        Some((alias, rest)) => alias.meant(item, rest, meant)?,
                        None => {
                            meant.mkfs.extend([self.written.trim().to_owned(), item.to_owned()])
                        }
                    }
                }
            }
            Means::Nothing(why) => return Err(why),
        }
        Ok(())
    }
}

/// What a part of a contender means, if it is a name from a manual page and not an option of ours.
/// Other flags of mkfs are passed on.
///
/// # Errors
/// Why the name does nothing there.
pub(crate) fn meant(
    filesystem: &dyn Filesystem,
    part: &str,
) -> Result<Option<Meant>, &'static str> {
    let aliases = filesystem.aliases().iter().chain(COMMON);
    let mut found = Meant::default();
    let part = part.trim();
    let own = part.split_once('=').is_some_and(|(name, _)| {
        let options = filesystem.describe().options.iter().chain(QUEUE_OPTIONS);
        options.into_iter().any(|option| option.name == name)
    });
    for alias in aliases {
        // `barrier=0` is the kernel's, `barrier=off` ours.
        if own && alias.written != part {
            continue;
        }
        if let Some(rest) = alias.matches(part) {
            alias.meant(part, rest.trim(), &mut found)?;
            return Ok(Some(found));
        }
    }
    if let Some(feature) = feature(filesystem, part).filter(|_| !own) {
        return meant(filesystem, &feature);
    }
    let takes_value = |alias: &&Alias| alias.written.strip_suffix(' ') == Some(part);
    if filesystem.aliases().iter().any(|alias| takes_value(&alias)) {
        return Err("a value belongs behind this flag of mkfs, as its manual page has it");
    }
    if part.starts_with('-') {
        found.mkfs.extend(part.split_whitespace().map(str::to_owned));
        return Ok(Some(found));
    }
    Ok(None)
}

/// Why a mount option is none: it is a feature of mkfs.
pub(crate) fn feature_as_mount(filesystem: &dyn Filesystem, option: &str) -> Option<String> {
    let of_mkfs = feature(filesystem, option)?;
    // Some are both.
    let is_mount =
        |alias: &Alias| matches!(alias.means, Means::Mount) && alias.matches(option).is_some();
    let both = filesystem.aliases().iter().chain(COMMON).any(is_mount);
    let own = || filesystem.aliases().iter().any(|alias| alias.matches(option).is_some());
    (!both && !own())
        .then(|| format!("it is a feature of mkfs: '{}:{of_mkfs}'", filesystem.describe().name))
}

/// `-O ^has_journal` for `has_journal=off` or `^has_journal`: a feature of mkfs without its flag.
fn feature(filesystem: &dyn Filesystem, part: &str) -> Option<String> {
    let (name, on) = match part.split_once('=') {
        Some((name, "on" | "1" | "yes")) => (name, true),
        Some((name, "off" | "0" | "no")) => (name, false),
        Some(_) => return None,
        None => (part.trim_start_matches('^'), !part.starts_with('^')),
    };
    filesystem.aliases().iter().find_map(|alias| {
        let Means::Items(items) = alias.means else { return None };
        let known = items.iter().any(|item| item.written.trim_start_matches('^') == name);
        let sign = if on { "" } else { "^" };
        known.then(|| format!("{}{sign}{name}", alias.written))
    })
}

/// The names that a filesystem takes beside its options, for a hint.
pub(crate) fn names(filesystem: &dyn Filesystem) -> impl Iterator<Item = &'static str> {
    filesystem.aliases().iter().chain(COMMON).map(|alias| alias.written.trim_end_matches('='))
}

#[cfg(test)]
mod tests {
    use crate::{Contender, FILESYSTEMS};

    fn one(text: &str) -> Contender {
        Contender::parse_list(text).unwrap_or_else(|error| panic!("{text}: {error}")).remove(0)
    }

    #[test]
    fn what_manual_pages_write_is_understood() {
        for (written, option, expected) in [
            ("btrfs:nodatacow", "copy_on_write", "off"),
            ("btrfs:compress-force=zstd:3", "compression_level", "3"),
            ("btrfs:compress-force=zstd:3:noatime", "compression", "zstd"),
            ("btrfs:-n 32k", "node_size", "32k"),
            ("btrfs:-m single", "metadata_copies", "1"),
            ("ext4:nobarrier", "barrier", "off"),
            ("ext4:barrier=0", "barrier", "off"),
            ("ext4:barrier=off", "barrier", "off"),
            ("ext4:commit=60", "commit_interval", "60"),
            ("ext4:-O ^has_journal", "journal", "none"),
            ("ext4:has_journal=off", "journal", "none"),
            ("ext4:^has_journal", "journal", "none"),
            ("ext4:-J size=64", "journal_size", "64M"),
            ("ext4:relatime", "atime", "relatime"),
            ("xfs:-m reflink=0", "reflink", "off"),
            ("xfs:-d agcount=8", "allocation_groups", "8"),
            ("f2fs:noinline_data", "inline_data", "off"),
            ("reiserfs:notail", "tail_packing", "off"),
            ("nilfs2:nobarrier", "barrier", "off"),
        ] {
            let contender = one(written);
            assert_eq!(
                contender.options.get(option).map(String::as_str),
                Some(expected),
                "{written}"
            );
            assert_eq!(contender.name, written);
            contender.validate().unwrap_or_else(|refusal| panic!("{written}: {refusal}"));
        }
    }

    #[test]
    fn what_has_no_word_of_ours_is_passed_on() {
        let xfs = one("xfs:logbsize=256k:inode64:-m finobt=0\\,reflink=0");
        assert_eq!(xfs.mount, ["logbsize=256k", "inode64"]);
        assert_eq!(
            (xfs.mkfs, xfs.options["reflink"].as_str()),
            (vec!["-m".to_owned(), "finobt=0".to_owned()], "off")
        );
        assert_eq!(one("btrfs:compress=zstd:3").mount, ["compress=zstd:3"]);
        assert_eq!(one("ext4:-O bigalloc").mkfs, ["-O", "bigalloc"]);
        assert_eq!(one("ext4:-T news").mkfs, ["-T", "news"]);
    }

    #[test]
    fn what_does_nothing_any_more_says_so() {
        let error = |text: &str| Contender::parse_list(text).unwrap_err().to_string();
        assert!(error("xfs:nobarrier").contains("since Linux 4.19"), "{}", error("xfs:nobarrier"));
        for (text, why) in [
            ("ext4:mount=has_journal=off", "a feature of mkfs: 'ext4:-O ^has_journal'"),
            ("ext4:mount=noatime\\,^extent", "a feature of mkfs"),
            ("ext4:-J", "a value belongs behind"),
            ("btrfs:-n", "a value belongs behind"),
        ] {
            assert!(error(text).contains(why), "{text}: {}", error(text));
        }
        assert_eq!(one("ext4:mount=noatime\\,journal_checksum").mount.len(), 2);
        let levels = |text: &str| one(text).validate().map_err(|refusal| refusal.to_string());
        assert!(levels("btrfs:compress=zstd:99").unwrap_err().contains("zstd is 15"));
        assert!(levels("btrfs:compress=lzo:1").unwrap_err().contains("no levels"));
        assert!(levels("btrfs:compress=zstd:15").is_ok());
        assert!(error("ext4:nobarier").contains("nobarrier"), "{}", error("ext4:nobarier"));
    }

    /// A name that hides an option, or leads to one that there is not, would never be noticed.
    #[test]
    fn every_alias_leads_to_options_that_the_filesystem_takes() {
        for filesystem in FILESYSTEMS {
            let name = filesystem.describe().name;
            for alias in filesystem.aliases() {
                check(name, alias);
            }
        }
    }

    fn check(filesystem: &str, alias: &super::Alias) {
        use super::Means;
        let known = |option: &str| {
            let described = crate::filesystems::find(filesystem).unwrap().describe();
            assert!(
                described.options.iter().any(|it| it.name == option),
                "{filesystem}: {} means {option}",
                alias.written
            );
        };
        match &alias.means {
            Means::Options(options) => options.iter().for_each(|(name, _)| known(name)),
            Means::Value(name, _) => known(name),
            Means::Leveled(name, level) => [name, level].iter().for_each(|name| known(name)),
            Means::Items(items) => items.iter().for_each(|item| check(filesystem, item)),
            Means::Mount | Means::Nothing(_) => {}
        }
    }
}
