//! Reads a device's file and checks what types cannot: that it describes exactly one device, and
//! that each parameter has an origin. Every error names file, line and key.

use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::{ArrayOf, DescriptionError, Device, DiskDescription, Provenance, Variant, shipped};
use crate::models::flash::SsdParameters;
use crate::models::hypervisor::HypervisorParameters;
use crate::models::ideal::IdealParameters;
use crate::models::mechanical::DriveParameters;
use crate::models::raid::ControllerParameters;
use crate::published::Published;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    variant: Variant,
    year: Option<u32>,
    drive: Option<DriveParameters>,
    ssd: Option<SsdParameters>,
    controller: Option<ControllerParameters>,
    hypervisor: Option<HypervisorParameters>,
    ideal: Option<IdealParameters>,
    #[serde(default)]
    source: Vec<Source>,
    #[serde(default)]
    assumption: Vec<Assumption>,
    #[serde(default)]
    published: Vec<Published>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    of: Vec<String>,
    from: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumption {
    of: Vec<String>,
    because: String,
}

/// A section, a key in it, and what is wrong with it.
type Problem = (&'static str, String, String);

/// Reads the text of a file called `file`.
pub(super) fn parse(file: &str, text: &str, role: As) -> Result<DiskDescription, DescriptionError> {
    let syntax = |error: toml::de::Error| DescriptionError::Syntax {
        file: file.to_owned(),
        message: error.to_string().trim_end().to_owned(),
    };
    let mut parsed: File = toml::from_str(text).map_err(syntax)?;
    let at = |(section, key, problem): Problem| DescriptionError::Value {
        file: file.to_owned(),
        line: line_of(text, section, &key),
        key,
        problem,
    };
    let (section, device) = device_of(file, &mut parsed, role, &at)?;
    let sources = parsed.source.into_iter().map(|source| Provenance {
        of: source.of,
        text: source.from,
        assumed: false,
    });
    let assumptions = parsed.assumption.into_iter().map(|assumption| Provenance {
        of: assumption.of,
        text: assumption.because,
        assumed: true,
    });
    let provenance: Vec<Provenance> = sources.chain(assumptions).collect();
    let table: toml::Table = toml::from_str(text).map_err(syntax)?;
    check_provenance(&table, section, &provenance).map_err(at)?;
    for published in &parsed.published {
        check_published(published).map_err(at)?;
    }
    Ok(DiskDescription {
        name: parsed.name,
        title: parsed.title,
        variant: parsed.variant,
        year: parsed.year,
        device,
        provenance,
        published: parsed.published,
    })
}

/// The one device that a file describes, checked, and the section it is in.
fn device_of(
    file: &str,
    parsed: &mut File,
    role: As,
    at: &dyn Fn(Problem) -> DescriptionError,
) -> Result<(&'static str, Device), DescriptionError> {
    let checked = |section: &'static str, check: Result<(), (&'static str, String)>| {
        check.map_err(|(key, problem)| at((section, key.to_owned(), problem)))
    };
    let wrong = |section: &'static str, key: &str, problem: &str| {
        Err(at((section, key.to_owned(), problem.to_owned())))
    };
    let File { drive, ssd, controller, hypervisor, ideal, .. } = parsed;
    match (drive.take(), ssd.take(), controller.take(), hypervisor.take(), ideal.take()) {
        (None, None, Some(_), None, None) if matches!(role, As::Member) => wrong(
            "controller",
            "controller",
            "cannot be the member of another controller: name a drive",
        ),
        (None, None, Some(controller), None, None) => {
            let (controller, member) = match role {
                As::Array(array) => array.behind(controller),
                As::Itself | As::Member => {
                    let member = member_of(file, &controller.member)?;
                    (controller, member)
                }
            };
            checked("controller", controller.check())?;
            if matches!(member.device, Device::Controller(..)) {
                let problem = "cannot be a controller itself: name a drive";
                return wrong("controller", "member", problem);
            }
            Ok(("controller", Device::Controller(Box::new(controller), Box::new(member))))
        }
        _ if matches!(role, As::Array(_)) => {
            wrong("", "controller", "is needed to put disks behind it: this describes none")
        }
        (Some(drive), None, None, None, None) => {
            checked("drive", drive.check())?;
            Ok(("drive", Device::Drive(Box::new(drive))))
        }
        (None, Some(ssd), None, None, None) => {
            checked("ssd", ssd.check())?;
            Ok(("ssd", Device::Ssd(Box::new(ssd))))
        }
        (None, None, None, Some(hypervisor), None) => {
            checked("hypervisor", hypervisor.check())?;
            Ok(("hypervisor", Device::Hypervisor(hypervisor)))
        }
        (None, None, None, None, Some(ideal)) => {
            checked("ideal", ideal.check())?;
            Ok(("ideal", Device::Ideal(ideal)))
        }
        _ => wrong(
            "",
            "drive",
            "must be one: give exactly one of [drive], [ssd], [controller], [hypervisor], [ideal]",
        ),
    }
}

