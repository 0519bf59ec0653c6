//! What an FFSB profile says: weights of ops, sizes, and whether places are random.

use crate::{Failure, Parameters};

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

/// A profile with everything resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    /// By kind, in the order of [`KINDS`].
    pub(super) weights: [u64; KINDS.len()],
    pub(super) size: u64,
    pub(super) block: usize,
    pub(super) random: bool,
}

impl Profile {
    /// The named profile, with what else is set put over it.
    pub(super) fn of(parameters: &Parameters) -> Result<Profile, Failure> {
        let (weights, size, random) = match parameters.text("profile") {
            "write" => ("write=1", 4096, true),
            "mixed" => ("read=4 write=1", 4096, true),
            "huge" => ("read=1 write=1", 1 << 20, false),
            _ => ("read=1", 4096, true),
        };
        let given = parameters.text("weights");
        let weights = self::weights(if given.is_empty() { weights } else { given })
            .map_err(|problem| Failure::Input(format!("weights={given}: {problem}")))?;
        let or = |name: &str, default: u64| match parameters.size(name).0 {
            0 => default,
            size => size,
        };
        let (size, block) = (or("op_size", size), or("block", 4096));
        if block > size || size > 1 << 30 {
            return Err(Failure::Input(format!(
                "op_size={size} is smaller than a block of {block}, or above 1 GiB"
            )));
        }
        let random = match parameters.text("places") {
            "random" => true,
            "sequential" => false,
            _ => random,
        };
        Ok(Profile { weights, size, block: block as usize, random })
    }

    /// The kind that a number below the sum of weights stands for.
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

fn weights(text: &str) -> Result<[u64; KINDS.len()], String> {
    let mut weights = [0; KINDS.len()];
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let known: Vec<&str> = KINDS.iter().map(|(_, name)| *name).collect();
        let expected = || format!("`{word}` is not KIND=NUMBER with one of {}", known.join(", "));
        let (name, number) = word.split_once('=').ok_or_else(expected)?;
        let at = known.iter().position(|known| *known == name).ok_or_else(expected)?;
        weights[at] = number.parse::<u32>().map_err(|_| expected())?.into();
    }
    if weights.iter().sum::<u64>() == 0 { Err("all are 0".to_owned()) } else { Ok(weights) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_and_drawn() {
        assert_eq!(weights("read=4, write=1"), Ok([4, 0, 1, 0, 0, 0, 0]));
        assert_eq!(weights("read=0"), Err("all are 0".to_owned()));
        assert!(weights("reed=1").unwrap_err().contains("one of read, readall"));
        let profile = Profile { weights: [4, 0, 1, 0, 0, 0, 2], size: 1, block: 1, random: true };
        let drawn: Vec<Kind> = (0..7).map(|number| profile.kind(number)).collect();
        assert_eq!(drawn[3..6], [Kind::Read, Kind::Write, Kind::Meta]);
    }
}
