//! Progress on standard error: what runs, how far it is, how long it will take.

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
    began: Instant,
    step: String,
    ops_planned: u64,
}

impl Progress {
    /// `specs` are the trials that remain; `durations` what is known of earlier ones.
    pub(crate) fn new(specs: Vec<TrialSpec>, durations: Durations, quiet: bool) -> Progress {
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
            began: Instant::now(),
            step: String::new(),
            ops_planned: 0,
        }
    }

    /// Takes one event.
    pub(crate) fn show(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::TrialStarted { spec, .. } => {
                self.began = Instant::now();
                self.step = title(spec);
                self.bar.set_message(self.step.clone());
                self.show_time_left();
            }
            RunEvent::Trial { event, .. } => self.within(event),
            RunEvent::TrialStored { spec, outcome, .. } => {
                if outcome.is_done() {
                    self.durations.add(spec, self.began.elapsed());
                }
                self.specs.retain(|other| other != spec);
                self.bar.inc(1);
                self.say(spec, outcome);
            }
        }
    }

    /// Removes the moving lines.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn within(&mut self, event: &Event) {
        match event {
            Event::Step(step) => self.bar.set_message(format!("{}: {step}", self.step)),
            Event::Phase(PhaseEvent::Started { workload, phase, ops_planned }) => {
                self.ops_planned = *ops_planned;
                self.bar.set_message(format!("{}: {workload} {phase}", self.step));
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
                let left = estimate.total.saturating_sub(self.began.elapsed());
                format!("about {} left", rounded(left))
            }
        };
        self.bar.set_prefix(text);
    }

    /// A trial's end: always told when it did not end well.
    fn say(&self, spec: &TrialSpec, outcome: &Outcome) {
        let took = rounded(self.began.elapsed());
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
