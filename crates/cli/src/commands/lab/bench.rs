//! `fstrial self lab-bench`: measures the lab's two targets on this machine: how fast a trial starts
//! and how fast virtual time passes.

use std::collections::BTreeMap;
use std::time::Duration;

use lab::{Bench, RATE_MIN, START_MAX, Spent, rate};
use testbed::Stop;
use trial::InputFiles;

use crate::arguments::LabBench;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Measures and prints.
pub(super) fn bench(name: Option<&str>, arguments: &LabBench) -> Ended {
    let lab =
        super::open(name, &arguments.profile, None, &BTreeMap::new(), &InputFiles::default())?;
    say!("lab {}: making its checkpoint if need be, then a minute or two", lab.id());
    let heading = format!("lab {}, ext4 on {}", lab.id(), lab.profile().name);
    let bench = lab::bench(lab, arguments.starts.max(1), &Stop::new())
        .map_err(Failure::from(Exit::Refused))?;
    let (text, met) = describe(&bench);
    print(&format!("{heading}\n\n{text}"))?;
    Ok(if met { Exit::Done } else { Exit::SomeFailed })
}

/// The report, and whether every target is met.
fn describe(bench: &Bench) -> (String, bool) {
    let mut lines = vec![
        "Wall time depends on what else this machine does; processor time is the emulator's own."
            .to_owned(),
        String::new(),
    ];
    let parts = [starts(bench), work(bench), disk_bound(bench)];
    let met = parts.iter().all(|(_, met)| *met);
    lines.extend(parts.into_iter().flat_map(|(lines, _)| lines));
    (lines.join("\n") + "\n", met)
}

/// Lines of the report, and whether what they say meets its target.
type Part = (Vec<String>, bool);

fn starts(bench: &Bench) -> Part {
    let start = median(bench.starts.iter().map(|start| start.first_op));
    let resumed = median(bench.starts.iter().map(|start| start.resumed));
    let mut lines = vec![format!(
        "start of a trial until       {:>9} {:>10}   (median of {})",
        "wall s",
        "processor s",
        bench.starts.len()
    )];
    let line = |name: &str, spent: Spent| {
        let (wall, processor) = (spent.wall.as_secs_f64(), spent.processor.as_secs_f64());
        format!("  {name:<26} {wall:>9.3} {processor:>10.3}")
    };
    lines.push(line("the guest goes on", resumed));
    if let Some(first) = bench.starts.first() {
        for (nth, (step, _)) in first.steps.iter().enumerate() {
            if matches!(step.as_str(), "unmount" | "check" | "prepare") {
                continue;
            }
            let of = |start: &lab::Start| start.steps.get(nth).map(|(_, spent)| *spent);
            lines.push(line(&format!("{step} begins"), median(bench.starts.iter().filter_map(of))));
        }
    }
    lines.push(line("the first op", start));
    let ratio = start.processor.as_secs_f64() / resumed.processor.as_secs_f64().max(1e-9);
    let met = ratio <= START_MAX;
    lines.push(format!(
        "  {ratio:.1} times an emulator that is only resumed; at most {START_MAX:.0} times: {}\n",
        yes(met)
    ));
    (lines, met)
}

fn work(bench: &Bench) -> Part {
    let mut lines = vec![format!(
        "{:<22} {:>9} {:>9} {:>9} {:>10} {:>8} {:>8} {:>9}",
        "work", "virtual s", "computing", "requests", "instr/req", "wall s", "proc. s", "virt/proc"
    )];
    for work in bench.work.iter().chain([&bench.counting]) {
        let seconds = work.time.0 as f64 / 1e9;
        let each = bench.instructions_a_request(work);
        let each = each.map_or("-".to_owned(), |each| format!("{each:.0}"));
        lines.push(format!(
            "{:<22} {seconds:>9.2} {:>8.1}% {:>9} {each:>10} {:>8.2} {:>8.2} {:>9.2}",
            work.phase,
            work.computing * 100.0,
            work.requests,
            work.spent.wall.as_secs_f64(),
            work.spent.processor.as_secs_f64(),
            work.rate()
        ));
    }
    (lines, true)
}

fn disk_bound(bench: &Bench) -> Part {
    let (time, spent) = bench.disk_bound();
    let (wall, processor) = (rate(time, spent.wall), rate(time, spent.processor));
    let mut lines = vec![format!(
        "disk-bound work: {wall:.1} virtual seconds a wall second, {processor:.1} a second of processor \
         time"
    )];
    let ratio = bench.disk_bound_ratio();
    let met = ratio.is_none_or(|ratio| ratio >= RATE_MIN);
    lines.push(match ratio {
        None => "  no work waited mostly for its disk, so there is no ratio".to_owned(),
        Some(ratio) => format!(
            "  {ratio:.1} times what a loop gets; at least {RATE_MIN:.0} times: {}",
            yes(met)
        ),
    });
    lines.push(format!(
        "reference: that loop runs at {:.0} million instructions a second",
        bench.instructions_a_second() / 1e6
    ));
    (lines, met)
}

fn yes(met: bool) -> &'static str {
    if met { "yes" } else { "no" }
}

/// The medians of wall time and of processor time, each taken separately.
fn median(of: impl Iterator<Item = Spent>) -> Spent {
    let (mut wall, mut processor): (Vec<Duration>, Vec<Duration>) =
        of.map(|spent| (spent.wall, spent.processor)).unzip();
    wall.sort();
    processor.sort();
    let middle = |sorted: &[Duration]| sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    Spent { wall: middle(&wall), processor: middle(&processor) }
}
