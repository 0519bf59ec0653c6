//! Profiles of FFSB, of version 5.2.1 with numbered sections and of 6.

use std::path::Path;

use toml::{Table, Value};

use super::{Brought, Reader, at};

pub(super) const READER: Reader = Reader {
    what: "a profile of FFSB",
    workload: "ffsb",
    endings: &["ffsb"],
    is: |text| {
        let begins = |line: &str, word: &str| {
            let inside = line.strip_prefix('[').and_then(|rest| rest.split(']').next());
            inside.is_some_and(|it| it.trim_end_matches(|c: char| c.is_ascii_digit()) == word)
        };
        text.lines().any(|line| begins(line.trim(), "threadgroup"))
    },
    read: |text, path, _| read(text, path),
};

/// Weights that our profile has under another name.
const WEIGHTS: [(&str, &str); 8] = [
    ("read_weight", "read"),
    ("readall_weight", "readall"),
    ("write_weight", "write"),
    ("create_weight", "create"),
    ("append_weight", "append"),
    ("delete_weight", "delete"),
    ("meta_weight", "meta"),
    ("metaop_weight", "meta"),
];

/// What `ffsb` cannot do, and what to do instead.
const NOT_KNOWN: [(&str, &str); 20] = [
    ("callout", "it runs a program; leave it out"),
    ("bufferio", "buffers of the C library are not known here; leave it out"),
    ("size_weight", SIZES),
    ("init_size", "set num_files"),
    ("init_util", "set num_files"),
    ("clone", ONE),
    ("write_fsync_weight", FSYNC),
    ("create_fsync_weight", FSYNC),
    ("append_fsync_weight", FSYNC),
    ("writeall_fsync_weight", FSYNC),
    ("writeall_weight", KIND),
    ("stat_weight", KIND),
    ("open_close_weight", KIND),
    ("createdir_weight", KIND),
    ("read_skip", "reads that leave out blocks are not known here; leave it out"),
    ("read_skipsize", "reads that leave out blocks are not known here; leave it out"),
    ("age_blocksize", "what ages the filesystem writes 64 KiB; leave it out"),
    ("initialcreateweight", OLD),
    ("initialdeleteweight", OLD),
    ("numconfigs", OLD),
];
const SIZES: &str = "sizes by weight are not known here; give min_filesize and max_filesize";
const ONE: &str = "one filesystem is under test; leave it out";
const FSYNC: &str = "fsync after some ops only is not known here; fsync_file=1 is, for all";
const KIND: &str = "ops of this kind are not known here; leave it out or give it the weight 0";
const OLD: &str = "this is the format before sections, which is not known here";

/// A section that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Filesystem,
    Group,
    /// The threads that age the filesystem, inside its section.
    Ageing,
    Statistics,
}

/// The text while it is read.
#[derive(Default)]
struct Profile {
    brought: Brought,
    groups: Vec<Table>,
    /// Read and write sizes of the group, which have to be the same where it does both.
    sizes: Sizes,
    open: Vec<Section>,
    filesystems: usize,
    is_aged: bool,
    utilisation: Option<String>,
    ageing: [u64; 3],
}

/// What reads and writes of a group are like: size, block, random.
#[derive(Default, Clone)]
struct Sizes {
    line: usize,
    read: [Option<u64>; 3],
    write: [Option<u64>; 3],
}

fn read(text: &str, path: &Path) -> Result<Brought, String> {
    let mut profile = Profile::default();
    profile.brought.set("direct", "off");
    profile.brought.set("align", "off");
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            let wrong = |what: String| at(path, number + 1, format!("{line}: {what}"));
            profile.line(line, number + 1).map_err(wrong)?;
        }
    }
    profile.end().map_err(|what| at(path, text.lines().count(), what))
}

