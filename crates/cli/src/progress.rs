//! Progress on standard error: what runs, how far it is, how long it will take.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runner::{Durations, Estimate, Remaining, RunEvent};
use testbed::Queue;
use trial::{Event, Outcome, TrialSpec};
use workload::PhaseEvent;

use crate::output::say;

/// Shows the events of a session, run after run.
pub(crate) struct Watch {
    quiet: bool,
    progress: Option<Progress>,
    /// The run that was shown last.
    run: Option<String>,
}

impl Watch {
    /// `quiet` shows only what was left out.
    pub(crate) fn new(quiet: bool) -> Watch {
        Watch { quiet, progress: None, run: None }
    }

    /// Takes one event.
    pub(crate) fn show(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::LeftOut { refusal } => say!("left out: {refusal}"),
            RunEvent::TakesTurns { .. } if self.quiet => {}
            RunEvent::TakesTurns { queue } => aside(&turns(queue)),
            RunEvent::Further { .. } if self.quiet => {}
            RunEvent::Further { from, to } => {
                let more = report::counted((to - from) as usize, "repeat");
                aside(&format!("after {from} repeats it is open who is first: {more} more"));
            }
            RunEvent::Again { run, trials, most } => say!(
                "run {run}: {} again that something outside of {} ended (each {most} times at most)",
                report::counted(trials, "trial"),
                if trials == 1 { "it" } else { "them" }
            ),
            RunEvent::Began { run, store, remain, lanes, durations } => {
                self.finish();
                // A run that goes on was told of before.
                if !self.quiet && self.run.as_deref() != Some(run) {
                    let trials = report::counted(remain.len(), "trial");
                    say!("run {run}: {trials}, results in {}", store.display());
                }
                self.run = Some(run.to_owned());
                self.progress = Some(Progress::new(remain, lanes, durations, self.quiet));
            }
            event => {
                if let Some(progress) = &mut self.progress {
                    progress.show(event);
                }
            }
        }
    }

    /// Removes the moving lines.
    pub(crate) fn finish(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.bar.finish_and_clear();
            *shown_bar() = None;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Shows a run's events. On a terminal as two moving lines, else as one line a trial.
struct Progress {
    bar: ProgressBar,
    lines: bool,
    durations: Durations,
    remaining: Remaining,
    /// The trials that run now, by their place in the order.
    running: BTreeMap<u32, Running>,
    lanes: usize,
    shown: Instant,
}

/// A trial that runs now.
struct Running {
    began: Instant,
    spec: TrialSpec,
    /// Of its phase.
    ops_planned: u64,
    /// What it is doing now.
    at: String,
}

/// The shortest time between two updates of the display.
const SHOW_EVERY: Duration = Duration::from_millis(250);

impl Progress {
    /// `specs` are the trials that remain, run on so many lanes; `durations` what is known of
    /// earlier ones.
    fn new(specs: Vec<TrialSpec>, lanes: usize, durations: Durations, quiet: bool) -> Progress {
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
        bar.set_prefix("time left not known yet");
        // The elapsed time advances while a trial reports nothing.
        bar.enable_steady_tick(Duration::from_secs(1));
        *shown_bar() = Some(bar.clone());
        let remaining = Remaining::of(&specs);
        let now = Instant::now();
        Progress {
            bar,
            lines: !quiet && !terminal,
            durations,
            remaining,
            running: BTreeMap::new(),
            lanes,
            shown: now,
        }
    }

    /// Takes one event.
    fn show(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::TrialStarted { ordinal, spec, waited, .. } => {
                self.remaining.waited(waited);
                let running = Running {
                    began: Instant::now(),
                    spec: spec.clone(),
                    ops_planned: 0,
                    at: "starting".to_owned(),
                };
                self.running.insert(ordinal, running);
                self.draw(ordinal);
            }
            RunEvent::Trial { ordinal, event } => self.within(ordinal, event),
            RunEvent::TrialStored { ordinal, spec, outcome, took } => {
                self.running.remove(&ordinal);
                if outcome.is_done() {
                    self.durations.add(spec, took);
                }
                self.remaining.ended(spec);
                self.bar.inc(1);
                self.say(spec, outcome, took);
            }
            RunEvent::LeftOut { .. }
            | RunEvent::Further { .. }
            | RunEvent::Again { .. }
            | RunEvent::TakesTurns { .. }
            | RunEvent::Began { .. } => {}
        }
    }

    fn within(&mut self, ordinal: u32, event: &Event) {
        let Some(running) = self.running.get_mut(&ordinal) else { return };
        match event {
            Event::Step(step) => running.at = step.to_string(),
            Event::Phase(PhaseEvent::Started { workload, phase, ops_planned }) => {
                running.ops_planned = *ops_planned;
                running.at = format!("{workload} {phase}");
            }
            Event::Phase(PhaseEvent::Progress { ops_done }) if running.ops_planned > 0 => {
                // A plan may be exceeded: a phase of a given time has only a guess.
                let percent = (ops_done.saturating_mul(100) / running.ops_planned).min(100);
                let head = running.at.split(" · ").next().unwrap_or_default();
                running.at = format!("{head} · {percent} %");
                if self.shown.elapsed() < SHOW_EVERY {
                    return;
                }
            }
            _ => return,
        }
        self.draw(ordinal);
    }

    fn draw(&mut self, ordinal: u32) {
        self.shown = Instant::now();
        if let Some(running) = self.running.get(&ordinal) {
            let message = format!("{}: {}", title(&running.spec), running.at);
            self.bar.set_message(text::line(&message));
        }
        let unknown = || "time left not known yet".to_owned();
        self.bar.set_prefix(self.left().unwrap_or_else(unknown));
    }

    /// How long it will take from now; `None` without a basis.
    fn left(&self) -> Option<String> {
        let running = self.running.values().map(|it| (&it.spec, it.began.elapsed()));
        let running: Vec<(&TrialSpec, Duration)> = running.collect();
        let left = self.remaining.left(&self.durations, &running, self.lanes)?;
        Some(format!("{} left", span(left)))
    }

    /// A trial's end: always reported if it did not end well.
    fn say(&self, spec: &TrialSpec, outcome: &Outcome, took: Duration) {
        let took = rounded(took);
        let line = format!("{}: {outcome} ({took})", title(spec));
        if self.lines {
            let left = self.left().filter(|_| self.bar.length() > Some(self.bar.position()));
            say!("{line}{}", left.map_or_else(String::new, |left| format!(", {left}")));
        } else if !outcome.is_done() {
            self.bar.suspend(|| say!("{line}"));
        }
    }
}

