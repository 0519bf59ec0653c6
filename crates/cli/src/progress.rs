//! Progress on standard error: what runs, how far it is, how long it will take.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runner::{Durations, RunEvent};
use trial::{Event, Outcome, TrialSpec};
use workload::PhaseEvent;

/// Shows a run's events. On a terminal as two moving lines, else as one line a trial.
pub(crate) struct Progress {
    bar: ProgressBar,
    lines: bool,
    durations: Durations,
    specs: Vec<TrialSpec>,
    /// The trials that run now, by their place in the order: since when, and their title.
    running: BTreeMap<u32, (Instant, String)>,
    lanes: u32,
    began: Instant,
    ops_planned: u64,
}

impl Progress {
    /// `specs` are the trials that remain, run on so many lanes; `durations` what is known of
    /// earlier ones.
    pub(crate) fn new(
        specs: Vec<TrialSpec>,
        lanes: usize,
        durations: Durations,
        quiet: bool,
    ) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let target = match (quiet, terminal) {
            (false, true) => ProgressDrawTarget::stderr_with_hz(4),
            _ => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(specs.len() as u64), target);
        let style = ProgressStyle::with_template(
            "{bar:24} {pos}/{len} trials, {elapsed} gone, {prefix}\n  {wide_msg}",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_prefix("time left unknown");
        Progress {
            bar,
            lines: !quiet && !terminal,
            durations,
            specs,
            running: BTreeMap::new(),
            lanes: u32::try_from(lanes).unwrap_or(1).max(1),
            began: Instant::now(),
            ops_planned: 0,
        }
    }

    /// Takes one event.
    pub(crate) fn show(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::TrialStarted { ordinal, spec, .. } => {
                self.running.insert(ordinal, (Instant::now(), title(spec)));
                self.bar.set_message(title(spec));
                self.show_time_left();
            }
            RunEvent::Trial { ordinal, event } => self.within(ordinal, event),
            RunEvent::TrialStored { ordinal, spec, outcome } => {
                let began = self.running.remove(&ordinal).map(|(began, _)| began);
                let took = began.unwrap_or(self.began).elapsed();
                if outcome.is_done() {
                    self.durations.add(spec, took);
                }
                self.specs.retain(|other| other != spec);
                self.bar.inc(1);
                self.say(spec, outcome, took);
            }
        }
    }

    /// Removes the moving lines.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn within(&mut self, ordinal: u32, event: &Event) {
        let title = self.running.get(&ordinal).map_or("", |(_, title)| title.as_str()).to_owned();
        match event {
            Event::Step(step) => self.bar.set_message(format!("{title}: {step}")),
            Event::Phase(PhaseEvent::Started { workload, phase, ops_planned }) => {
                self.ops_planned = *ops_planned;
                self.bar.set_message(format!("{title}: {workload} {phase}"));
            }
            Event::Phase(PhaseEvent::Progress { ops_done }) if self.ops_planned > 0 => {
                let percent = ops_done * 100 / self.ops_planned;
                let message = self.bar.message();
                let head = message.split(" · ").next().unwrap_or_default().to_owned();
                self.bar.set_message(format!("{head} · {percent} %"));
            }
            _ => {}
        }
        self.show_time_left();
    }

    fn show_time_left(&self) {
        let text = match self.durations.estimate(&self.specs) {
            None => "time left unknown until the first trial has ended".to_owned(),
            Some(estimate) => {
                let gone: Duration = self.running.values().map(|(began, _)| began.elapsed()).sum();
                let left = estimate.total.saturating_sub(gone) / self.lanes;
                format!("about {} left", rounded(left))
            }
        };
        self.bar.set_prefix(text);
    }

    /// A trial's end: always told when it did not end well.
    fn say(&self, spec: &TrialSpec, outcome: &Outcome, took: Duration) {
        let took = rounded(took);
        let line = format!("{}: {outcome} ({took})", title(spec));
        if self.lines {
            eprintln!("{line}");
        } else if !outcome.is_done() {
            self.bar.suspend(|| eprintln!("{line}"));
        }
    }
}

fn title(spec: &TrialSpec) -> String {
    let workloads: Vec<_> = spec.workloads.iter().map(|choice| choice.name.as_str()).collect();
    format!("{} on {}, repeat {}", workloads.join("+"), spec.contender.name, spec.block + 1)
}

/// A duration in whole seconds, minutes and hours.
pub(crate) fn rounded(duration: Duration) -> String {
    let secs = (duration.as_secs_f64().round() as u64).max(1);
    match secs {
        0..90 => format!("{secs} s"),
        90..5400 => format!("{} min {} s", secs / 60, secs % 60),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}
