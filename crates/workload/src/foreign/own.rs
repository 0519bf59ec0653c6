//! Our own TOML files, told apart by their tables.

use toml::{Table, Value};

use super::{Brought, Reader};

pub(super) const CUSTOM: Reader = Reader {
    what: "a file of phases and ops for `custom`",
    workload: "custom",
    is: |text| tables(text, "phase").is_some_and(|it| it.iter().any(|t| t.contains_key("op"))),
    read: |text, _, _| Ok(kept(text, "file")),
};
pub(super) const PROGRAM: Reader = Reader {
    what: "a job's file for `program`",
    workload: "program",
    is: |text| {
        text.parse::<Table>().is_ok_and(|it| it.contains_key("run"))
            || tables(text, "phase").is_some_and(|it| it.iter().any(|t| t.contains_key("run")))
    },
    read: |text, _, _| Ok(kept(text, "file")),
};
pub(super) const FFSB: Reader = Reader {
    what: "a profile for `ffsb`",
    workload: "ffsb",
    is: |text| tables(text, "group").is_some(),
    read: |text, _, _| Ok(kept(text, "profile")),
};

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
