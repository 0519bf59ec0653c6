//! The contents of a script: phases, ops, sizes. Errors are reported with their line.

use std::fmt;

use serde::Deserialize;
use units::{Bytes, Nanos};

use crate::Draw;

/// A whole script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// A description for the reader.
    #[serde(default)]
    pub(super) summary: String,
    pub(super) phase: Vec<Phase>,
}

/// A timed part.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phase {
    pub(super) name: String,
    /// Threads, each with files of its own.
    #[serde(default = "one")]
    pub(super) threads: u64,
    /// How often each thread goes through the ops.
    #[serde(default = "one")]
    pub(super) repeat: u64,
    /// Whether it begins with an empty cache, where that can be done.
    #[serde(default)]
    pub(super) cold: bool,
    /// Whether a sync of the filesystem ends it, inside the clock.
    #[serde(default)]
    pub(super) sync: bool,
    pub(super) op: Vec<Step>,
}

/// One entry of a phase's list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    #[serde(rename = "do")]
    pub(super) kind: Kind,
    /// How often, one after the other.
    #[serde(default = "one")]
    pub(super) count: u64,
    /// Bytes: of a new file, of what is written, read or appended, or left by truncate.
    pub(super) size: Option<Size>,
    /// Bytes of one call.
    #[serde(default)]
    pub(super) block: Block,
    /// Whether fsync follows, before the close.
    #[serde(default)]
    pub(super) fsync: bool,
    /// Which of the existing files.
    #[serde(default)]
    pub(super) pick: Pick,
    /// How long a think lasts.
    pub(super) time: Option<Time>,
}

fn one() -> u64 {
    1
}

/// Kinds of op; their numbers are places in the phase's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Mkdir,
    Create,
    Write,
    Append,
    Read,
    Stat,
    List,
    Rename,
    Link,
    Symlink,
    Unlink,
    Fsync,
    Truncate,
    Think,
}

/// Which of the files there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pick {
    /// Any.
    #[default]
    Random,
    /// One after the other.
    Next,
    /// The one made last.
    Last,
}

/// `64K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Block(pub(super) usize);

impl Default for Block {
    fn default() -> Block {
        Block(64 << 10)
    }
}

impl TryFrom<String> for Block {
    type Error = String;
    fn try_from(text: String) -> Result<Block, String> {
        match bytes(&text)? {
            size @ 1..=0x400_0000 => Ok(Block(size as usize)),
            _ => Err("a block is from 1 byte to 64 MiB".to_owned()),
        }
    }
}

/// `10ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Time(pub(super) Nanos);

impl TryFrom<String> for Time {
    type Error = String;
    fn try_from(text: String) -> Result<Time, String> {
        text.parse().map(Time).map_err(|error: units::ParseQuantityError| error.to_string())
    }
}

/// `4K`, `uniform 1K 64K`, `lognormal 8K 1.5 1M`: the law sizes follow.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Size {
    Constant(u64),
    /// Smallest and largest.
    Uniform(u64, u64),
    /// Median, σ of the logarithm, and the largest there may be.
    Lognormal(u64, f64, u64),
}

const SIZES: &str = "a size is `4K`, `uniform 1K 64K` (smallest, largest) or \
                     `lognormal 8K 1.5 1M` (median, sigma, largest)";

fn bytes(text: &str) -> Result<u64, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}; {SIZES}"))?;
    Ok(size.0)
}

impl TryFrom<String> for Size {
    type Error = String;
    fn try_from(text: String) -> Result<Size, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let size = match words[..] {
            ["uniform", least, most] => Size::Uniform(bytes(least)?, bytes(most)?),
            ["lognormal", median, sigma, most] => {
                let sigma = sigma.parse().map_err(|_| format!("sigma is a number; {SIZES}"))?;
                Size::Lognormal(bytes(median)?, sigma, bytes(most)?)
            }
            [constant] => Size::Constant(bytes(constant)?),
            _ => return Err(SIZES.to_owned()),
        };
        match size {
            Size::Uniform(least, most) if least > most => {
                Err("the smallest size is above the largest".to_owned())
            }
            Size::Lognormal(_, sigma, _) if !(0.0..=10.0).contains(&sigma) => {
                Err("sigma is from 0 to 10".to_owned())
            }
            size => Ok(size),
        }
    }
}

