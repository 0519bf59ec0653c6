//! What speed does not say: what each filesystem was seen to do (`fstrial list capabilities`).

use trial::capabilities::{Finding, Tried};

use crate::Use;

/// What people choose by, each with the capabilities any of which is enough.
const ASKED: [(&str, &[&str]); 4] = [
    ("notices damaged contents", &["data-checksums"]),
    ("takes snapshots", &["snapshots"]),
    ("copies a file at once (reflink)", &["reflinks"]),
    ("can shrink", &["shrink-mounted", "shrink-unmounted"]),
];

/// `notices damaged contents: btrfs, zfs`, a phrase for each that sets the contenders apart.
pub(crate) fn of(used: &Use) -> Vec<String> {
    let Ok(tried) = Tried::shipped() else { return Vec::new() };
    let mut filesystems: Vec<&str> = Vec::new();
    for contender in &used.contenders {
        if !filesystems.contains(&contender.filesystem()) {
            filesystems.push(contender.filesystem());
        }
    }
    let can = |filesystem: &&&str, names: &[&str]| {
        let row = tried.filesystems.iter().find(|row| row.name == **filesystem);
        row.is_some_and(|row| {
            names.iter().any(|name| matches!(row.found.get(*name), Some(Finding::Yes(_))))
        })
    };
    let phrase = |(words, names): &(&str, &[&str])| {
        let who: Vec<&str> = filesystems.iter().filter(|one| can(one, names)).copied().collect();
        let apart = !who.is_empty() && who.len() < filesystems.len();
        apart.then(|| format!("{words}: {}", who.join(", ")))
    };
    ASKED.iter().filter_map(phrase).collect()
}