/// The bar on the terminal, for lines from other threads.
fn shown_bar() -> MutexGuard<'static, Option<ProgressBar>> {
    static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);
    BAR.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Tells the user a line above the moving ones, if there are any.
pub(crate) fn aside(line: &str) {
    match shown_bar().as_ref() {
        Some(bar) => bar.suspend(|| say!("{line}")),
        None => say!("{line}"),
    }
}

/// Who else runs trials here, since when, and how many are to be served first.
fn turns(queue: Queue) -> String {
    let mut line = match queue.others {
        0 | 1 => "another fstrial of yours runs trials here; the two take turns".to_owned(),
        others => format!("{others} other fstrials of yours run trials here; all take turns"),
    };
    if queue.ahead > 0 {
        line += &format!("; {} waited before this one", queue.ahead);
    }
    if let Some((process, held)) = queue.longest {
        line += &format!("; process {process} has had its turn for {}", rounded(held));
    }
    line
}

fn title(spec: &TrialSpec) -> String {
    let workloads: Vec<_> = spec.workloads.iter().map(|choice| choice.name.as_str()).collect();
    format!("{} on {}, repeat {}", workloads.join("+"), spec.contender.name, spec.block + 1)
}

/// `about 3 min 5 s`, or where that would claim too much `2 min 10 s to 6 min 40 s`.
pub(crate) fn span(estimate: Estimate) -> String {
    if estimate.is_sure() {
        return format!("about {}", rounded(estimate.total));
    }
    format!("{} to {}", rounded(estimate.least), rounded(estimate.most))
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
