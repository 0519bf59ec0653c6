//! A disk description as a table in which single parameters can be changed: which parameters are
//! fitted, and the origin of each in the fitted file.

use disk::DiskDescription;
use units::{Bytes, Nanos};

use crate::FitError;
use crate::plan::{Kind, Role};

/// A parameter that is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// Its name in the file, with a dot between table and key.
    pub(crate) key: &'static str,
    /// How it is written.
    form: Form,
    /// The role of the sessions that depend on it.
    pub(crate) told_by: Role,
}

impl Unknown {
    /// Whether it is a small count.
    pub(crate) fn is_few(&self) -> bool {
        self.form == Form::Few
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Time,
    Size,
    Whole,
    /// A small whole number, where a difference of one makes a different disk.
    Few,
    Rate,
}

const fn unknown(key: &'static str, form: Form, told_by: Role) -> Unknown {
    Unknown { key, form, told_by }
}

/// The fitted parameters of a mechanical drive.
const OF_A_DRIVE: &[Unknown] = &[
    unknown("rpm", Form::Whole, Role::Reads),
    unknown("seek.single", Form::Time, Role::Reads),
    unknown("seek.average", Form::Time, Role::Reads),
    unknown("seek.full", Form::Time, Role::Reads),
    unknown("overhead.read_miss", Form::Time, Role::Reads),
    unknown("overhead.read_hit", Form::Time, Role::Reads),
    unknown("ramp.outer", Form::Whole, Role::Reads),
    unknown("ramp.inner", Form::Whole, Role::Reads),
    unknown("head_switch", Form::Time, Role::Reads),
    unknown("cylinder_switch", Form::Time, Role::Reads),
    unknown("link_mb_per_s", Form::Rate, Role::Reads),
    unknown("queue_depth", Form::Whole, Role::Reads),
    unknown("seek.write_settle", Form::Time, Role::Writes),
    unknown("overhead.write_hit", Form::Time, Role::Writes),
    unknown("overhead.write_miss", Form::Time, Role::Writes),
    unknown("write_buffer", Form::Size, Role::Writes),
];

/// The fitted parameters of an SSD.
const OF_AN_SSD: &[Unknown] = &[
    unknown("read", Form::Time, Role::Reads),
    unknown("command_read", Form::Time, Role::Reads),
    unknown("command_interval", Form::Time, Role::Reads),
    unknown("channels", Form::Few, Role::Reads),
    unknown("dies_per_channel", Form::Few, Role::Reads),
    unknown("channel_mb_per_s", Form::Rate, Role::Reads),
    unknown("link_mb_per_s", Form::Rate, Role::Reads),
    unknown("queue_depth", Form::Whole, Role::Reads),
    unknown("program", Form::Time, Role::Writes),
    unknown("command_write", Form::Time, Role::Writes),
    unknown("suspend", Form::Time, Role::Writes),
    unknown("write_buffer", Form::Size, Role::Writes),
    unknown("flush", Form::Time, Role::Writes),
];

/// The fitted parameters of a disk that a hypervisor serves.
const OF_A_HYPERVISOR: &[Unknown] = &[
    unknown("wake", Form::Time, Role::Reads),
    unknown("scatter", Form::Time, Role::Reads),
    unknown("command_read", Form::Time, Role::Reads),
    unknown("read_mb_per_s", Form::Rate, Role::Reads),
    unknown("command_write", Form::Time, Role::Writes),
    unknown("write_mb_per_s", Form::Rate, Role::Writes),
    unknown("flush", Form::Time, Role::Writes),
];

/// The tables of disk descriptions that can be fitted: name, kind of plan, and fitted parameters.
const SECTIONS: &[(&str, Kind, &[Unknown])] = &[
    ("drive", Kind::Drive, OF_A_DRIVE),
    ("ssd", Kind::Ssd, OF_AN_SSD),
    ("hypervisor", Kind::Ssd, OF_A_HYPERVISOR),
];

/// A disk's file, with parameters that can be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    table: toml::Table,
    section: &'static str,
    kind: Kind,
    fitted: &'static [Unknown],
}

