//! `[[part]]` of `study.toml`.

use std::collections::BTreeMap;

use lab::{LabError, MachineProfile, PROFILES};
use runner::{WorkloadRequest, parse_workload};
use stack::Contender;
use units::Bytes;
use workload::Parameters;
use workload::corpora::CorpusChoice;

use crate::problem::suggest;
use crate::reading::{Keys, Located, Names, Reading, dotted};
use crate::statement::is_name;
use crate::{Absent, LargerMachine, NamedContender, NamedWorkload, Part, Source};

pub(super) const KEYS: &[&str] = &[
    "id",
    "title",
    "profile",
    "at_size",
    "mail",
    "source_tree",
    "size",
    "fixed_size",
    "scale",
    "published_scale",
    "sequence",
    "contenders",
    "workloads",
    "absent",
];

/// The machine of this name: a file of the study's, or a shipped profile.
pub(super) fn profile(source: &Source, name: &str) -> Result<MachineProfile, LabError> {
    if source.has(name) {
        return MachineProfile::parse(name, source.text(name));
    }
    MachineProfile::find(name)
}

/// `change = { … }`: values of a profile's keys, which must suit each of `profiles`; `None` where
/// there is no such key.
pub(super) fn changes<'p>(
    keys: &Keys<'_, '_>,
    source: &Source,
    profiles: impl FnOnce() -> Vec<&'p str>,
) -> Option<BTreeMap<String, String>> {
    let value = keys.get("change")?;
    let mut changes = BTreeMap::new();
    let Some(table) = value.get_ref().as_table() else {
        keys.reading.note(value.span(), "`change` is a table of a profile's keys");
        return Some(changes);
    };
    dotted("", table, &mut changes);
    // Parts that share a profile have the same error: report it once.
    let mut reported = Vec::new();
    for name in profiles() {
        if let Ok(profile) = profile(source, name)
            && let Err(error) = profile.with(&changes)
            && !reported.contains(&error.to_string())
        {
            reported.push(error.to_string());
            keys.reading.note(value.span(), error.to_string());
        }
    }
    Some(changes)
}

/// What differs about the machine `profile` at larger sizes, the smallest first.
fn at_size(keys: &Keys<'_, '_>, source: &Source, profile: &str) -> Vec<LargerMachine> {
    let mut read: Vec<LargerMachine> = Vec::new();
    for keys in keys.tables("at_size", "[[part.at_size]]", &["from", "change"]) {
        let changes = changes(&keys, source, || vec![profile]);
        let from = keys.positive("from");
        if from.is_none() || changes.is_none() {
            keys.reading.note(keys.at.clone(), "[[part.at_size]] needs `from` and `change`");
        } else if let (Some(from), Some(changes)) = (from, changes) {
            if read.last().is_some_and(|last| last.from >= from) {
                keys.reading.note(keys.at.clone(), "`at_size` begins with the smallest `from`");
            }
            read.push(LargerMachine { from, changes });
        }
    }
    read
}

pub(super) fn read(
    keys: &Keys<'_, '_>,
    source: &Source,
    study_scale: f64,
    seen: &mut Names,
) -> Part {
    let reading = keys.reading;
    let id = keys.text("id");
    if let Some(id) = &id {
        keys.unique(seen, id, "part");
    }
    let named = keys.text("profile");
    let machine = named.as_ref().and_then(|named| machine(reading, source, named));
    let (mail, size) = (mail(keys), size(keys));
    let scale = keys.positive("scale");
    let mut names = Names::default();
    let contenders: Vec<NamedContender> = keys
        .texts("contenders")
        .iter()
        .filter_map(|written| contender(keys, written, &mut names))
        .collect();
    let absent = absent(keys, &mut names);
    let mut ids = Names::default();
    let workloads: Vec<NamedWorkload> = keys
        .tables("workloads", "a workload", &["id", "run"])
        .iter()
        .filter_map(|keys| workload(keys, scale.unwrap_or(study_scale), &mut ids))
        .collect();
    for (key, empty) in
        [("contenders", keys.list("contenders").is_empty()), ("workloads", workloads.is_empty())]
    {
        if empty && keys.list(key).is_empty() {
            reading.note(keys.at.clone(), format!("[[part]] needs `{key}`"));
        }
    }
    let profile = named.map(|named| named.value).unwrap_or_default();
    Part {
        id: id.map(|id| id.value).unwrap_or_default(),
        title: keys.plain("title"),
        at_size: at_size(keys, source, &profile),
        profile,
        machine,
        mail,
        source_tree: keys.optional("source_tree").map(|tree| tree.value),
        size,
        fixed_size: keys.switch("fixed_size"),
        scale,
        published_scale: keys.positive("published_scale").unwrap_or(1.0),
        sequence: keys.switch("sequence"),
        contenders,
        workloads,
        absent,
        written: [names.written, ids.written],
    }
}

