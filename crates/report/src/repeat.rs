//! How to repeat a run: its own command line if it is known, else one that asks for the same.

use store::StoredRun;
use trial::WorkloadChoice;
use workload::Parameters;

use crate::analysis::written;

/// A command line. Paths of the original are not part of a reconstructed one.
pub(crate) fn command(run: &StoredRun) -> String {
    if let Some(given) = run.header.environment.0.get("command_line") {
        return given.clone();
    }
    let header = &run.header;
    let mut choices: Vec<&WorkloadChoice> = Vec::new();
    let mut contenders: Vec<String> = Vec::new();
    for trial in &run.trials {
        for choice in &trial.spec.workloads {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        let contender = written(&trial.spec.contender);
        if !contenders.contains(&contender) {
            contenders.push(contender);
        }
    }
    contenders.sort();
    // Parameters are stored with the scale applied. Where all are what the scale makes of
    // the defaults, the names suffice; else every one is spelled out at scale 1.
    let plain = choices.iter().all(|choice| is_default(choice, header.scale));
    let mut words = vec!["fstrial".to_owned(), "run".to_owned()];
    words.extend(choices.iter().map(|choice| {
        let mut word = choice.name.clone();
        if !plain {
            for (name, value) in choice.parameters.iter() {
                // A file's whole text is awkward in a command line, but it is what was run.
                let value = match value.contains('\n') {
                    true => value.to_owned(),
                    false => workload::shown(&choice.name, name, value),
                };
                word = format!("{word}:{name}={value}");
            }
        }
        quoted(&word)
    }));
    words.extend(["--testbed".to_owned(), quoted(&header.testbed)]);
    words.extend(["--fs".to_owned(), quoted(&contenders.join(","))]);
    words.extend(["--repeats".to_owned(), header.repeats.to_string()]);
    words.extend(["--seed".to_owned(), header.seed.to_string()]);
    words.extend(["--scale".to_owned(), if plain { header.scale } else { 1.0 }.to_string()]);
    words.join(" ")
}

fn is_default(choice: &WorkloadChoice, scale: f64) -> bool {
    workload::find(&choice.name).is_some_and(|workload| {
        Parameters::resolve(workload.describe(), &Default::default(), scale)
            .is_ok_and(|default| default == choice.parameters)
    })
}

/// A word of a command as one types it: quoted where a shell would read it otherwise.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,./:@%+^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
