//! The contents of an FFSB profile: groups of threads, each with weights of ops, sizes, whether
//! offsets are random, and how long a thread waits after an op. Errors are reported with their
//! line or their group.

use std::collections::BTreeMap;
use std::time::Duration;

use super::description;
use serde::Deserialize;
use units::{Bytes, Nanos};

use crate::Parameters;
use crate::typed::SizeParameter;

/// A kind of op; its number is its place in the phase's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    ReadAll,
    Write,
    Create,
    Append,
    Delete,
    Meta,
}

pub(super) const KINDS: [(Kind, &str); 7] = [
    (Kind::Read, "read"),
    (Kind::ReadAll, "readall"),
    (Kind::Write, "write"),
    (Kind::Create, "create"),
    (Kind::Append, "append"),
    (Kind::Delete, "delete"),
    (Kind::Meta, "meta"),
];

/// Profiles that are shipped: name and text.
const SHIPPED: [(&str, &str); 4] = [
    ("read", include_str!("profiles/read.toml")),
    ("write", include_str!("profiles/write.toml")),
    ("mixed", include_str!("profiles/mixed.toml")),
    ("huge", include_str!("profiles/huge.toml")),
];

/// As written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// For the reader.
    #[serde(default, rename = "summary")]
    _summary: String,
    group: Vec<WrittenGroup>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGroup {
    #[serde(default = "threads")]
    threads: u64,
    weights: BTreeMap<String, u32>,
    #[serde(default = "page")]
    op_size: String,
    #[serde(default = "page")]
    block: String,
    #[serde(default)]
    places: Places,
    #[serde(default)]
    fsync: bool,
    #[serde(default = "no_time")]
    delay: String,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Places {
    #[default]
    Random,
    Sequential,
}

fn threads() -> u64 {
    32
}

fn page() -> String {
    "4K".to_owned()
}

fn no_time() -> String {
    "0s".to_owned()
}

/// A profile with everything resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    pub(super) groups: Vec<Group>,
}

/// Threads that do the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) threads: u64,
    /// By kind, in the order of [`KINDS`].
    pub(super) weights: [u64; KINDS.len()],
    pub(super) size: u64,
    pub(super) block: usize,
    pub(super) random: bool,
    pub(super) fsync: bool,
    pub(super) delay: Duration,
}

impl Profile {
    /// The profile of that name or text, with the other parameters applied to each of its groups.
    ///
    /// # Errors
    /// With what is wrong and where.
    pub(super) fn of(parameters: &Parameters) -> Result<Profile, String> {
        let given = parameters.get(&description::PROFILE);
        let shipped = SHIPPED.iter().find(|(name, _)| *name == given);
        let text = shipped.map_or(given, |(_, text)| text);
        let written: Written =
            toml::from_str(text).map_err(|error| format!("profile: {error}").trim().to_owned())?;
        if written.group.is_empty() {
            return Err("profile: it has no [[group]]".to_owned());
        }
        let groups = written.group.into_iter().enumerate().map(|(number, group)| {
            let within = |problem: String| format!("profile, group {}: {problem}", number + 1);
            group.resolve(parameters).map_err(within)
        });
        Ok(Profile { groups: groups.collect::<Result<_, String>>()? })
    }

    /// Whether any thread does this.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.groups.iter().any(|group| group.weights[kind as usize] > 0)
    }

    /// Bytes that the threads append at most, each with this many ops.
    pub(super) fn most_appended(&self, ops: u64) -> u64 {
        let append = |group: &&Group| group.weights[Kind::Append as usize] > 0;
        let groups = self.groups.iter().filter(append);
        groups.fold(0, |sum: u64, group| {
            sum.saturating_add(group.threads.saturating_mul(ops).saturating_mul(group.size))
        })
    }
}

impl WrittenGroup {
    fn resolve(self, parameters: &Parameters) -> Result<Group, String> {
        let size = |asked: &SizeParameter, written: &str| match parameters.get(asked).0 {
            0 => written
                .parse::<Bytes>()
                .map(|size| size.0)
                .map_err(|error| format!("{}: {error}", asked.row.name)),
            size => Ok(size),
        };
        let (op_size, block) =
            (size(&description::OP_SIZE, &self.op_size)?, size(&description::BLOCK, &self.block)?);
        if block == 0 || block > op_size || op_size > 1 << 30 {
            return Err(format!(
                "op_size={op_size} is smaller than a block of {block}, or above 1 GiB, or the \
                 block is 0"
            ));
        }
        let weights = match parameters.get(&description::WEIGHTS) {
            "" => by_kind(self.weights.iter().map(|(name, weight)| (&**name, *weight)))?,
            given => weights(given).map_err(|problem| format!("weights={given}: {problem}"))?,
        };
        let threads = match parameters.get(&description::THREADS) {
            0 => self.threads,
            given => given,
        };
        if !(1..=1024).contains(&threads) {
            return Err(format!("threads={threads} is not from 1 to 1024"));
        }
        let delay = match parameters.get(&description::DELAY) {
            Nanos::ZERO => {
                self.delay.parse::<Nanos>().map_err(|error| format!("delay: {error}"))?
            }
            given => given,
        };
        Ok(Group {
            threads,
            weights,
            size: op_size,
            block: block as usize,
            random: match parameters.get(&description::PLACES) {
                description::Places::Random => true,
                description::Places::Sequential => false,
                description::Places::Profile => self.places == Places::Random,
            },
            fsync: self.fsync || parameters.get(&description::FSYNC),
            delay: delay.into(),
        })
    }
}