impl Size {
    pub(super) fn draw(self, draw: &mut Draw) -> u64 {
        match self {
            Size::Constant(size) => size,
            Size::Uniform(least, most) => least + draw.below(most - least + 1),
            Size::Lognormal(median, sigma, most) => {
                ((median as f64 * (sigma * draw.normal()).exp()) as u64).min(most)
            }
        }
    }

    /// Its mean, never below what is drawn on average.
    pub(super) fn mean(self) -> u64 {
        match self {
            Size::Constant(size) => size,
            Size::Uniform(least, most) => least.midpoint(most),
            Size::Lognormal(median, sigma, most) => {
                ((median as f64 * (sigma * sigma / 2.0).exp()) as u64).min(most)
            }
        }
    }
}

impl Kind {
    /// Whether it takes a size: required, optional or forbidden.
    fn takes_size(self) -> Option<bool> {
        match self {
            Kind::Write | Kind::Append | Kind::Truncate => Some(true),
            Kind::Create | Kind::Read => None,
            _ => Some(false),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl Script {
    /// Reads and checks a script.
    pub(super) fn read(text: &str) -> Result<Script, String> {
        if text.trim().is_empty() {
            return Err("name a file with phases: custom:file=PATH".to_owned());
        }
        // The message has line, column and what is accepted.
        let script: Script = toml::from_str(text).map_err(|error| error.to_string())?;
        for (number, phase) in script.phase.iter().enumerate() {
            phase.check().map_err(|problem| format!("phase `{}`: {problem}", phase.name))?;
            if script.phase[..number].iter().any(|other| other.name == phase.name) {
                return Err(format!("two phases are called `{}`", phase.name));
            }
        }
        Ok(script)
    }
}

impl Phase {
    fn check(&self) -> Result<(), String> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if self.name.is_empty() || self.name.len() > 40 || !self.name.bytes().all(is_name) {
            return Err("a name has small letters, digits and hyphens".to_owned());
        }
        if !(1..=1024).contains(&self.threads) {
            return Err(format!("threads = {} is not from 1 to 1024", self.threads));
        }
        if self.op.is_empty() {
            return Err("it does nothing; add a [[phase.op]]".to_owned());
        }
        for (number, step) in self.op.iter().enumerate() {
            let wrong =
                |problem: &str| Err(format!("op {} ({}): {problem}", number + 1, step.kind));
            match (step.kind.takes_size(), step.size) {
                (Some(true), None) => return wrong("it needs a size"),
                (Some(false), Some(_)) => return wrong("it takes no size"),
                _ => {}
            }
            let writes = matches!(step.kind, Kind::Create | Kind::Write | Kind::Append);
            if step.fsync && !writes && step.kind != Kind::Truncate {
                return wrong("fsync goes with create, write, append, truncate; or do = \"fsync\"");
            }
            if step.kind == Kind::Think && step.time.is_none() {
                return wrong("it needs a time, such as \"10ms\"");
            }
            if step.kind != Kind::Think && step.time.is_some() {
                return wrong("a time goes with think");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Seed;

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_is_accepted() {
        let message = |text: &str| Script::read(text).unwrap_err();
        let unknown = message("[[phase]]\nname = \"a\"\n[[phase.op]]\ndo = \"crate\"\n");
        assert!(unknown.contains("line 4") && unknown.contains("`create`"), "{unknown}");
        let key = message("[[phase]]\nname = \"a\"\nthread = 2\n");
        assert!(key.contains("line 3") && key.contains("`threads`"), "{key}");
        let op = |line: &str| message(&format!("[[phase]]\nname = \"a\"\n[[phase.op]]\n{line}\n"));
        assert!(op("do = \"create\"\nsize = \"many\"").contains("line 5"));
        assert!(op("do = \"create\"\nsize = \"uniform 2K 1K\"").contains("above the largest"));
        assert!(op("do = \"write\"").contains("phase `a`: op 1 (write): it needs a size"));
        assert!(op("do = \"stat\"\nsize = \"1\"").contains("takes no size"));
        assert!(op("do = \"think\"").contains("needs a time"));
        assert!(op("do = \"list\"\nfsync = true").contains("goes with create"));
        assert!(message("").contains("custom:file=PATH"));
        assert!(message("[[phase]]\nname = \"A b\"\nop = []").contains("small letters"));
    }

    #[test]
    fn sizes_follow_their_law() {
        let mut draw = Seed(1).stream("x");
        let size = |text: &str| Size::try_from(text.to_owned()).unwrap();
        assert_eq!(size("4K").draw(&mut draw), 4096);
        let uniform = size("uniform 10 12");
        let drawn: BTreeSet<u64> = (0..100).map(|_| uniform.draw(&mut draw)).collect();
        assert_eq!(drawn, BTreeSet::from([10, 11, 12]), "both ends are drawn");
        let lognormal = size("lognormal 8K 1.5 1M");
        let mut drawn: Vec<u64> = (0..10_001).map(|_| lognormal.draw(&mut draw)).collect();
        drawn.sort_unstable();
        assert!((7700..8700).contains(&drawn[5000]), "{}", drawn[5000]);
        assert!(drawn[10_000] <= 1 << 20);
    }

    #[test]
    fn a_lognormal_size_is_its_median_times_the_power_drawn() {
        let mut draw = Seed(1).stream("x");
        let size = Size::try_from("lognormal 1000000000 1 1000000000000".to_owned()).unwrap();
        for _ in 0..20 {
            let normal = draw.clone().normal();
            let power = (size.draw(&mut draw) as f64 / 1e9).ln();
            assert!((power - normal).abs() < 1e-6, "{power}, not {normal}");
        }
    }

    #[test]
    fn the_mean_of_a_size_is_that_of_its_law_up_to_the_largest() {
        let mean = |text: &str| Size::try_from(text.to_owned()).unwrap().mean();
        assert_eq!(mean("4K"), 4096);
        assert_eq!(mean("uniform 10 20"), 15);
        // Half the square of sigma is 4.5; e to that power is 90.0171.
        assert_eq!(mean("lognormal 1000 3 1M"), 90_017);
        assert_eq!(mean("lognormal 1000 3 5000"), 5000);
    }

    #[test]
    fn limits_are_accepted_and_what_is_beyond_them_is_not() {
        let size = |text: &str| Size::try_from(text.to_owned());
        assert_eq!(size("uniform 5 5"), Ok(Size::Uniform(5, 5)));
        assert_eq!(size("lognormal 8 10 9"), Ok(Size::Lognormal(8, 10.0, 9)));
        assert_eq!(size("lognormal 8 10.1 9"), Err("sigma is from 0 to 10".to_owned()));
        assert_eq!(size("lognormal 8 -0.1 9"), Err("sigma is from 0 to 10".to_owned()));

        let block = |text: &str| Block::try_from(text.to_owned());
        assert_eq!((block("1"), block("64M")), (Ok(Block(1)), Ok(Block(67_108_864))));
        assert_eq!(block("1K"), Ok(Block(1024)));
        for beyond in ["0", "67108865"] {
            assert_eq!(block(beyond), Err("a block is from 1 byte to 64 MiB".to_owned()));
        }

        let named = |name: &str| {
            Script::read(&format!("[[phase]]\nname = \"{name}\"\nop = [{{ do = \"list\" }}]\n"))
        };
        assert!(named(&"a".repeat(40)).is_ok());
        for name in [String::new(), "a".repeat(41)] {
            let refused = named(&name).unwrap_err();
            assert!(refused.contains("small letters"), "{refused}");
        }
    }
}
