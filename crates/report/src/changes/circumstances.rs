//! What is not the same in two runs that are compared: kernel, options, sizes, versions.

use std::collections::BTreeSet;

use serde::Serialize;
use store::StoredRun;

use crate::analysis::Analysis;

/// Something about the runs that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Circumstance {
    /// What: `kernel`, `mount options of ext4`.
    pub what: String,
    /// How it was.
    pub before: String,
    /// How it is.
    pub after: String,
}

/// What the runs differ in as wholes.
pub(super) fn of_headers(before: &StoredRun, after: &StoredRun) -> Vec<Circumstance> {
    let (old, new) = (&before.header, &after.header);
    let mut pairs = vec![
        ("fstrial", old.fstrial_version.clone(), new.fstrial_version.clone()),
        ("testbed", old.testbed.clone(), new.testbed.clone()),
        ("scale", old.scale.to_string(), new.scale.to_string()),
        ("seed", old.seed.to_string(), new.seed.to_string()),
    ];
    // Facts of the single run, such as when and how it was begun, always differ.
    const OF_A_RUN: [&str; 3] = ["command_line", "load_at_start", "uptime"];
    let keys: BTreeSet<&String> =
        old.environment.0.keys().chain(new.environment.0.keys()).collect();
    for key in keys.into_iter().filter(|key| !OF_A_RUN.contains(&key.as_str())) {
        let value =
            |run: &StoredRun| run.header.environment.0.get(key).cloned().unwrap_or_default();
        pairs.push((key.as_str(), value(before), value(after)));
    }
    let differ = pairs.into_iter().filter(|(_, before, after)| before != after);
    differ
        .map(|(what, before, after)| Circumstance { what: what.to_owned(), before, after })
        .collect()
}

/// What the contender really ran on, before and after.
pub(super) fn of_contender(analysis: &Analysis, name: &str) -> Vec<Circumstance> {
    let [before, after] = &analysis.contenders[..] else { return Vec::new() };
    let tools = |tools: &[(String, String)]| {
        tools.iter().map(|(tool, version)| format!("{tool} {version}")).collect::<Vec<_>>()
    };
    [
        ("kernel", before.kernel.clone(), after.kernel.clone()),
        ("features", before.features.clone(), after.features.clone()),
        ("mount options", before.mount_options.clone(), after.mount_options.clone()),
        ("device", before.device.clone(), after.device.clone()),
        ("tools", tools(&before.tools), tools(&after.tools)),
    ]
    .into_iter()
    .filter(|(_, before, after)| before != after)
    .map(|(what, before, after)| Circumstance {
        what: format!("{what} of {name}"),
        before: before.join("; "),
        after: after.join("; "),
    })
    .collect()
}
