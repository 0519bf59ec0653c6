//! `published.toml`.

use report::metrics_of;
use toml::Spanned;
use toml::de::DeValue;

use crate::problem::suggest;
use crate::reading::{Keys, Names, Reading, number};
use crate::statement::is_name;
use crate::{Cell, Direction, Measured, Part, Published, Row, RowUnit, Study};

const TABLE: &[&str] = &["id", "part", "title", "columns", "row"];
const ROW: &[&str] = &[
    "id",
    "label",
    "called",
    "unit",
    "better",
    "values",
    "spread",
    "runs",
    "note",
    "measure",
    "unmeasured",
];

pub(super) fn read(reading: &Reading<'_>, study: &Study) -> Vec<Published> {
    let file = reading.parse();
    let keys = Keys::new(reading, "published.toml", 0..0, file.get_ref(), &["table"]);
    let (mut tables, mut rows) = (Names::default(), Names::default());
    keys.tables("table", "[[table]]", TABLE)
        .iter()
        .map(|keys| table(keys, study, &mut tables, &mut rows))
        .collect()
}

fn table(keys: &Keys<'_, '_>, study: &Study, tables: &mut Names, rows: &mut Names) -> Published {
    let reading = keys.reading;
    let id = keys.text("id");
    if let Some(id) = &id {
        keys.unique(tables, id, "table");
    }
    let named = keys.text("part");
    let part = named.as_ref().and_then(|named| study.part(&named.value));
    if let (Some(named), None) = (&named, part) {
        let known = study.parts.iter().map(|part| part.id.as_str());
        let message = format!("there is no part `{}`", named.value);
        reading.note_with(named.at.clone(), message, suggest(&named.value, known));
    }
    let columns = keys.texts("columns");
    if columns.is_empty() {
        reading.note(keys.at.clone(), "[[table]] needs `columns`: names of contenders");
    }
    let mut seen = Names::default();
    for column in &columns {
        keys.unique(&mut seen, column, "column");
        let Some(part) = part else { continue };
        let known: Vec<&str> = part.written[0].iter().map(String::as_str).collect();
        if !known.contains(&column.value.as_str()) {
            let message = format!("part `{}` has no contender `{}`", part.id, column.value);
            let suggestion = suggest(&column.value, known);
            reading.note_with(column.at.clone(), message, suggestion);
        }
    }
    let read = keys.tables("row", "[[table.row]]", ROW);
    if read.is_empty() {
        reading.note(keys.at.clone(), "[[table]] needs a [[table.row]]");
    }
    Published {
        id: id.map(|id| id.value).unwrap_or_default(),
        part: named.map(|named| named.value).unwrap_or_default(),
        title: keys.plain("title"),
        rows: read.iter().map(|keys| row(keys, part, columns.len(), rows)).collect(),
        columns: columns.into_iter().map(|column| column.value).collect(),
    }
}

fn row(keys: &Keys<'_, '_>, part: Option<&Part>, columns: usize, seen: &mut Names) -> Row {
    let reading = keys.reading;
    let id = keys.text("id");
    if let Some(id) = &id {
        keys.unique(seen, id, "row");
        if !is_name(&id.value) {
            let message = format!("row `{}` cannot be named in a claim", id.value);
            let suggestion = "use letters, digits, _ and - only".to_owned();
            reading.note_with(id.at.clone(), message, Some(suggestion));
        }
    }
    let written = keys.text("unit");
    let unit = written.as_ref().and_then(|unit| RowUnit::parse(&unit.value));
    if let (Some(written), None) = (&written, unit) {
        let known = RowUnit::ALL.map(RowUnit::word);
        let message = format!("there is no unit `{}`", written.value);
        reading.note_with(written.at.clone(), message, suggest(&written.value, known));
    }
    let written = keys.text("better");
    let better = written.and_then(|word| {
        let found = Direction::WORDS.iter().find(|(known, _)| *known == word.value);
        if found.is_none() {
            let message = format!("better = `{}`: lower, higher or neither", word.value);
            reading.note(word.at, message);
        }
        found.map(|(_, direction)| *direction)
    });
    let shape = |key: &str, len: usize| {
        let at = keys.get(key).map_or(keys.at.clone(), Spanned::span);
        if len != columns {
            let suggestion =
                "one for each column; \"not published\" where there is none".to_owned();
            let message = format!("`{key}` has {len} entries for {columns} columns");
            reading.note_with(at, message, Some(suggestion));
        }
    };
    let values: Vec<Cell> =
        keys.list("values").iter().filter_map(|value| cell(keys, value)).collect();
    shape("values", keys.list("values").len());
    let spread = keys.list("spread");
    if !spread.is_empty() {
        shape("spread", spread.len());
    }
    let runs = keys.list("runs");
    if !runs.is_empty() {
        shape("runs", runs.len());
    }
    let measured = measured(keys, part, unit);
    let label = keys.plain("label");
    Row {
        id: id.map(|id| id.value).unwrap_or_default(),
        called: keys.optional("called").map_or_else(|| label.clone(), |called| called.value),
        label,
        unit: unit.unwrap_or(RowUnit::Plain),
        better: better.unwrap_or(Direction::Neither),
        values,
        spread: spread.iter().map(|value| number(value.get_ref())).collect(),
        runs: runs.iter().map(|runs| numbers(keys, runs)).collect(),
        note: keys.optional("note").map(|note| note.value.trim().to_owned()),
        measured,
    }
}