/// The text of the machine's own profile, if the study brings it along.
fn machine(reading: &Reading<'_>, source: &Source, named: &Located<String>) -> Option<String> {
    match profile(source, &named.value) {
        Ok(_) => source.has(&named.value).then(|| source.text(&named.value).to_owned()),
        Err(error) => {
            let unknown = !named.value.contains(['/', '.']);
            let known = PROFILES.iter().map(|(name, _)| *name);
            let suggestion = unknown.then(|| suggest(&named.value, known)).flatten();
            reading.note_with(named.at.clone(), error.to_string(), suggestion);
            None
        }
    }
}

fn mail(keys: &Keys<'_, '_>) -> Option<String> {
    let mail = keys.optional("mail")?;
    if let Err(error) = mail.value.parse::<CorpusChoice>() {
        keys.reading.note(mail.at, error.to_string());
    }
    Some(mail.value)
}

fn size(keys: &Keys<'_, '_>) -> Option<Bytes> {
    let size = keys.optional("size")?;
    let parsed = size.value.parse();
    if let Err(error) = &parsed {
        keys.reading.note(size.at, format!("size = {}: {error}", size.value));
    }
    parsed.ok()
}

/// Contenders that cannot run here, with the reason.
fn absent(keys: &Keys<'_, '_>, names: &mut Names) -> Vec<Absent> {
    keys.tables("absent", "[[part.absent]]", &["contender", "reason"])
        .iter()
        .filter_map(|keys| {
            let name = keys.text("contender")?;
            keys.unique(names, &name, "contender");
            Some(Absent { contender: name.value, reason: keys.plain("reason") })
        })
        .collect()
}

/// A contender with a mistake keeps its name, so that the tables' columns are still known.
pub(super) fn contender(
    keys: &Keys<'_, '_>,
    written: &Located<String>,
    names: &mut Names,
) -> Option<NamedContender> {
    let note = |message: String, suggestion| {
        keys.reading.note_with(written.at.clone(), message, suggestion);
    };
    let parsed = Contender::parse_list(&written.value);
    let name = match &parsed {
        Ok(list) => list[0].name.clone(),
        Err(_) => {
            let head = written.value.split(':').next().unwrap_or_default();
            head.split(['=', '@']).next().unwrap_or_default().to_owned()
        }
    };
    keys.unique(names, &Located { value: name.clone(), at: written.at.clone() }, "contender");
    if !is_name(&name) {
        let own = name.split(['@', ':']).next().unwrap_or_default();
        let suggestion = format!("give it a name of its own: \"{own}={}\"", written.value);
        note(format!("contender `{name}` cannot be named in a claim"), Some(suggestion));
    }
    match parsed {
        Err(error) => {
            let known = stack::FILESYSTEMS.iter().map(|filesystem| filesystem.describe().name);
            let kind = written.value.split(':').next().unwrap_or_default();
            let kind = kind.rsplit('=').next().unwrap_or_default();
            let kind = kind.split('@').next().unwrap_or_default();
            let unknown = stack::filesystems::find(kind).is_none();
            note(error.to_string(), unknown.then(|| suggest(kind, known)).flatten());
            None
        }
        Ok(list) if list.len() > 1 => {
            note(format!("`{}` is more than one contender", written.value), None);
            None
        }
        Ok(mut list) => {
            let contender = list.remove(0);
            if let Err(refusal) = contender.validate() {
                note(refusal.to_string(), None);
            }
            Some(NamedContender { written: written.value.clone(), contender })
        }
    }
}

fn workload(keys: &Keys<'_, '_>, scale: f64, ids: &mut Names) -> Option<NamedWorkload> {
    let id = keys.text("id");
    if let Some(id) = &id {
        keys.unique(ids, id, "workload");
    }
    let run = keys.text("run")?;
    let note = |message: String, suggestion| {
        keys.reading.note_with(run.at.clone(), message, suggestion);
    };
    let request: WorkloadRequest = match parse_workload(&run.value) {
        Ok(request) => request,
        Err(problem) => {
            note(problem, None);
            return None;
        }
    };
    let Some(workload) = workload::find(&request.name) else {
        let known = workload::WORKLOADS.iter().map(|workload| workload.describe().name);
        note(format!("there is no workload `{}`", request.name), suggest(&request.name, known));
        return None;
    };
    let description = workload.describe();
    let resolved = Parameters::resolve(description, &request.parameters, 1.0);
    let scaled = Parameters::resolve(description, &request.parameters, scale);
    match (resolved, scaled) {
        (Ok(parameters), Ok(_)) => {
            Some(NamedWorkload { id: id?.value, written: run.value, request, parameters })
        }
        (Err(error), _) => {
            let known = description.parameters.iter().map(|parameter| parameter.name);
            let wrong = request
                .parameters
                .keys()
                .find(|name| description.parameters.iter().all(|p| p.name != **name));
            note(error.to_string(), wrong.and_then(|name| suggest(name, known)));
            None
        }
        (_, Err(error)) => {
            note(format!("at scale {scale}: {error}"), None);
            None
        }
    }
}
