//! How reports speak of the testbed of a run. One that is not among them is called by
//! its name.

use store::RunHeader;

/// What is said of one testbed.
struct Words {
    name: &'static str,
    /// Where an answer holds: for one contender, and for several.
    answer: [&'static str; 2],
    /// On what a page says it was; the devices themselves where it is not given.
    page: Option<&'static str>,
    /// How a cache that was warm is cold next time, where the user has to ask for it.
    cold: Option<&'static str>,
}

static WORDS: &[Words] = &[
    Words {
        name: "dir",
        answer: [" in this directory", " in these directories"],
        page: Some("in a directory as it is"),
        cold: Some("--drop-caches, as root, begins cold"),
    },
    Words { name: "device", answer: [" on this machine"; 2], page: None, cold: None },
    Words { name: "lab", answer: [""; 2], page: Some("in the lab, by virtual time"), cold: None },
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

/// On what a page says the run was, if not on its devices.
pub(crate) fn page(header: &RunHeader) -> Option<&'static str> {
    words(header)?.page
}

/// How a cache that was warm is cold next time, where the user has to ask for it.
pub(crate) fn cold(header: &RunHeader) -> Option<&'static str> {
    words(header)?.cold
}
