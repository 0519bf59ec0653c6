//! Parameter values in readable form.

use crate::Kind;
use crate::amounts::{SIZES, TIMES, whole};

/// A value as one would type it: `6s` where nanoseconds are stored, `16K` for bytes; for a whole
/// file, its first words and its length. Values that another version of fstrial stored in another
/// form are shown unchanged.
pub fn shown(workload: &str, parameter: &str, value: &str) -> String {
    let known = crate::find(workload).and_then(|workload| {
        workload.describe().parameters.iter().find(|known| known.name == parameter)
    });
    let number: Option<u64> = value.parse().ok();
    match known.map(|parameter| parameter.kind) {
        Some(Kind::Size(_)) => number.and_then(|number| whole(number, SIZES)),
        // A time has a unit, even if it is 0.
        Some(Kind::Time(_)) if value == "0" => Some("0s".to_owned()),
        Some(Kind::Time(_)) => number.and_then(|number| whole(number, TIMES)),
        _ => file(value),
    }
    .unwrap_or_else(|| value.to_owned())
}

/// The name of the source tree that is invented from the seed.
const INVENTED_TREE: &str = "synthetic";

/// The parameters of a workload that do nothing with this source tree, as a run's facts name it.
pub fn idle_parameters(workload: &str, source_tree: &str) -> &'static [&'static str] {
    match crate::find(workload) {
        Some(workload) if !["", INVENTED_TREE].contains(&source_tree) => {
            workload.of_invented_tree()
        }
        _ => &[],
    }
}

/// The first meaningful line of a file's text, shortened.
fn file(text: &str) -> Option<String> {
    const LENGTH: usize = 40;
    let (first, _) = text.split_once('\n')?;
    let first: String = first.trim_start_matches(['#', ' ']).chars().take(LENGTH).collect();
    Some(format!("“{}”, {} bytes", first.trim_end(), text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;

    #[test]
    fn values_are_shown_as_they_are_typed() {
        assert_eq!(shown("varmail", "time", "6000000000"), "6s");
        assert_eq!(shown("varmail", "time", "90000000000"), "90s");
        assert_eq!(shown("varmail", "time", "1"), "1ns");
        assert_eq!(shown("varmail", "mean_size", "16384"), "16K");
        assert_eq!(shown("varmail", "mean_size", "16385"), "16385");
        assert_eq!(shown("varmail", "mean_size", "0"), "0");
        assert_eq!(shown("varmail", "threads", "1024"), "1024");
        assert_eq!(shown("gone", "size", "1024"), "1024");
        let text = "# a mail spool\n[[phase]]\n";
        assert_eq!(shown("custom", "file", text), "“a mail spool”, 25 bytes");
    }

    #[test]
    fn an_own_tree_has_the_size_that_it_has() {
        assert_eq!(idle_parameters("tree", "own: 1 file, 3 B"), ["files", "bytes"]);
        assert!(idle_parameters("tree", INVENTED_TREE).is_empty());
        assert!(idle_parameters("varmail", "own: 1 file, 3 B").is_empty());
        let tree = crate::find("tree").unwrap().describe();
        let known = |name: &&str| tree.parameters.iter().any(|it| it.name == *name);
        assert!(idle_parameters("tree", "own: 1 file, 3 B").iter().all(known));
    }

    /// Every default, shown and read again, is itself.
    #[test]
    fn what_is_shown_can_be_typed() {
        for workload in crate::catalogue() {
            let description = workload.describe();
            let Ok(defaults) = Parameters::resolve(description, &Default::default(), 1.0) else {
                continue;
            };
            let shown: std::collections::BTreeMap<String, String> = defaults
                .iter()
                .filter(|(_, value)| !value.contains('\n'))
                .map(|(name, value)| (name.to_owned(), shown(description.name, name, value)))
                .collect();
            let again = Parameters::resolve(description, &shown, 1.0);
            assert_eq!(again.unwrap(), defaults, "{}", description.name);
        }
    }
}
