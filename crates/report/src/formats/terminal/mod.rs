//! The terminal table: one column a contender, several tables beneath each other where they
//! do not fit. Best and worst are marked by significance alone, in colour if asked for and always
//! by a sign, since not every terminal shows colour and not everybody sees it.
//!
//! Names and messages come from outside: control characters never reach the terminal.

mod folding;
mod rows;
mod screen;

use store::StoredRun;
use unicode_width::UnicodeWidthStr;

use super::{Format, Options};
use crate::analysis::{Analysis, Conditions, PhaseAnalysis, WorkloadAnalysis};
use crate::answer::answer;
use crate::numbers::counted;
use crate::sentences;
use crate::wording::and;
pub use folding::{fitted, folded};
use rows::{Row, Style, rows, unseen_footnotes};

pub(super) struct Terminal;

const WIDTH_MIN: usize = 60;
const GAP: usize = 2;

impl Format for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn help(&self) -> Option<&'static str> {
        None
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, options: &Options) -> String {
        let mut page =
            Page { text: String::new(), width: options.width.max(WIDTH_MIN), color: options.color };
        if analysis.workloads.is_empty() {
            page.line("Nothing was planned, so nothing was measured.");
        }
        if !options.full && !analysis.workloads.is_empty() {
            let answer = answer(analysis, run);
            let paint = |text: &str, style: Style| page.paint(text, style);
            return screen::screen(&answer, page.width, &paint);
        }
        for workload in &analysis.workloads {
            page.workload(workload, &analysis.contenders);
        }
        page.conditions(&analysis.contenders);
        page.run(analysis, run);
        for warning in &analysis.warnings {
            page.wrapped("! ", warning);
        }
        page.text
    }
}

struct Page {
    text: String,
    width: usize,
    color: bool,
}

impl Page {
    fn workload(&mut self, workload: &WorkloadAnalysis, contenders: &[Conditions]) {
        self.styled(&workload.title, Style::Strong);
        if !workload.summary.is_empty() {
            self.wrapped("  ", &workload.summary);
        }
        let parameters: Vec<String> = workload
            .shown_parameters()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !parameters.is_empty() {
            self.wrapped("  ", &parameters.join(" "));
        }
        self.line("");
        for sentence in &workload.verdict {
            self.wrapped("  ", sentence);
        }
        for phase in &workload.phases {
            self.line("");
            self.phase(workload, phase, contenders);
        }
        self.line("");
    }

    fn phase(
        &mut self,
        workload: &WorkloadAnalysis,
        phase: &PhaseAnalysis,
        contenders: &[Conditions],
    ) {
        self.styled(&format!("{} · {}", workload.title, phase.name), Style::Strong);
        if !phase.clock.is_empty() {
            self.wrapped("  clock: ", &phase.clock);
        }
        let cache: Vec<&str> = phase.cache.iter().map(|state| state.words.as_str()).collect();
        if !cache.is_empty() {
            self.wrapped("  cache: ", &and(&cache));
        }
        let rows = rows(phase);
        if !rows.is_empty() {
            self.table(&rows, contenders);
        }
        for stalls in sentences::stalls(phase, contenders) {
            self.wrapped("  stalls: ", &stalls);
        }
        let unseen = unseen_footnotes(phase);
        for (index, footnote) in phase.footnotes.iter().enumerate() {
            if unseen.contains(&(index + 1)) {
                continue;
            }
            let names: Vec<&str> =
                footnote.contenders.iter().map(|at| contenders[*at].name.as_str()).collect();
            let prefix = format!("  [{}] ", index + 1);
            self.wrapped(&prefix, &format!("{}: {}", and(&names), footnote.text));
        }
    }

    /// Writes the rows, as many contenders beside each other as fit.
    fn table(&mut self, rows: &[Row], contenders: &[Conditions]) {
        let label_width = rows.iter().map(|row| row.label.width()).max().unwrap_or(0).min(28);
        let label_width = label_width.min(self.width / 3);
        let column_max = (self.width - label_width - GAP).min(30);
        // As wide as the widest figure; names fold.
        let widths: Vec<usize> = (0..contenders.len())
            .map(|at| {
                let figures = rows.iter().map(|row| row.cells[at].0.width()).max().unwrap_or(0);
                figures.max(contenders[at].name.width().min(18)).max(8).min(column_max)
            })
            .collect();
        let mut from = 0;
        while from < contenders.len() {
            let mut to = from + 1;
            let mut used = label_width + GAP + widths[from];
            while to < contenders.len() && used + GAP + widths[to] <= self.width {
                used += GAP + widths[to];
                to += 1;
            }
            if from > 0 {
                self.line("");
            }
            self.table_part(rows, contenders, &widths, label_width, from..to);
            from = to;
        }
    }