impl Description {
    /// Reads the text of a file called `name`.
    ///
    /// # Errors
    /// When it describes no single drive or SSD.
    pub fn parse(name: &str, text: &str) -> Result<Description, FitError> {
        let table: toml::Table =
            text.parse().map_err(|error| FitError::Unfit(format!("{name}: {error}")))?;
        let known = SECTIONS.iter().find(|(section, ..)| table.contains_key(*section));
        let Some(&(section, kind, fitted)) = known else {
            let problem = "describes neither a drive, an SSD nor a hypervisor's disk: only these can \
                           be fitted";
            return Err(FitError::Unfit(format!("{name} {problem}")));
        };
        Ok(Description { table, section, kind, fitted })
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.table.get("name").and_then(toml::Value::as_str).unwrap_or_default()
    }

    /// The file's text.
    pub fn text(&self) -> String {
        self.table.to_string()
    }

    /// The disk.
    ///
    /// # Errors
    /// When the parameters do not fit together.
    pub fn disk(&self) -> Result<DiskDescription, FitError> {
        DiskDescription::parse(self.name(), &self.text())
            .map_err(|error| FitError::Unfit(error.to_string()))
    }

    /// Those of its parameters that can be fitted.
    pub(crate) fn unknowns(&self) -> Vec<Unknown> {
        let all = self.fitted;
        all.iter().filter(|unknown| self.get(unknown).is_some_and(|v| v > 0.0)).copied().collect()
    }

    /// A parameter as a number: nanoseconds, bytes, or as it stands.
    pub(crate) fn get(&self, unknown: &Unknown) -> Option<f64> {
        let section = self.table.get(self.section)?;
        let value = unknown.key.split('.').try_fold(section, |table, key| table.get(key))?;
        match value {
            toml::Value::Integer(number) => Some(*number as f64),
            toml::Value::Float(number) => Some(*number),
            toml::Value::String(text) => match unknown.form {
                Form::Size => text.parse::<Bytes>().ok().map(|size| size.0 as f64),
                _ => text.parse::<Nanos>().ok().map(|time| time.0 as f64),
            },
            _ => None,
        }
    }

    /// Multiplies a parameter.
    pub(crate) fn scale(&mut self, unknown: &Unknown, factor: f64) {
        let Some(old) = self.get(unknown) else { return };
        let new = old * factor;
        let value = match unknown.form {
            Form::Time => format!("{}ns", new.round().max(1.0)).into(),
            Form::Size => format!("{}K", (new / 1024.0).round().max(64.0)).into(),
            Form::Whole | Form::Few => toml::Value::Integer(new.round().max(1.0) as i64),
            Form::Rate => toml::Value::Float((new * 10.0).round().max(1.0) / 10.0),
        };
        let mut keys = unknown.key.split('.').rev();
        let last = keys.next().unwrap_or_default();
        let section = self.section;
        let place = self.table.get_mut(section);
        let place = keys.rev().fold(place, |table, key| table?.get_mut(key));
        if let Some(table) = place.and_then(toml::Value::as_table_mut) {
            table.insert(last.to_owned(), value);
        }
    }

    /// The same disk with another name and number of sectors, and with each parameter's origin:
    /// those in `fitted` were fitted, the others are those of the model from which the fit started.
    pub(crate) fn told(mut self, named: &Named<'_>, fitted: &[Unknown]) -> Description {
        let start = self.name().to_owned();
        let section = self.section;
        let keys: Vec<String> = match self.table.get_mut(section) {
            Some(toml::Value::Table(table)) => {
                table.insert("sectors".to_owned(), (named.sectors as i64).into());
                table.keys().cloned().collect()
            }
            _ => Vec::new(),
        };
        let was_fitted =
            |key: &String| fitted.iter().any(|unknown| unknown.key.split('.').next() == Some(key));
        let (fitted, others): (Vec<_>, Vec<_>) = keys.into_iter().partition(was_fitted);
        let origin = |of: Vec<String>, key: &str, text: String| {
            let of = of.into_iter().map(toml::Value::String).collect::<Vec<_>>();
            let table = [("of".to_owned(), of.into()), (key.to_owned(), text.into())];
            toml::Value::Array(vec![toml::Value::Table(table.into_iter().collect())])
        };
        let because =
            format!("`sectors` as the disk has them, the rest as in {start}, where the fit began.");
        for (key, value) in [
            ("name", named.name.into()),
            ("title", named.title.into()),
            ("variant", "fitted".into()),
            ("source", origin(fitted, "from", named.source.to_owned())),
            ("assumption", origin(others, "because", because)),
        ] {
            self.table.insert(key.to_owned(), value);
        }
        self.table.remove("published");
        self.table.remove("year");
        self
    }
}

/// What a fitted disk is called and where it comes from.
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) sectors: u64,
    pub(crate) source: &'a str,
}
