//! `study.toml`.

use super::part;
use crate::problem::suggest;
use crate::reading::{Keys, Names, Reading, SHARE_MAX, number};
use crate::source::Basis;
use crate::{Assumption, NamedContender, Source, Study};

const KEYS: &[&str] = &[
    "name",
    "title",
    "author",
    "date",
    "published",
    "question",
    "summary",
    "machine",
    "flaws",
    "scale",
    "scale_reason",
    "full_size",
    "sizes",
    "seeds",
    "believe",
    "picture",
    "part",
    "assumption",
];
const ASSUMPTION: &[&str] = &["id", "text", "parts", "change", "contenders"];

/// Number of seeds for each cell if the file gives none.
const SEEDS: u32 = 4;

/// The most of them.
const SEEDS_MAX: u32 = 10_000;

pub(super) fn read(reading: &Reading<'_>, source: &Source) -> Study {
    let table = reading.parse();
    let keys = Keys::new(reading, "the study", 0..0, table.get_ref(), KEYS);
    let (basis, scale) = (source.basis(), keys.positive("scale").unwrap_or(1.0));
    let mut seen = Names::default();
    let parts = keys
        .tables("part", "[[part]]", part::KEYS)
        .iter()
        .map(|part| part::read(part, source, scale, &mut seen))
        .collect::<Vec<_>>();
    if parts.is_empty() {
        reading.note(0..0, "a study needs a [[part]]: contenders and workloads on a machine");
    }
    let scale_reason = keys.optional("scale_reason");
    if scale != 1.0 && scale_reason.is_none() {
        reading.note(0..0, format!("scale = {scale} needs `scale_reason`: why not the full size"));
    }
    let mut study = Study {
        name: keys.plain("name"),
        title: keys.plain("title"),
        author: keys.plain("author"),
        date: keys.plain("date"),
        published: keys.plain("published"),
        question: keys.plain("question"),
        summary: keys.plain("summary"),
        machine: keys.plain("machine"),
        flaws: keys.texts("flaws").into_iter().map(|flaw| flaw.value.trim().to_owned()).collect(),
        scale,
        sizes: sizes(&keys),
        believe: keys.optional("believe").map(|it| it.value.trim().to_owned()).unwrap_or_default(),
        picture: keys.texts("picture").into_iter().map(|named| named.value).collect(),
        scale_reason: scale_reason.map(|text| text.value.trim().to_owned()).unwrap_or_default(),
        full_size: keys
            .optional("full_size")
            .map(|it| it.value.trim().to_owned())
            .unwrap_or_default(),
        seeds: keys.count("seeds", SEEDS_MAX).unwrap_or(SEEDS),
        parts,
        assumptions: Vec::new(),
        tables: Vec::new(),
        claims: Vec::new(),
        digest: basis.digest(None),
    };
    let mut seen = Names::default();
    study.assumptions = keys
        .tables("assumption", "[[assumption]]", ASSUMPTION)
        .iter()
        .map(|keys| assumption(keys, &study, (source, &basis), &mut seen))
        .collect();
    study
}

/// Notes what `picture` names and there is not.
pub(super) fn check_picture(reading: &Reading<'_>, study: &Study) {
    let rows = study.tables.iter().flat_map(|table| &table.rows).map(|row| row.id.as_str());
    let known: Vec<&str> = rows.chain(study.claims.iter().map(|claim| claim.id.as_str())).collect();
    for named in study.picture.iter().filter(|named| !known.contains(&named.as_str())) {
        let message = format!("`picture` names rows and claims; there is no `{named}`");
        reading.note_with(0..0, message, suggest(named, known.iter().copied()));
    }
}

/// `sizes = [0.03, 0.1, 0.3, 1]`: shares of the published size, rising.
fn sizes(keys: &Keys<'_, '_>) -> Vec<f64> {
    let mut sizes: Vec<f64> = Vec::new();
    for value in keys.list("sizes") {
        match number(value.get_ref()) {
            Some(size) if size > sizes.last().copied().unwrap_or(0.0) && size <= SHARE_MAX => {
                sizes.push(size);
            }
            _ => keys.reading.note(
                value.span(),
                "`sizes` are shares of the published size, each larger than the one before: \
                 [0.03, 0.1, 1]",
            ),
        }
    }
    sizes
}

fn assumption(
    keys: &Keys<'_, '_>,
    study: &Study,
    (source, basis): (&Source, &Basis<'_>),
    seen: &mut Names,
) -> Assumption {
    let all = || study.parts.iter().map(|part| part.id.as_str());
    let id = keys.text("id");
    if let Some(id) = &id {
        keys.unique(seen, id, "assumption");
    }
    let mut parts = Vec::new();
    for named in keys.texts("parts") {
        if all().any(|known| known == named.value) {
            parts.push(named.value);
        } else {
            let message = format!("there is no part `{}`", named.value);
            keys.reading.note_with(named.at, message, suggest(&named.value, all()));
        }
    }
    if keys.get("parts").is_none() {
        parts = all().map(str::to_owned).collect();
    }
    let changes = part::changes(keys, source, || {
        let concerned = study.parts.iter().filter(|part| parts.contains(&part.id));
        concerned.map(|part| part.profile.as_str()).collect()
    });
    if changes.is_none() && keys.list("contenders").is_empty() {
        keys.reading.note(keys.at.clone(), "[[assumption]] needs `change` or `contenders`");
    }
    let changes = changes.unwrap_or_default();
    let id = id.map(|id| id.value).unwrap_or_default();
    let contenders = contenders(keys, study, &parts);
    let digest = basis.digest(Some(&id));
    Assumption { id, text: keys.plain("text"), parts, changes, contenders, digest }
}

/// Contenders that an assumption replaces; each must be one of a part it concerns.
fn contenders(keys: &Keys<'_, '_>, study: &Study, parts: &[String]) -> Vec<NamedContender> {
    let concerned = study.parts.iter().filter(|part| parts.contains(&part.id));
    let known: Vec<&str> =
        concerned.flat_map(|part| &part.written[0]).map(String::as_str).collect();
    let mut names = Names::default();
    let written = keys.texts("contenders");
    let read = written.iter().filter_map(|written| {
        let named = part::contender(keys, written, &mut names)?;
        let name = &named.contender.name;
        if !known.contains(&name.as_str()) {
            let message = format!("no part of this assumption has a contender `{name}`");
            let suggestion = suggest(name, known.iter().copied());
            keys.reading.note_with(written.at.clone(), message, suggestion);
        }
        Some(named)
    });
    read.collect()
}
