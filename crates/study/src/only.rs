//! `--only`: which parts, contenders, workloads and assumptions of a study run.

use crate::Study;
use crate::problem::suggest;

/// Names of one kind; if none is named, all are taken.
#[derive(Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|known| known == name)
    }

    pub(crate) fn is_named(&self) -> bool {
        !self.0.is_empty()
    }
}

/// What `--only` names, by kind.
#[derive(Default)]
pub(crate) struct Only {
    pub(crate) parts: Names,
    pub(crate) contenders: Names,
    pub(crate) workloads: Names,
    pub(crate) assumptions: Names,
}

impl Only {
    pub(crate) fn of(study: &Study, words: &[String]) -> Result<Only, String> {
        let parts = || study.parts.iter().map(|part| part.id.as_str());
        let contenders =
            || study.parts.iter().flat_map(|part| &part.contenders).map(|it| &*it.contender.name);
        let workloads = || study.parts.iter().flat_map(|part| &part.workloads).map(|it| &*it.id);
        let assumptions = || study.assumptions.iter().map(|it| it.id.as_str());
        let mut only = Only::default();
        for word in words {
            let mut known = false;
            // A part with one workload of the same name means the part: otherwise no other part
            // that is named has any workload left.
            let part = parts().any(|name| name == word);
            for (names, found) in [
                (&mut only.parts, part),
                (&mut only.contenders, contenders().any(|name| name == word)),
                (&mut only.workloads, !part && workloads().any(|name| name == word)),
                (&mut only.assumptions, assumptions().any(|name| name == word)),
            ] {
                names.0.extend(found.then(|| word.clone()));
                known |= found;
            }
            if !known {
                let all = parts().chain(contenders()).chain(workloads()).chain(assumptions());
                // Parts share contenders and workloads: each name once.
                let mut names: Vec<&str> = Vec::new();
                for name in all {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let hint = suggest(word, names).unwrap_or_default();
                return Err(format!(
                    "--only {word}: {} has no such part, contender, workload or assumption; {hint}",
                    study.name
                ));
            }
        }
        Ok(only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, load};

    #[test]
    fn a_name_that_is_not_there_is_answered_with_each_that_is_once() {
        let study = load(&Source::find("maildir-2004").unwrap()).unwrap();
        let error = Only::of(&study, &["nothing".to_owned()]).err().unwrap();
        for name in ["reiserfs", "write", "raid5"] {
            let words = error.split([' ', ',']).filter(|word| *word == name).count();
            assert_eq!(words, 1, "{name}: {error}");
        }
    }
}
