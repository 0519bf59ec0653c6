//! Markdown with GitHub's tables: for issues, pull requests and wikis.

use ::text::markdown as plain;
use store::StoredRun;

use super::{Format, Options};
use crate::analysis::{
    Analysis, Cell, Conditions, Group, Mark, MetricTable, PhaseAnalysis, WorkloadAnalysis,
};
use crate::answer::{Answer, answer};
use crate::numbers::counted;
use crate::wording::{self, against, and, spread};

pub(super) struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write a Markdown report")
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, _: &Options) -> String {
        let header = &run.header;
        let mut text = format!("# fstrial run {}\n\n", plain(&header.id));
        text += &answered(&answer(analysis, run));
        for sentence in analysis.workloads.iter().flat_map(|workload| &workload.verdict) {
            text += &format!("- {}\n", plain(sentence));
        }
        if analysis.workloads.is_empty() {
            text += "Nothing was planned.\n";
        }
        text += "\n";
        for warning in &analysis.warnings {
            text += &format!("> **Note:** {}\n\n", plain(warning));
        }
        for workload in &analysis.workloads {
            text += &section(workload, &analysis.contenders);
        }
        text += &conditions(&analysis.contenders);
        text += &format!(
            "## Run\n\n{} of {} done · testbed {} · seed {} · scale {} · fstrial {} · {}\n",
            analysis.trials.done,
            counted(analysis.trials.planned, "trial"),
            plain(&header.testbed),
            header.seed,
            header.scale,
            plain(&header.fstrial_version),
            plain(&header.created),
        );
        if !header.environment.0.is_empty() {
            text += "\n| | |\n|---|---|\n";
        }
        for (key, value) in &header.environment.0 {
            text += &format!("| {} | {} |\n", plain(&key.replace('_', " ")), plain(value));
        }
        text += &format!(
            "\nFigures are geometric means, ± half the {:.0} % interval (Student's t on \
             logarithms). Bold is best, italic worst: by significance over all pairs of a row \
             (Holm, {} %), never by rank alone.\n",
            analysis.confidence * 100.0,
            analysis.alpha_in_percent()
        );
        text
    }
}

/// The answer: sentences, the contenders at what matters, why, and what limits it.
fn answered(answer: &Answer) -> String {
    let mut text = String::new();
    for asked in &answer.workloads {
        text += &format!("**{}**\n\n", plain(&asked.sentence));
        let heads = asked.columns.len().max(1);
        if !asked.rows.is_empty() {
            let mut names: Vec<String> = asked.columns.iter().map(|head| plain(head)).collect();
            names.resize(heads, String::new());
            text += &format!("| rank | | {} |\n", names.join(" | "));
            text += &format!("|---|---|{}\n", "--:|".repeat(heads));
        }
        for row in &asked.rows {
            let mut cells: Vec<String> = match &row.missing {
                Some(why) => vec![plain(&format!("– {why}"))],
                None => row.cells.iter().map(|cell| plain(cell)).collect(),
            };
            cells.resize(heads, String::new());
            text += &format!("| {} | {} | {} |\n", row.rank, plain(&row.name), cells.join(" | "));
        }
        text += "\n";
        if let Some(measured) = &asked.measured {
            text += &format!("Work: {}.\n\n", plain(&measured.words));
        }
        if let Some(why) = &asked.why {
            text += &format!("Why: {}.\n\n", plain(why));
        }
    }
    if !answer.limits.is_empty() {
        text += &format!("Limits: {}\n\n", plain(&answer.limits.join(" ")));
    }
    text
}

fn section(workload: &WorkloadAnalysis, contenders: &[Conditions]) -> String {
    let mut text = format!("## {}\n\n", plain(&workload.title));
    if !workload.summary.is_empty() {
        text += &format!("{}\n\n", plain(&workload.summary));
    }
    if !workload.parameters.is_empty() {
        let list: Vec<String> = workload
            .shown_parameters()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        text += &format!("Parameters: {}\n\n", plain(&list.join(", ")));
    }
    for phase in &workload.phases {
        text += &table(phase, contenders);
    }
    text
}