/// The role of the device that a text describes.
pub(super) enum As {
    Itself,
    Member,
    Array(Box<ArrayOf>),
}

/// The description of a controller's member: a shipped device, or a file beside `file`.
fn member_of(file: &str, member: &str) -> Result<DiskDescription, DescriptionError> {
    if !member.ends_with(".toml") {
        return shipped(member);
    }
    let beside = Path::new(file).parent().unwrap_or(Path::new("")).join(member);
    parse(&beside.display().to_string(), &read(&beside)?, As::Member)
}

pub(super) fn read(path: &Path) -> Result<String, DescriptionError> {
    files::read_text(path)
        .map_err(|error| DescriptionError::Read { path: path.to_owned(), source: error.source })
}

/// Checks that a published figure can be compared with.
fn check_published(published: &Published) -> Result<(), Problem> {
    let tolerance = published.tolerance_percent;
    for (key, value) in [("value", Some(published.value)), ("tolerance_percent", tolerance)] {
        if value.is_some_and(|value| !(value >= 0.0 && value.is_finite())) {
            return Err(("", key.to_owned(), "must be a number, 0 or more".to_owned()));
        }
    }
    Ok(())
}

/// Checks that every parameter is named exactly once, as sourced or as assumed, and that nothing
/// else is named.
fn check_provenance(
    table: &toml::Table,
    section: &'static str,
    provenance: &[Provenance],
) -> Result<(), Problem> {
    let Some(parameters) = table.get(section).and_then(toml::Value::as_table) else {
        return Ok(());
    };
    for key in parameters.keys() {
        let named = provenance.iter().flat_map(|entry| &entry.of).filter(|of| *of == key).count();
        if named != 1 {
            let problem = if named == 0 {
                "has no origin: name it in the `of` of a [[source]] or an [[assumption]]"
            } else {
                "has more than one origin: name it in one [[source]] or [[assumption]]"
            };
            return Err((section, key.clone(), problem.to_owned()));
        }
    }
    let known = |of: &&String| !parameters.contains_key(*of);
    match provenance.iter().flat_map(|entry| &entry.of).find(known) {
        None => Ok(()),
        Some(stray) => {
            let problem = format!("names `{stray}`, which [{section}] does not have");
            Err(("", "of".to_owned(), problem))
        }
    }
}

/// The line on which `key` is set in `section`; the section's own, or the first, where it is not
/// set at all. Without a section it is looked for everywhere.
fn line_of(text: &str, section: &str, key: &str) -> usize {
    let Ok(root) = DeTable::parse(text) else { return 1 };
    let offset = if section.is_empty() {
        offset_below(root.get_ref(), key)
    } else {
        root.get_ref().get_key_value(section).map(|(name, value)| {
            let table = value.get_ref().as_table();
            let entry = table.and_then(|table| table.get_key_value(key));
            entry.map_or(name.span().start, |(name, _)| name.span().start)
        })
    };
    1 + text[..offset.unwrap_or_default()].matches('\n').count()
}

/// The offset of the first `key` in this table or one below it.
fn offset_below(table: &DeTable<'_>, key: &str) -> Option<usize> {
    let here = table.get_key_value(key).map(|(name, _)| name.span().start);
    let below = table.values().flat_map(|value| match value.get_ref() {
        DeValue::Table(table) => vec![table],
        DeValue::Array(array) => {
            array.iter().filter_map(|value| value.get_ref().as_table()).collect()
        }
        _ => Vec::new(),
    });
    here.into_iter().chain(below.filter_map(|table| offset_below(table, key))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_keys_or_its_sections() {
        let text = "name = \"a\"\n\n[drive]\nrpm = 5\nseek = { single = \"1ms\" }\n\
                    overhead.read = 1\n\n[drive.layout]\nzones = 1\n\n[[source]]\nof = [\"rpm\"]\n\
                    [[assumption]]\nof = [\"x\"]\n";
        for (section, key, line) in [
            ("drive", "rpm", 4),
            ("drive", "seek", 5),
            ("drive", "overhead", 6),
            ("drive", "layout", 8),
            ("drive", "missing", 3),
            ("ssd", "missing", 1),
            ("", "of", 12),
            ("", "rpm", 4),
            ("", "single", 5),
            ("", "zones", 9),
            ("", "missing", 1),
        ] {
            assert_eq!(line_of(text, section, key), line, "[{section}] {key}");
        }
        assert_eq!(line_of("no toml", "drive", "rpm"), 1);
    }
}
