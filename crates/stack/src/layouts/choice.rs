//! A layout as chosen for a contender: its name and parameters, and how they are written.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{Layout, Parameter};
use crate::Refusal;

/// Which layout, with its parameters. On the command line `raid10x6+copies=far+journal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutChoice {
    /// The layout's name in [`crate::LAYOUTS`].
    pub name: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

impl Default for LayoutChoice {
    fn default() -> LayoutChoice {
        LayoutChoice { name: "single".to_owned(), parameters: BTreeMap::new() }
    }
}

impl LayoutChoice {
    /// Whether it is an array of a controller's own, which the kernel sees as one disk.
    pub fn is_hardware(&self) -> bool {
        self.name.starts_with("hw-")
    }

    /// Reads a layout as it is written on the command line, and checks it by the layout's
    /// own rules.
    ///
    /// # Errors
    /// An unknown layout, an unknown parameter, a rule broken.
    pub fn parse(text: &str) -> Result<LayoutChoice, Refusal> {
        let mut parts = text.split('+');
        let head = parts.next().unwrap_or_default();
        let (name, disks) = match head.rsplit_once('x') {
            Some((name, disks))
                if !disks.is_empty() && disks.chars().all(|c| c.is_ascii_digit()) =>
            {
                (name, Some(disks))
            }
            _ => (head, None),
        };
        let mut choice = LayoutChoice { name: name.to_owned(), parameters: BTreeMap::new() };
        if let Some(disks) = disks {
            choice.parameters.insert("disks".to_owned(), disks.to_owned());
        }
        for part in parts {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key, value),
                None if part == "journal" => (part, "external"),
                None => {
                    let rule = format!("`{part}` is not of the form name=value");
                    return Err(Refusal::new(format!("layout={text}"), rule));
                }
            };
            if choice.parameters.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(Refusal::new(
                    format!("layout={text}"),
                    format!("{key} is there twice"),
                ));
            }
        }
        choice.layout()?.disks(&choice)?;
        Ok(choice)
    }

    /// The layout chosen.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn layout(&self) -> Result<&'static dyn Layout, Refusal> {
        super::find(&self.name).ok_or_else(|| {
            let known = super::LAYOUTS.iter().map(|known| known.describe().name);
            Refusal::new(format!("layout={self}"), "there is no such layout")
                .with_next(text::meant(&self.name, known).unwrap_or_default())
        })
    }

    /// Whether it has a disk of its own for the journal.
    pub fn has_journal_disk(&self) -> bool {
        self.parameters.get("journal").is_some_and(|journal| journal == "external")
    }

    /// A refusal of this choice.
    pub(super) fn refuse(&self, rule: impl Into<String>) -> Refusal {
        Refusal::new(format!("layout={self}"), rule)
    }

    /// Checks names and, where they are words, values.
    pub(super) fn check(&self, parameters: &[&'static Parameter]) -> Result<(), Refusal> {
        for (name, value) in &self.parameters {
            let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
                let known: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
                let meant = text::alike(name, known.iter().copied())
                    .unwrap_or_else(|| format!("it takes: {}", known.join(", ")));
                return Err(self
                    .refuse(format!("{} has no parameter `{name}`", self.name))
                    .with_next(meant));
            };
            let mut words = parameter.values.split('|');
            let free = matches!(parameter.values, "SIZE" | "NUMBER" | "NAME");
            if !free && !words.any(|word| word == value) {
                return Err(self
                    .refuse(format!("{name} has no value `{value}`"))
                    .with_next(format!("it takes {}", parameter.values)));
            }
        }
        Ok(())
    }

    /// A number within limits, both included.
    pub(super) fn number(
        &self,
        parameter: &Parameter,
        default: usize,
        least: usize,
        most: usize,
        rule: &str,
    ) -> Result<usize, Refusal> {
        let Some(text) = self.value(parameter) else { return Ok(default) };
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            Ok(number) => Err(self
                .refuse(format!("{} is {number}; {rule}", parameter.name))
                .with_next(format!("{} lies between {least} and {most}", parameter.name))),
            Err(_) => Err(self.refuse(format!("{}: `{text}` is not a number", parameter.name))),
        }
    }

    /// A size that is a power of two within limits, both included.
    pub(super) fn size(
        &self,
        parameter: &Parameter,
        default: Bytes,
        least: Bytes,
        most: Bytes,
    ) -> Result<Bytes, Refusal> {
        let Some(text) = self.value(parameter) else { return Ok(default) };
        let size: Bytes =
            text.parse().map_err(|error| self.refuse(format!("{}: {error}", parameter.name)))?;
        if !size.0.is_power_of_two() || size < least || size > most {
            let rule = format!("{} is a power of two from {least} to {most}", parameter.name);
            return Err(self.refuse(rule));
        }
        Ok(size)
    }

    /// The value of a parameter.
    pub(super) fn value(&self, parameter: &Parameter) -> Option<&str> {
        self.parameters.get(parameter.name).map(String::as_str)
    }
}

/// As on the command line.
impl fmt::Display for LayoutChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(disks) = self.parameters.get("disks") {
            write!(f, "x{disks}")?;
        }
        for (key, value) in &self.parameters {
            match (key.as_str(), value.as_str()) {
                ("disks", _) => {}
                ("journal", "external") => f.write_str("+journal")?,
                _ => write!(f, "+{key}={value}")?,
            }
        }
        Ok(())
    }
}
