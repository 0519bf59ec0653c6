//! Our own TOML files, told apart by their tables.

use toml::{Table, Value};

use super::{Brought, Reader};

pub(super) const CUSTOM: Reader = Reader {
    what: "a file of phases and ops for `custom` (TOML)",
    workload: "custom",
    endings: &[],
    is: |text| tables(text, "phase").is_some_and(|it| it.iter().any(|t| t.contains_key("op"))),
    read: |text, _, _| Ok(kept(text, "file")),
};
pub(super) const PROGRAM: Reader = Reader {
    what: "a job's file for `program` (TOML)",
    workload: "program",
    endings: &["toml"],
    // fio's sections have one pair of brackets, and its values no quotes: any other TOML is ours, and
    // the workload says what is wrong with it.
    is: |text| {
        let is_toml = || text.parse::<Table>().is_ok_and(|it| !it.is_empty());
        text.contains("[[phase]]") || has_values_of_toml(text) || (!has_section(text) && is_toml())
    },
    read: |text, _, _| Ok(kept(text, "file")),
};
pub(super) const FFSB: Reader = Reader {
    what: "a profile of ours for `ffsb` (TOML)",
    workload: "ffsb",
    endings: &[],
    is: |text| tables(text, "group").is_some(),
    read: |text, _, _| Ok(kept(text, "profile")),
};

/// Whether all values are written as TOML has them, and one in quotes or brackets. fio's words, as in
/// `rw=read`, are not.
fn has_values_of_toml(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '"', '\'']));
    let values: Vec<&str> =
        lines.filter_map(|line| line.split_once('=')).map(|(_, value)| value.trim()).collect();
    let quoted = |value: &&str| value.starts_with(['"', '\'', '[', '{']);
    let bare = |value: &&str| {
        value.starts_with(|c: char| c.is_ascii_digit()) || ["true", "false"].contains(value)
    };
    values.iter().any(quoted) && values.iter().all(|value| quoted(value) || bare(value))
}

fn has_section(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| line.starts_with('[') && line.ends_with(']'))
}

/// The tables of this name at the top.
fn tables(text: &str, name: &str) -> Option<Vec<Table>> {
    let table: Table = text.parse().ok()?;
    let Value::Array(all) = table.get(name)? else { return None };
    Some(all.iter().filter_map(|value| value.as_table().cloned()).collect())
}

/// The text as it is; its workload says what is wrong with it.
fn kept(text: &str, parameter: &str) -> Brought {
    let mut brought = Brought::default();
    brought.set(parameter, text);
    brought
}
