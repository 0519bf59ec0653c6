//! A workload's parameters with their values: checked once, then read without errors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, ParseQuantityError};

use crate::amounts::range;
use crate::typed::{Typed, Value};
use crate::{Description, Kind, Limits, Parameter, Preset};

/// Every parameter of one workload with its value, defaults filled in and scale applied.
/// Stored with each trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(BTreeMap<String, String>);

/// What is wrong with a parameter as given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No such parameter.
    #[error("workload {workload} has no parameter `{name}`; {meant}")]
    Unknown {
        /// The workload.
        workload: &'static str,
        /// The name given.
        name: String,
        /// What was probably meant, or the names that exist.
        meant: String,
    },
    /// A value outside what the parameter takes.
    #[error("{workload}: {name}={value}: {problem}")]
    Value {
        /// The workload.
        workload: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: String,
        /// What is accepted.
        problem: String,
    },
}

impl Parameters {
    /// Fills in defaults, checks every value and multiplies what scales by `scale`
    /// (a scaled count never falls below its minimum, nor to 0 if it was not 0).
    ///
    /// # Errors
    /// On an unknown name or a value outside its kind.
    pub fn resolve(
        description: &'static Description,
        given: &BTreeMap<String, String>,
        scale: f64,
    ) -> Result<Parameters, ParameterError> {
        if let Some(name) =
            given.keys().find(|name| description.parameters.iter().all(|p| p.name != **name))
        {
            let known = description.parameters.iter().map(|p| p.name);
            return Err(ParameterError::Unknown {
                workload: description.name,
                name: name.clone(),
                meant: text::meant(name, known).unwrap_or_default(),
            });
        }
        let mut values = BTreeMap::new();
        for parameter in description.parameters {
            let value = given.get(parameter.name).map_or(parameter.default, String::as_str);
            let scale = if parameter.scales { scale } else { 1.0 };
            let value =
                canonical(parameter, value, scale).map_err(|problem| ParameterError::Value {
                    workload: description.name,
                    name: parameter.name,
                    value: value.to_owned(),
                    problem,
                })?;
            values.insert(parameter.name.to_owned(), value);
        }
        Ok(Parameters(values))
    }

    /// All names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a parameter, as its own type.
    ///
    /// # Panics
    /// If the constant belongs to another workload, that is, if the description these were
    /// resolved for does not list it.
    pub(crate) fn get<V: Value>(&self, parameter: &Typed<V>) -> V::Read<'_> {
        let name = parameter.row.name;
        match self.0.get(name).and_then(|text| V::read(text)) {
            Some(value) => value,
            None => panic!("the workload does not list the parameter {name}"),
        }
    }
}

impl Description {
    /// The question that these parameters answer: a preset's, if all that it sets agrees, apart
    /// from sizes.
    pub fn question(&self, parameters: &[(String, String)]) -> &'static str {
        let is_set = |(name, value): &(&str, &str)| {
            parameters.iter().any(|(known, given)| known == name && same(self, name, given, value))
        };
        // Sizes follow --scale, so they do not change the question.
        let scales = |(name, _): &&(&str, &str)| {
            self.parameters.iter().any(|known| known.name == *name && known.scales)
        };
        let is_asked = |preset: &&Preset| preset.set.iter().filter(|it| !scales(it)).all(is_set);
        let preset = self.presets.iter().find(is_asked);
        preset.map_or(self.headline.question, |preset| preset.question)
    }
}

/// Whether `written` means the same as `value`, which is in the notation of [`Parameters`].
fn same(description: &Description, name: &str, value: &str, written: &str) -> bool {
    let parameter = description.parameters.iter().find(|parameter| parameter.name == name);
    parameter
        .is_some_and(|it| canonical(it, written, 1.0).is_ok_and(|canonical| canonical == value))
}

