use std::collections::BTreeSet;

use report::{FORMATS, Options};
use trial::{Outcome, Step};
use workload::PhaseStatus;

use crate::rendered;
use crate::synthetic::Synthetic;

/// Every place a path, a host or a serial can hide in.
fn private_run() -> store::StoredRun {
    let secret = "on annas-laptop: /home/anna/mail/cur/1 (serial S3Z9NB0K123456)";
    let mut run = Synthetic::small().run();
    for (index, trial) in run.trials.iter_mut().enumerate() {
        trial.notes.push(secret.to_owned());
        trial.spec.contender.options.insert("journal".into(), "/dev/disk/by-id/annas-ssd".into());
        trial.spec.workloads[0].parameters =
            crate::synthetic::parameters(&[("mail", "/home/anna/mail")]);
        let phase = &mut trial.record.phases[0];
        phase.notes.push(secret.to_owned());
        let made = trial.record.made.as_mut().unwrap();
        made.record.push(("dumpe2fs /dev/loop7".into(), secret.to_owned()));
        made.mount_options = "rw,lowerdir=/home/anna/low".to_owned();
        made.device = "block device /dev/annas-ssd".to_owned();
        match index {
            0 => phase.status = PhaseStatus::Failed { reason: secret.to_owned() },
            1 => {
                let why = secret.to_owned();
                phase.not_comparable = Some(workload::NotComparable::Other { why });
            }
            2 => trial.outcome = Some(Outcome::Refused { reason: secret.to_owned() }),
            3 => {
                let reason = secret.to_owned();
                trial.outcome = Some(Outcome::Failed { step: Step::Mkfs, reason });
            }
            4 => {
                let (reason, kernel_log) = (secret.to_owned(), format!("sda: {secret}"));
                trial.outcome = Some(Outcome::GuestDied { reason, kernel_log });
            }
            _ => {}
        }
    }
    run
}

const PRIVATE: [&str; 6] = ["anna", "S3Z9NB0K", "/dev/", "/home/", "/run/", "&#x2f;home"];

#[test]
fn nothing_private_is_left_in_any_format() {
    let run = private_run();
    let mut quoting = BTreeSet::new();
    for format in FORMATS {
        let open = rendered(format.name(), &run, Options { full: true, ..Options::default() });
        quoting.extend(open.contains("anna").then_some(format.name()));
        let text = rendered(
            format.name(),
            &run,
            Options { full: true, redact: true, ..Options { full: true, ..Options::default() } },
        );
        for word in PRIVATE {
            let found = text.lines().find(|line| line.contains(word));
            assert_eq!(found, None, "{}: {word}", format.name());
        }
    }
    // Others may consist of figures and names alone, as CSV does.
    let all = BTreeSet::from(["terminal", "html", "json", "markdown"]);
    assert!(quoting.is_superset(&all), "without redaction only {quoting:?} quote what is private");
}

#[test]
fn figures_and_what_they_rest_on_stay() {
    let run = private_run();
    let text =
        rendered("terminal", &run, Options { full: true, redact: true, ..Options::default() });
    for kept in ["wall time", "ext4.ko", "6.18.5-amd64", "block device [path]", "trial refused: on"]
    {
        assert!(text.contains(kept), "{kept}\n{text}");
    }
    let page = rendered("html", &run, Options { redact: true, ..Options::default() });
    assert!(page.contains("AMD EPYC 7B13"));
    assert!(page.contains("fstrial run"), "the command line is made anew");
    let once = report::redacted(&run);
    assert_eq!(report::redacted(&once), once, "redacting twice changes nothing more");
}

/// A short command line is made of the words of the report itself.
#[test]
fn the_words_of_a_command_line_are_not_secrets() {
    let mut run = Synthetic::small().run();
    for (key, value) in
        [("command_line", "fstrial run maildir-write --fs=ext4"), ("mail_source", "synthetic")]
    {
        run.header.environment.0.insert(key.to_owned(), value.to_owned());
    }
    let text =
        rendered("terminal", &run, Options { full: true, redact: true, ..Options::default() });
    assert_eq!(text, rendered("terminal", &run, Options { full: true, ..Options::default() }));
}
