//! A run without what names a person, a machine or a device.
//!
//! Works on the run and not on a finished text, so that every format shows the same and no
//! escaping hides anything. What it knows to look for: the values of the environment's
//! private keys wherever they occur as a word, absolute paths, what follows the word
//! `serial` or `wwn`, and a guest's kernel log, which is left out whole. Contenders' and
//! workloads' names are kept, with the paths in them replaced.

use store::{Environment, StoredRun, StoredTrial};
use trial::{Outcome, SpaceUse};
use workload::{Cache, NotComparable, PhaseStatus};

const PATH: &str = "[path]";
const PRIVATE: &str = "[left out]";

/// The run as it may be shown to strangers.
pub fn redacted(run: &StoredRun) -> StoredRun {
    let mut run = run.clone();
    let private: Vec<String> = Environment::PRIVATE
        .iter()
        .filter_map(|key| Some((*key, run.header.environment.0.remove(*key)?)))
        .flat_map(|(key, value)| names_in(key, &value))
        .filter(|name| name.chars().count() >= 3)
        .collect();
    let scrub = |text: &mut String| *text = scrubbed(text, &private);
    run.header.environment.0.values_mut().for_each(scrub);
    for trial in &mut run.trials {
        scrub_trial(trial, &scrub);
    }
    run
}

/// The parts of a private value that must not occur elsewhere either.
fn names_in(key: &str, value: &str) -> Vec<String> {
    match key {
        // Made of words that every report needs; its paths are found as paths.
        "command_line" => Vec::new(),
        // The name of a public corpus is no secret, a directory's is.
        "mail_source" if ["synthetic", "spamassassin"].contains(&value) => Vec::new(),
        "hostname" | "device_serial" => value.split_whitespace().map(str::to_owned).collect(),
        _ => vec![value.to_owned()],
    }
}

fn scrub_trial(trial: &mut StoredTrial, scrub: &dyn Fn(&mut String)) {
    let contender = &mut trial.spec.contender;
    scrub(&mut contender.name);
    contender.options.values_mut().for_each(scrub);
    contender.layout.parameters.values_mut().for_each(scrub);
    contender.mkfs.iter_mut().chain(&mut contender.mount).for_each(scrub);
    for choice in &mut trial.spec.workloads {
        // Parameters can only be read by name; they are a map of texts when serialised.
        if let Ok(serde_json::Value::Object(map)) = serde_json::to_value(&choice.parameters) {
            let scrubbed: serde_json::Map<_, _> = map
                .into_iter()
                .map(|(name, value)| {
                    let mut text = value.as_str().unwrap_or_default().to_owned();
                    scrub(&mut text);
                    (name, serde_json::Value::String(text))
                })
                .collect();
            if let Ok(parameters) = serde_json::from_value(serde_json::Value::Object(scrubbed)) {
                choice.parameters = parameters;
            }
        }
    }
    match &mut trial.record.outcome {
        Some(
            Outcome::Refused { reason } | Outcome::Failed { reason, .. } | Outcome::Lost { reason },
        ) => scrub(reason),
        Some(Outcome::GuestDied { reason, kernel_log }) => {
            scrub(reason);
            if !kernel_log.is_empty() {
                *kernel_log = PRIVATE.to_owned();
            }
        }
        Some(Outcome::Done | Outcome::TimedOut { .. }) | None => {}
    }
    if let Some(made) = &mut trial.record.made {
        for text in [&mut made.served_by, &mut made.mount_options, &mut made.device] {
            scrub(text);
        }
        for (command, output) in &mut made.record {
            scrub(command);
            scrub(output);
        }
        made.tools.iter_mut().for_each(|(_, version)| scrub(version));
    }
    if let Some(SpaceUse::Missing { why }) = &mut trial.record.space {
        scrub(why);
    }
    trial.record.notes.iter_mut().for_each(scrub);
    for phase in &mut trial.record.phases {
        match &mut phase.status {
            PhaseStatus::Failed { reason } | PhaseStatus::Skipped { reason } => scrub(reason),
            PhaseStatus::Completed => {}
        }
        match &mut phase.cache {
            Cache::Cold { how: words } | Cache::Warm { why: words } => scrub(words),
        }
        if let Some(NotComparable::Other { why }) = &mut phase.not_comparable {
            scrub(why);
        }
        phase.notes.iter_mut().for_each(scrub);
    }
}