/// `value` in the notation the accessors parse: counts, bytes and nanoseconds as digits.
fn canonical(parameter: &Parameter, value: &str, scale: f64) -> Result<String, String> {
    let quantity = |error: ParseQuantityError| error.to_string();
    let scaled = |amount: u64| (amount as f64 * scale).round() as u64;
    match parameter.kind {
        Kind::Count { min, max } => {
            let count: u64 = value
                .replace('_', "")
                .parse()
                .map_err(|_| format!("a whole number from {min} to {max} is expected"))?;
            if !(min..=max).contains(&count) {
                return Err(format!("a whole number from {min} to {max} is expected"));
            }
            // 0 often means that something is left out, and a smaller scale must not cause that.
            let least = min.max(u64::from(count > 0));
            Ok(scaled(count).clamp(least, max).to_string())
        }
        Kind::Size(limits) => {
            let size: Bytes = value.parse().map_err(quantity)?;
            limited(limits, size.0, scale, parameter.kind)
        }
        Kind::Time(limits) => {
            let time: Nanos = value.parse().map_err(quantity)?;
            limited(limits, time.0, scale, parameter.kind)
        }
        Kind::Fraction => match value.parse::<f64>() {
            Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction.to_string()),
            _ => Err("a number from 0 to 1 is expected".to_owned()),
        },
        Kind::Switch => match value {
            "on" | "off" => Ok(value.to_owned()),
            _ => Err("`on` or `off` is expected".to_owned()),
        },
        Kind::Choice(words) => {
            if words.iter().any(|(word, _)| *word == value) {
                return Ok(value.to_owned());
            }
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            Err(format!("one of {} is expected", known.join(", ")))
        }
        Kind::Words(words) => {
            if value == "all" {
                return Ok(value.to_owned());
            }
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let given: Vec<_> = value.split('+').collect();
            if let Some(unknown) = given.iter().find(|word| !known.contains(*word)) {
                let known = known.join(", ");
                return Err(format!("`{unknown}` is none of {known}; join several by +"));
            }
            let sorted: Vec<_> = known.into_iter().filter(|word| given.contains(word)).collect();
            Ok(sorted.join("+"))
        }
        Kind::Document(_) | Kind::Text => Ok(value.to_owned()),
    }
}

