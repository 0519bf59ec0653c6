//! Numbers of what is not as it should be, which may only go down: `xtask/ratchet.toml`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

const FILE: &str = "xtask/ratchet.toml";

/// A number that may only go down.
pub(crate) struct Count {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// Where each of those counted is, and what is wrong with it.
    pub(crate) found: Vec<String>,
}

/// Where a count is above its number, all that were counted; where it is below, that the number
/// is to be lowered.
pub(crate) fn check(counts: &[Count]) -> Result<Vec<String>> {
    Ok(compare(counts, &read()?))
}

/// Lowers the numbers to what was counted. None is raised.
pub(crate) fn lower(counts: &[Count]) -> Result<()> {
    let mut allowed = read()?;
    for count in counts {
        let number = allowed.entry(count.name.to_owned()).or_insert(usize::MAX);
        *number = count.found.len().min(*number);
    }
    let lines: String =
        allowed.iter().map(|(name, number)| format!("{name} = {number}\n")).collect();
    std::fs::write(FILE, format!("{HEAD}{lines}"))?;
    Ok(())
}

const HEAD: &str = "\
# What the sources have too many of. A number may only go down: `cargo xtask ratchet` lowers each
# to what there is. `cargo xtask check` shows all of a kind once there are more than its number.
";

fn read() -> Result<BTreeMap<String, usize>> {
    let text = std::fs::read_to_string(FILE).with_context(|| FILE.to_owned())?;
    Ok(toml::from_str(&text)?)
}

fn compare(counts: &[Count], allowed: &BTreeMap<String, usize>) -> Vec<String> {
    let mut problems = Vec::new();
    for Count { name, found } in counts {
        let allowed = allowed.get(*name).copied().unwrap_or_default();
        if found.len() > allowed {
            problems.extend(found.iter().cloned());
            problems.push(format!("{FILE}: {name}: {} found, {allowed} allowed", found.len()));
        } else if found.len() < allowed {
            problems.push(format!(
                "{FILE}: {name} is down to {} from {allowed}; run cargo xtask ratchet",
                found.len()
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_down_and_never_up() {
        let allowed = BTreeMap::from([("long".to_owned(), 2)]);
        let with = |found: usize| {
            let found = (0..found).map(|nth| format!("the {nth}th")).collect();
            compare(&[Count { name: "long", found }], &allowed)
        };
        assert_eq!(with(2), [] as [String; 0]);
        assert_eq!(with(3)[..3], ["the 0th", "the 1th", "the 2th"]);
        assert!(with(3)[3].contains("3 found, 2 allowed"));
        assert!(with(1)[0].contains("down to 1 from 2"));
    }

    #[test]
    fn what_has_no_number_may_not_be() {
        let counts = [Count { name: "new", found: vec!["one".to_owned()] }];
        assert_eq!(compare(&counts, &BTreeMap::new()).len(), 2);
    }
}