    fn table_part(
        &mut self,
        rows: &[Row],
        contenders: &[Conditions],
        widths: &[usize],
        label_width: usize,
        columns: std::ops::Range<usize>,
    ) {
        let heads: Vec<Vec<(String, Style)>> = columns
            .clone()
            .map(|at| {
                let flag = contenders[at].durability_word().map(|word| format!("({word})"));
                let name = folded(&contenders[at].name, widths[at], 12);
                let served = folded(&contenders[at].served_by.join("; "), widths[at], 3);
                let named = name.into_iter().map(|line| (line, Style::Strong));
                let flag = flag.into_iter().map(|flag| (fitted(&flag, widths[at]), Style::Worst));
                named
                    .chain(flag)
                    .chain(served.into_iter().map(|line| (line, Style::Faint)))
                    .collect()
            })
            .collect();
        let empty = (String::new(), Style::Plain);
        for line in 0..heads.iter().map(Vec::len).max().unwrap_or(0) {
            let cells = columns
                .clone()
                .zip(&heads)
                .map(|(at, head)| (head.get(line).unwrap_or(&empty), widths[at]));
            self.row("", label_width, cells);
        }
        for row in rows {
            let cells = columns.clone().map(|at| (&row.cells[at], widths[at]));
            self.row(&row.label, label_width, cells);
        }
    }

    fn row<'c>(
        &mut self,
        label: &str,
        label_width: usize,
        cells: impl Iterator<Item = (&'c (String, Style), usize)>,
    ) {
        let label = fitted(label, label_width);
        let mut line = format!("{label}{}", " ".repeat(label_width - label.width()));
        for ((text, style), width) in cells {
            let text = fitted(text, width);
            line.push_str(&" ".repeat(GAP + width - text.width()));
            line.push_str(&self.paint(&text, *style));
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// What each contender really ran on.
    fn conditions(&mut self, contenders: &[Conditions]) {
        if contenders.is_empty() {
            return;
        }
        self.styled("What it ran on", Style::Strong);
        for contender in contenders {
            let mut parts: Vec<String> = Vec::new();
            let mut add = |name: &str, values: &[String], more: Option<String>| {
                if !values.is_empty() {
                    parts.push(format!("{name} {}", values.join(" or ")));
                }
                parts.extend(more);
            };
            add("served by", &contender.served_by, None);
            add("kernel", &contender.kernel, None);
            add("on", &contender.device, contender.room());
            let left = contender.room_left().map(|left| format!("after the workloads: {left}"));
            add("", &[], left);
            add("mounted", &contender.mount_options, None);
            add("features", &contender.features, None);
            if let Some(flag) = contender.durability_flag() {
                parts.push(flag.to_owned());
            }
            if parts.is_empty() {
                parts.push("never got as far as a filesystem".to_owned());
            }
            self.wrapped("  ", &format!("{}: {}", contender.written, parts.join("; ")));
        }
        self.line("");
    }

    fn run(&mut self, analysis: &Analysis, run: &StoredRun) {
        let header = &run.header;
        let trials = analysis.trials.said();
        self.wrapped(
            "",
            &format!(
                "Run {}: {trials}; testbed {}, seed {}, {}, scale {}, fstrial {}, {}.",
                header.id,
                header.testbed,
                header.seed,
                counted(header.repeats as usize, "repeat"),
                header.scale,
                header.fstrial_version,
                header.created
            ),
        );
        if analysis.workloads.is_empty() {
            return;
        }
        self.wrapped(
            "",
            &format!(
                "Figures: geometric mean and half its {:.0} % interval. ▲ best, ▼ worst, by \
                 significance over all pairs of a row (Holm, {} %); contenders that cannot be \
                 told apart share a rank. – is missing, see [n].",
                analysis.confidence * 100.0,
                analysis.alpha_in_percent()
            ),
        );
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A heading.
    fn styled(&mut self, text: &str, style: Style) {
        for line in folded(text, self.width, usize::MAX) {
            let line = self.paint(&line, style);
            self.line(&line);
        }
    }

    /// A paragraph behind `prefix`, its further lines indented as far.
    fn wrapped(&mut self, prefix: &str, text: &str) {
        let indent = prefix.width();
        for (index, line) in folded(text, self.width - indent, usize::MAX).iter().enumerate() {
            let start = if index == 0 { prefix.to_owned() } else { " ".repeat(indent) };
            self.text.push_str(&format!("{start}{line}\n"));
        }
    }

    fn paint(&self, text: &str, style: Style) -> String {
        if self.color && style != Style::Plain && !text.is_empty() {
            format!("{}{text}\x1b[0m", style.code())
        } else {
            text.to_owned()
        }
    }
}