fn table(phase: &PhaseAnalysis, contenders: &[Conditions]) -> String {
    let mut text = format!("### {}\n\n", plain(&phase.name));
    if !phase.clock.is_empty() {
        text += &format!("Clock: {}. ", plain(phase.clock.trim_end_matches('.')));
    }
    let cache: Vec<&str> = phase.cache.iter().map(|state| state.words.as_str()).collect();
    if !cache.is_empty() {
        text += &format!("Cache at the start: {}.", plain(&and(&cache)));
    }
    text += "\n\n| |";
    for contender in contenders {
        text += &format!(" {} |", plain(&contender.name));
    }
    text += "\n|---|";
    text += &"---:|".repeat(contenders.len());
    text += "\n| served by |";
    for contender in contenders {
        let flag = contender.durability_flag().map(|flag| format!(" **{flag}**"));
        let served = plain(&contender.served_by.join("; "));
        text += &format!(" {served}{} |", flag.unwrap_or_default());
    }
    text += "\n";
    for metric in &phase.tables {
        text += &row(metric);
        if metric.metric.id == "wall" && metric.cells.iter().any(|cell| cell.rank.is_some()) {
            text += &ranks(metric);
        }
    }
    text += "\n";
    for (index, footnote) in phase.footnotes.iter().enumerate() {
        let names: Vec<&str> =
            footnote.contenders.iter().map(|at| contenders[*at].name.as_str()).collect();
        let (names, note) = (plain(&and(&names)), plain(&footnote.text));
        text += &format!("<sup>{}</sup> {names}: {note}  \n", index + 1);
    }
    if phase.tables.is_empty() && phase.footnotes.is_empty() {
        text += "Nothing was measured.\n";
    }
    text + "\n"
}

fn row(table: &MetricTable) -> String {
    let label = match table.metric.group {
        Group::Latency => format!("latency, {}", table.metric.label),
        _ => table.metric.label.clone(),
    };
    let mut text = format!("| {} |", plain(&label));
    for cell in &table.cells {
        let notes: String =
            cell.footnotes.iter().map(|number| format!("<sup>{number}</sup>")).collect();
        text += &format!(" {}{notes} |", value(cell, table));
    }
    text + "\n"
}

fn value(cell: &Cell, table: &MetricTable) -> String {
    let Some(shown) = wording::shown(cell, table.unit()) else { return "–".to_owned() };
    let shown = match cell.mark {
        Some(Mark::Best) => format!("**{shown}**"),
        Some(Mark::Worst) => format!("*{shown}*"),
        None => shown,
    };
    match spread(cell) {
        Some(spread) => format!("{shown} {spread}"),
        None => shown,
    }
}

fn ranks(table: &MetricTable) -> String {
    let cells = |of: &dyn Fn(&Cell) -> Option<String>| -> String {
        table.cells.iter().map(|cell| format!(" {} |", of(cell).unwrap_or("–".into()))).collect()
    };
    let against = cells(&|cell| Some(against(cell, 3).plain()).filter(|it| !it.is_empty()));
    let rank = cells(&|cell| cell.rank.map(|rank| rank.to_string()));
    format!("| times the best mean |{against}\n| rank |{rank}\n")
}

fn conditions(contenders: &[Conditions]) -> String {
    let mut text = "## Contenders\n\n".to_owned();
    for contender in contenders {
        let parts = [
            ("served by", contender.served_by.join("; ")),
            ("kernel", contender.kernel.join("; ")),
            ("device", contender.device.join("; ")),
            ("room when new", contender.room().unwrap_or_default()),
            ("after the workloads", contender.room_left().unwrap_or_default()),
            ("mount options", contender.mount_options.join("; ")),
            ("features", contender.features.join("; ")),
            ("durability", contender.durability_flag().unwrap_or_default().to_owned()),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}: {}", plain(&value)))
            .collect();
        let written = plain(&contender.written);
        text += &format!("- **{}** ({written}); {}\n", plain(&contender.name), parts.join("; "));
    }
    text + "\n"
}