impl Group {
    /// The kind that a number below the sum of weights selects.
    #[inline]
    pub(super) fn kind(&self, mut drawn: u64) -> Kind {
        for ((kind, _), weight) in KINDS.iter().zip(self.weights) {
            if drawn < weight {
                return *kind;
            }
            drawn -= weight;
        }
        Kind::Read
    }

    pub(super) fn sum(&self) -> u64 {
        self.weights.iter().sum()
    }
}

fn by_kind<'t>(given: impl Iterator<Item = (&'t str, u32)>) -> Result<[u64; KINDS.len()], String> {
    let known: Vec<&str> = KINDS.iter().map(|(_, name)| *name).collect();
    let mut weights = [0; KINDS.len()];
    for (name, weight) in given {
        let at = known.iter().position(|known| *known == name).ok_or_else(|| {
            format!("`{name}={weight}` is not KIND=NUMBER with one of {}", known.join(", "))
        })?;
        weights[at] = weight.into();
    }
    if weights.iter().sum::<u64>() == 0 { Err("all are 0".to_owned()) } else { Ok(weights) }
}

fn weights(text: &str) -> Result<[u64; KINDS.len()], String> {
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let pairs: Option<Vec<(&str, u32)>> = words
        .map(|word| word.split_once('=').and_then(|(name, n)| Some((name, n.parse().ok()?))))
        .collect();
    by_kind(pairs.ok_or("it is not KIND=NUMBER for each kind")?.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    fn profile(settings: &[(&str, &str)]) -> Result<Profile, String> {
        let given = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let description = super::super::Ffsb.describe();
        Profile::of(&Parameters::resolve(description, &given, 1.0).unwrap())
    }

    #[test]
    fn weights_are_read_and_drawn() {
        assert_eq!(weights("read=4, write=1"), Ok([4, 0, 1, 0, 0, 0, 0]));
        assert_eq!(weights("read=0"), Err("all are 0".to_owned()));
        assert!(weights("reed=1").unwrap_err().contains("one of read, readall"));
        let group = profile(&[("weights", "read=4 write=1 meta=2")]).unwrap().groups.remove(0);
        let drawn: Vec<Kind> = (0..7).map(|number| group.kind(number)).collect();
        assert_eq!(drawn[3..6], [Kind::Read, Kind::Write, Kind::Meta]);
    }

    #[test]
    fn one_of_ones_own_is_read_and_what_is_set_beside_it_wins() {
        let text = "[[group]]\nthreads = 3\nweights = { append = 2 }\nop_size = \"64K\"\n\
                    delay = \"2ms\"\n[[group]]\nweights = { delete = 1 }\nfsync = true\n";
        let own = profile(&[("profile", text)]).unwrap();
        let [first, second] = &own.groups[..] else { panic!("{own:?}") };
        assert_eq!((first.threads, first.size, first.block), (3, 65_536, 4096));
        assert_eq!((first.delay, first.random), (Duration::from_millis(2), true));
        assert_eq!((second.threads, second.fsync, second.sum()), (32, true, 1));
        assert!(own.has(Kind::Append) && !own.has(Kind::Create));
        let over = profile(&[("profile", text), ("threads", "5"), ("delay", "1s")]).unwrap();
        assert_eq!(over.groups[1].threads, 5);
        assert_eq!(over.groups[0].delay, Duration::from_secs(1));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let problem = |text: &str| profile(&[("profile", text)]).unwrap_err();
        assert!(problem("[[group]]\nwieghts = 1\n").contains("line 2"));
        assert!(problem("group = []\n").contains("no [[group]]"));
        let second = "[[group]]\nweights = { read = 1 }\n[[group]]\nweights = { walk = 1 }\n";
        assert!(problem(second).contains("group 2: `walk=1`"), "{}", problem(second));
        let block = "[[group]]\nweights = { read = 1 }\nblock = \"2M\"\n";
        assert!(problem(block).contains("smaller than a block"));
    }
}
