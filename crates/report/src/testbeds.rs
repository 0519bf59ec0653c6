//! How reports describe the testbed of a run. A testbed that is not listed here is called by its
//! name.

use store::RunHeader;

/// The words for one testbed.
struct Words {
    name: &'static str,
    /// Where an answer holds: for one contender, and for several.
    answer: [&'static str; 2],
    /// How a page describes where it ran; `None`: by naming the devices.
    page: Option<&'static str>,
    /// What makes a warm cache cold next time, if the user has to ask for it.
    cold: Option<&'static str>,
    /// What a disk's counts hold beside the workload's own requests.
    counts: Option<&'static str>,
}

static WORDS: &[Words] = &[
    Words {
        name: "dir",
        answer: [" in this directory", " in these directories"],
        page: Some("in a directory as it is"),
        cold: Some("--drop-caches, as root, begins cold"),
        counts: Some(
            "Read, written and flushes are counted by the whole disk, which others may use too.",
        ),
    },
    Words { name: "device", answer: [" on this machine"; 2], page: None, cold: None, counts: None },
    Words {
        name: "lab",
        answer: [""; 2],
        page: Some("in the lab, by virtual time"),
        cold: None,
        counts: None,
    },
];

fn words(header: &RunHeader) -> Option<&'static Words> {
    WORDS.iter().find(|words| words.name == header.testbed)
}

/// Where an answer holds, after a space: ` on server-ssd (simulated)`, ` on this machine`.
pub(crate) fn answer(header: &RunHeader, contenders: usize) -> String {
    if let Some(profile) = header.environment.0.get("lab_profile") {
        return format!(" on {profile} (simulated)");
    }
    match words(header) {
        Some(words) => words.answer[usize::from(contenders != 1)].to_owned(),
        None => format!(" on testbed {}", header.testbed),
    }
}

/// How a page describes where the run took place, if not by its devices.
pub(crate) fn page(header: &RunHeader) -> Option<&'static str> {
    words(header)?.page
}

/// What makes a warm cache cold next time, if the user has to ask for it.
pub(crate) fn cold(header: &RunHeader) -> Option<&'static str> {
    words(header)?.cold
}

/// What a disk's counts hold beside the workload's own requests, as a sentence.
pub(crate) fn counts(header: &RunHeader) -> Option<String> {
    Some(words(header)?.counts?.to_owned())
}