fn limited(limits: Limits, value: u64, scale: f64, kind: Kind) -> Result<String, String> {
    match limits.take(value) {
        true => Ok(limits.scaled(value, scale).to_string()),
        false => Err(format!("{} is expected", range(kind).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::typed::{ChoiceParameter, CountParameter, SizeParameter, WordsParameter, choice};

    const OPS: CountParameter = CountParameter::new("ops", "", 10, 1_000_000, "10_000").scaled();
    const DIRS: CountParameter = CountParameter::new("dirs", "", 0, 10, "3").scaled();
    const BLOCK: SizeParameter =
        SizeParameter::new("block", "", Bytes(512), Bytes::from_kib(64), "4K").in_steps_of(512);
    const ROOM: SizeParameter =
        SizeParameter::new("room", "", Bytes(100), Bytes(1000), "0").or_zero().scaled();
    choice! {
        /// What is synced.
        enum Fsync {
            None = "none": "nothing",
            File = "file": "the file",
        }
    }
    const FSYNC: ChoiceParameter<Fsync> = ChoiceParameter::of("fsync", "", "none");
    const PARTS: WordsParameter =
        WordsParameter::new("parts", "", &[("one", ""), ("two", "")], "all");

    static SAMPLE: Description = Description {
        name: "sample",
        summary: "",
        origin: "",
        headline: crate::Headline {
            question: "nothing",
            phase: "",
            metric: "ops_rate",
            things: "ops",
        },
        presets: &[],
        inputs: &[],
        parameters: &[OPS.row, DIRS.row, BLOCK.row, ROOM.row, FSYNC.row, PARTS.row],
        phases: &[],
    };

    fn resolve(given: &[(&str, &str)], scale: f64) -> Result<Parameters, ParameterError> {
        let given = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Parameters::resolve(&SAMPLE, &given, scale)
    }

    #[test]
    fn defaults_are_filled_in_and_scale_touches_only_what_scales() {
        let values = resolve(&[], 0.1).unwrap();
        assert_eq!(values.get(&OPS), 1000);
        assert_eq!(values.get(&BLOCK), Bytes(4096));
        assert_eq!(values.get(&FSYNC), Fsync::None);
        assert_eq!(resolve(&[], 1e-9).unwrap().get(&OPS), 10, "never below the minimum");
        assert_eq!(resolve(&[], 1e-9).unwrap().get(&DIRS), 1, "nor to what means none");
        assert_eq!(resolve(&[("dirs", "0")], 2.0).unwrap().get(&DIRS), 0);
    }

    #[test]
    fn sizes_stay_within_their_limits_scaled_or_not() {
        let room = |given, scale| resolve(&[("room", given)], scale).unwrap().get(&ROOM).0;
        assert_eq!([room("0", 5.0), room("200", 0.1), room("200", 3.0)], [0, 100, 600]);
        assert_eq!(room("1000", 7.0), 1000);
        let message = |given| resolve(&[given], 1.0).unwrap_err().to_string();
        let expected = "a size from 100 to 1000, or 0 is expected";
        assert_eq!(message(("room", "99")), format!("sample: room=99: {expected}"));
        let expected = "a size from 512 to 64K, a multiple of 512 is expected";
        for wrong in ["0", "700", "65K"] {
            assert_eq!(message(("block", wrong)), format!("sample: block={wrong}: {expected}"));
        }
        assert!(message(("block", "-512")).starts_with("sample: block=-512: "));
    }

    /// Whatever parameters may be, nothing overflows or panics before a trial.
    #[test]
    fn the_smallest_and_the_largest_values_are_checked_and_have_a_size() {
        let ends = |kind: Kind| match kind {
            Kind::Count { min, max } => [min.to_string(), max.to_string()],
            Kind::Size(limits) => [limits.min, limits.max].map(|size| size.to_string()),
            Kind::Time(limits) => [limits.min, limits.max].map(|time| format!("{time}ns")),
            Kind::Fraction => ["0", "1"].map(str::to_owned),
            Kind::Switch => ["off", "on"].map(str::to_owned),
            _ => Default::default(),
        };
        for workload in crate::catalogue() {
            let description = workload.describe();
            let look = |given: &BTreeMap<String, String>| {
                let Ok(parameters) = Parameters::resolve(description, given, 1.0) else {
                    assert_eq!(description.name, "program", "{given:?}");
                    return;
                };
                let _ = workload.check(&parameters);
                let facts = crate::InputFacts {
                    mean_mail: Bytes::from_mib(64),
                    source_tree: Some(crate::corpora::TreeFacts {
                        entries: u64::MAX >> 20,
                        files: u64::MAX >> 20,
                        bytes: u64::MAX,
                    }),
                };
                let _ = workload.space(&parameters, &facts);
                let _ = workload.figures(&parameters);
            };
            let all = |end: usize| -> BTreeMap<String, String> {
                let limited = description.parameters.iter();
                let ends =
                    limited.map(|known| (known.name.to_owned(), ends(known.kind)[end].clone()));
                ends.filter(|(_, value)| !value.is_empty()).collect()
            };
            // Its trees are drawn to know their size: the largest takes minutes.
            let ends = if description.name == "mongo" { 0..1 } else { 0..2 };
            for end in ends {
                look(&all(end));
                for (name, value) in all(end) {
                    look(&BTreeMap::from([(name, value)]));
                }
            }
        }
    }

    #[test]
    fn errors_name_the_parameter_and_what_it_takes() {
        let message = |given| resolve(given, 1.0).unwrap_err().to_string();
        assert_eq!(
            message(&[("opps", "3")]),
            "workload sample has no parameter `opps`; did you mean `ops`?"
        );
        assert_eq!(
            message(&[("fsync", "all")]),
            "sample: fsync=all: one of none, file is expected"
        );
        assert!(message(&[("parts", "one+three")]).contains("`three` is none of one, two"));
        let parts = resolve(&[("parts", "two+one")], 1.0).unwrap();
        assert!(parts.get(&PARTS).have("two") && !parts.get(&PARTS).are_all());
        assert!(message(&[("ops", "3")]).contains("from 10 to 1000000"));
    }
}