impl Profile {
    fn line(&mut self, line: &str, number: usize) -> Result<(), String> {
        if let Some(name) = line.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or("").trim();
            let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
            return self.section(name, number);
        }
        // `size_weight 4k 33` and the ranges of statistics have no sign.
        let (name, value) = line
            .split_once('=')
            .or_else(|| line.split_once(char::is_whitespace))
            .ok_or("NAME=VALUE is expected")?;
        let (name, value) = (name.trim(), value.trim());
        let is_on = value != "0";
        if let Some((_, why)) = NOT_KNOWN.iter().find(|(known, _)| *known == name)
            && is_on
        {
            return Err((*why).to_owned());
        }
        if NOT_KNOWN.iter().any(|(known, _)| *known == name) {
            return Ok(());
        }
        match self.open.last() {
            None => self.global(name, value),
            Some(Section::Filesystem) => self.filesystem(name, value),
            Some(Section::Group) => self.group(name, value),
            Some(Section::Ageing) => self.ageing(name, value),
            Some(Section::Statistics) => Ok(()),
        }
    }

    fn section(&mut self, name: &str, number: usize) -> Result<(), String> {
        match (name, self.open.last()) {
            ("end", Some(section)) => {
                if *section == Section::Group {
                    self.group_ends()?;
                }
                self.open.pop();
            }
            ("filesystem", None) => {
                self.filesystems += 1;
                if self.filesystems > 1 {
                    return Err(ONE.to_owned());
                }
                self.open.push(Section::Filesystem);
            }
            ("threadgroup", None) => {
                self.groups.push(Table::new());
                self.sizes = Sizes { line: number, ..Sizes::default() };
                self.open.push(Section::Group);
            }
            ("threadgroup", Some(Section::Filesystem)) => self.open.push(Section::Ageing),
            ("stats", Some(Section::Group)) => self.open.push(Section::Statistics),
            _ => return Err("filesystem, threadgroup, stats and end are the sections".to_owned()),
        }
        Ok(())
    }

    fn global(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "time" => self.brought.set("time", format!("{}s", whole(value)?)),
            "directio" => self.brought.set("direct", switch(value)?),
            "alignio" => self.brought.set("align", switch(value)?),
            "num_filesystems" if whole(value)? > 1 => return Err(ONE.to_owned()),
            // How much it prints, and what it counts itself.
            "num_filesystems" | "num_threadgroups" | "verbose" | "bufferedio" => {}
            _ => return Err("FFSB has no such option before the sections".to_owned()),
        }
        Ok(())
    }

    fn filesystem(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "num_files" if value == "0" => {}
            "num_files" => self.brought.set("files", whole(value)?.to_string()),
            "num_dirs" => {
                let given = whole(value)?;
                if given == 0 {
                    let note = "num_dirs=0: the files lie in one directory below the target";
                    self.brought.notes.push(note.to_owned());
                }
                self.brought.set("directories", given.max(1).to_string());
            }
            "min_filesize" => self.brought.set("min_size", size(value)?.to_string()),
            "max_filesize" => self.brought.set("max_size", size(value)?.to_string()),
            "create_blocksize" => self.brought.set("create_block", size(value)?.to_string()),
            "agefs" => self.is_aged = switch(value)? == "on",
            "desired_util" => self.utilisation = Some(value.to_owned()),
            // The filesystem is a fresh one, in the directory under test.
            "location" | "reuse" => {}
            _ => return Err("FFSB has no such option in a filesystem".to_owned()),
        }
        Ok(())
    }

    fn ageing(&mut self, name: &str, value: &str) -> Result<(), String> {
        let kinds = ["create_weight", "append_weight", "delete_weight"];
        match kinds.iter().position(|known| *known == name) {
            Some(place) => self.ageing[place] = whole(value)?,
            None if name.ends_with("_weight") && whole(value)? > 0 => {
                return Err("files are created, appended to and deleted to age it".to_owned());
            }
            // One thread does it, with sizes of its own.
            None => {}
        }
        Ok(())
    }

    fn group(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(group) = self.groups.last_mut() else { return Ok(()) };
        if let Some((_, kind)) = WEIGHTS.iter().find(|(known, _)| *known == name) {
            let weights = group.entry("weights").or_insert_with(|| Value::Table(Table::new()));
            if let Some(weights) = weights.as_table_mut() {
                weights.insert((*kind).to_owned(), Value::Integer(integer(value)?));
            }
            return Ok(());
        }
        let places = ["size", "blocksize", "random"];
        if let Some((way @ ("read" | "write"), which)) = name.split_once('_')
            && let Some(place) = places.iter().position(|known| *known == which)
        {
            let value = size(value)?;
            let of = if way == "read" { &mut self.sizes.read } else { &mut self.sizes.write };
            of[place] = Some(value);
            return Ok(());
        }
        match name {
            "num_threads" => {
                group.insert("threads".to_owned(), Value::Integer(integer(value)?));
            }
            "fsync_file" => {
                group.insert("fsync".to_owned(), Value::Boolean(switch(value)? == "on"));
            }
            "op_delay" => {
                group.insert("delay".to_owned(), Value::String(format!("{}ms", whole(value)?)));
            }
            "bindfs" => {}
            _ => return Err("FFSB has no such option in a threadgroup".to_owned()),
        }
        Ok(())
    }

    /// Decides what reads and writes of the group are like.
    fn group_ends(&mut self) -> Result<(), String> {
        let Some(group) = self.groups.last_mut() else { return Ok(()) };
        let weight = |kind: &str| {
            let weights = group.get("weights").and_then(Value::as_table);
            weights.and_then(|it| it.get(kind)).and_then(Value::as_integer).unwrap_or(0)
        };
        let reads = weight("read") + weight("readall") > 0;
        let writes = ["write", "append", "create"].iter().any(|kind| weight(kind) > 0);
        let Sizes { line, read, write } = self.sizes.clone();
        let both = reads && writes;
        let one = |place: usize, what: &str, default: u64| {
            let [read, write] = [read[place], write[place]];
            match (read.unwrap_or(default), write.unwrap_or(default)) {
                (read, write) if both && read != write => Err(format!(
                    "the group of line {line}: reads and writes of one group have the same {what} \
                     here, not {read} and {write}; split it into two groups"
                )),
                (_, write) if writes && !reads => Ok(write),
                (read, _) => Ok(read),
            }
        };
        // With only a `readall` or an append, sizes of the others do not matter.
        let (size, block) = (one(0, "size", 4096)?, one(1, "blocksize", 4096)?);
        let random = one(2, "random", 0)?;
        let set = |group: &mut Table, name: &str, value: String| {
            group.insert(name.to_owned(), Value::String(value));
        };
        set(group, "op_size", size.max(block).to_string());
        set(group, "block", block.to_string());
        set(group, "places", if random == 0 { "sequential" } else { "random" }.to_owned());
        if !group.contains_key("weights") {
            return Err(format!("the group of line {line} has no weights"));
        }
        Ok(())
    }

    fn end(mut self) -> Result<Brought, String> {
        if !self.open.is_empty() {
            return Err("a section has no [end]".to_owned());
        }
        if self.is_aged {
            let [create, append, delete] = self.ageing;
            if create == 0 || create != append || create != delete * 10 {
                return Err(format!(
                    "agefs=1: files are created, appended to and deleted as 10 : 10 : 1 here, not \
                     {create} : {append} : {delete}"
                ));
            }
            let utilisation = self.utilisation.ok_or("agefs=1 without desired_util")?;
            self.brought.set("age", utilisation);
        }
        for (needed, written) in
            [("time", "time"), ("min_size", "min_filesize"), ("max_size", "max_filesize")]
        {
            if !self.brought.parameters.contains_key(needed) {
                return Err(format!("{written} is missing"));
            }
        }
        if !self.brought.parameters.contains_key("files") {
            let note = "num_files=0: one file is there at the beginning";
            self.brought.notes.push(note.to_owned());
            self.brought.set("files", "1");
        }
        if !self.brought.parameters.contains_key("directories") {
            self.brought.set("directories", "1");
        }
        let mut profile = Table::new();
        profile.insert(
            "group".to_owned(),
            Value::Array(self.groups.into_iter().map(Value::Table).collect()),
        );
        self.brought.set("profile", profile.to_string());
        Ok(self.brought)
    }
}

fn whole(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("`{value}` is no whole number"))
}

fn integer(value: &str) -> Result<i64, String> {
    whole(value).and_then(|it| i64::try_from(it).map_err(|_| format!("{value} is too large")))
}

fn switch(value: &str) -> Result<&'static str, String> {
    match value {
        "0" => Ok("off"),
        "1" => Ok("on"),
        _ => Err(format!("0 or 1 is expected, not {value}")),
    }
}

/// `4k`, `10MB`, `1024`.
fn size(value: &str) -> Result<u64, String> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let shift = match value[digits..].trim().to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        _ => return Err(format!("`{value}` is no size")),
    };
    let number: u64 = value[..digits].parse().map_err(|_| format!("`{value}` is no size"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("{value} is too large"))
}