fn scrubbed(text: &str, private: &[String]) -> String {
    let mut text = text.to_owned();
    for value in private {
        text = replace_words(&text, value);
    }
    replace_serials(&replace_paths(&text))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Replaces `value` where it is not part of a longer word: a machine called `ext4` must not
/// take `ext4.ko` apart more than it needs to, nor `context4`.
fn replace_words(text: &str, value: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(value) {
        let before = rest[..at].chars().next_back().or_else(|| result.chars().next_back());
        let after = rest[at + value.len()..].chars().next();
        let alone = |next: Option<char>| next.is_none_or(|c| !is_word(c));
        result.push_str(&rest[..at]);
        result.push_str(if alone(before) && alone(after) { PRIVATE } else { value });
        rest = &rest[at + value.len()..];
    }
    result + rest
}

/// Replaces absolute paths. A `/` within a word (`MiB/s`, `xfs/ext/sw`) begins none.
fn replace_paths(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>|".contains(c);
    let mut result = String::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((_, c)) = chars.next() {
        let begins = c == '/'
            && before.is_none_or(|b| ends(b) || "=:@-".contains(b) || b == '\u{1b}')
            && chars.peek().is_some_and(|(_, next)| is_word(*next) || "./~".contains(*next));
        if begins {
            result.push_str(PATH);
            let mut last = c;
            while let Some((_, next)) = chars.next_if(|(_, next)| !ends(*next)) {
                last = next;
            }
            // Punctuation after a path belongs to the sentence.
            if ".:!?".contains(last) {
                result.push(last);
            }
            before = Some(last);
        } else {
            result.push(c);
            before = Some(c);
        }
    }
    result
}

/// Replaces the word after `serial` (or `serial number`, `wwn`, `wwid`).
fn replace_serials(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut armed = false;
    let mut word = String::new();
    let flush = |word: &mut String, result: &mut String, armed: &mut bool| {
        if word.is_empty() {
            return;
        }
        let lower = word.to_ascii_lowercase();
        let announces = ["serial", "wwn", "wwid", "serialno", "id_serial", "id_serial_short"];
        if announces.contains(&lower.as_str()) {
            *armed = true;
            result.push_str(word);
        } else if *armed && ["number", "no", "nr"].contains(&lower.as_str()) {
            result.push_str(word);
        } else if *armed {
            *armed = false;
            result.push_str(PRIVATE);
        } else {
            result.push_str(word);
        }
        word.clear();
    };
    for c in text.chars() {
        if is_word(c) || c == '-' || c == '.' {
            word.push(c);
        } else {
            flush(&mut word, &mut result, &mut armed);
            // Another clause is no longer about the serial.
            if armed && !(c.is_whitespace() || ":=#\"'".contains(c)) || c == '\n' {
                armed = false;
            }
            result.push(c);
        }
    }
    flush(&mut word, &mut result, &mut armed);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        scrubbed(text, &["annas-laptop".to_owned(), "ext4".to_owned()])
    }

    #[test]
    fn paths_go_and_rates_stay() {
        assert_eq!(shown("create /mnt/a b/c: No space"), "create [path] b/c: No space");
        assert_eq!(shown("85 MiB/s on xfs/ext/sw"), "85 MiB/s on xfs/ext/sw");
        assert_eq!(shown("mkfs.xfs -f '/dev/sdb1'"), "mkfs.xfs -f '[path]'");
        assert_eq!(shown("logdev=/dev/sdc,noatime"), "logdev=[path],noatime");
        assert_eq!(shown("see /etc/fstab."), "see [path].");
        assert_eq!(shown("1 / 2"), "1 / 2");
    }

    #[test]
    fn names_go_as_words() {
        assert_eq!(shown("on annas-laptop:"), "on [left out]:");
        assert_eq!(shown("context4 (ext4)"), "context4 ([left out])");
    }

    #[test]
    fn serials_go() {
        assert_eq!(shown("Serial Number: WD-42/7"), "Serial Number: [left out]/7");
        assert_eq!(shown("ID_SERIAL=S3Z9NB0K"), "ID_SERIAL=[left out]");
        assert_eq!(shown("wwn 0x5000c500"), "wwn [left out]");
        assert_eq!(shown("a serial, then 7"), "a serial, then 7");
    }
}