fn cell(keys: &Keys<'_, '_>, value: &Spanned<DeValue<'_>>) -> Option<Cell> {
    if let Some(number) = number(value.get_ref()) {
        return Some(Cell::Value(number));
    }
    let Some(text) = value.get_ref().as_str() else {
        keys.reading.note(value.span(), "a value is a number, or a text where there is no figure");
        return None;
    };
    let bound = |sign: char| text.strip_prefix(sign)?.trim().replace(',', "").parse().ok();
    Some(match (bound('>'), bound('<')) {
        (Some(above), _) => Cell::Above(above),
        (_, Some(below)) => Cell::Below(below),
        _ => Cell::Text(text.to_owned()),
    })
}

fn numbers(keys: &Keys<'_, '_>, value: &Spanned<DeValue<'_>>) -> Vec<f64> {
    let Some(array) = value.get_ref().as_array() else {
        keys.reading.note(value.span(), "`runs` is a list of numbers for each column");
        return Vec::new();
    };
    let of = |value: &Spanned<DeValue<'_>>| {
        let found = number(value.get_ref());
        if found.is_none() {
            keys.reading.note(value.span(), "a single run is a number");
        }
        found
    };
    array.iter().filter_map(of).collect()
}

fn measured(keys: &Keys<'_, '_>, part: Option<&Part>, unit: Option<RowUnit>) -> Measured {
    let reading = keys.reading;
    let why = keys.optional("unmeasured");
    let Some(measure) = keys.table("measure", "measure", &["workload", "phase", "metric"]) else {
        if why.is_none() {
            let suggestion =
                "write `measure = { workload, phase, metric }` or `unmeasured = \"why\"`";
            let message = "the row does not say what is measured for it";
            reading.note_with(keys.at.clone(), message, Some(suggestion.to_owned()));
        }
        return Measured::Nothing(why.map(|why| why.value).unwrap_or_default());
    };
    if let Some(why) = why {
        reading.note(why.at, "a row has either `measure` or `unmeasured`");
    }
    let (named, metric) = (measure.text("workload"), measure.text("metric"));
    let phases = measure.one_or_more("phase");
    if phases.is_empty() {
        reading.note(measure.at.clone(), "measure needs `phase`: one, or a list to be summed");
    }
    let measured = Measured::Metric {
        workload: named.as_ref().map(|named| named.value.clone()).unwrap_or_default(),
        phases: phases.iter().map(|phase| phase.value.clone()).collect(),
        metric: metric.as_ref().map(|metric| metric.value.clone()).unwrap_or_default(),
    };
    let (Some(part), Some(named), Some(metric)) = (part, named, metric) else { return measured };
    let Some(asked) = part.workloads.iter().find(|known| known.id == named.value) else {
        if part.written[1].contains(&named.value) {
            return measured;
        }
        let known = part.written[1].iter().map(String::as_str);
        let message = format!("part `{}` has no workload `{}`", part.id, named.value);
        let suggestion = suggest(&named.value, known);
        reading.note_with(named.at, message, suggestion);
        return measured;
    };
    let Some(described) = workload::find(&asked.request.name).map(|found| found.describe()) else {
        return measured;
    };
    for phase in phases {
        let known = described.phases.iter().map(|known| known.name);
        let Some(found) = described.phases.iter().find(|known| known.name == phase.value) else {
            let message = format!("workload {} has no phase `{}`", described.name, phase.value);
            reading.note_with(phase.at, message, suggest(&phase.value, known));
            continue;
        };
        let metrics = metrics_of(found);
        let own = metric.value.starts_with("figure.");
        let Some(found) = metrics.iter().find(|known| known.id == metric.value) else {
            if !own {
                let message = format!("no metric `{}` is measured", metric.value);
                let known = metrics.iter().map(|known| known.id.as_str());
                reading.note_with(metric.at.clone(), message, suggest(&metric.value, known));
            }
            break;
        };
        if let Some(unit) = unit
            && unit.of(found.unit).is_none()
        {
            let message =
                format!("metric `{}` cannot be shown in a row of unit `{unit}`", metric.value);
            let fitting = metrics.iter().filter(|other| unit.of(other.unit).is_some());
            let fitting: Vec<&str> = fitting.map(|other| other.id.as_str()).take(6).collect();
            let suggestion = format!("in `{unit}` there is: {}", fitting.join(", "));
            reading.note_with(metric.at.clone(), message, Some(suggestion));
            break;
        }
    }
    measured
}
