//! Who is first and who comes near, in words: the same in every format.

use crate::analysis::{
    Behind, Conditions, Decision, EQUIVALENCE_MARGIN, Measured, MetricTable, PhaseAnalysis,
    Relation, Stalls, Standing, Unit,
};
use crate::numbers::{counted, number};
use crate::wording::{and, factor, figure};

/// More contenders than this behind the leader are summed up.
const NAMED_MAX: usize = 5;

/// A sentence for each phase, led by where it belongs.
pub(crate) fn of_phases(
    title: &str,
    phases: &[PhaseAnalysis],
    contenders: &[Conditions],
) -> Vec<String> {
    if contenders.is_empty() || phases.is_empty() {
        return vec![format!("On {title}: nothing was measured.")];
    }
    let done = phases.iter().filter(|phase| !phase.is_left_out());
    done.map(|phase| format!("On {title} ({}): {}.", phase.name, phase.verdict)).collect()
}

/// What wall time says about one phase; a fragment without a full stop.
pub(crate) fn of_phase(phase: &PhaseAnalysis, contenders: &[Conditions]) -> String {
    let wall = phase.table("wall");
    match wall.and_then(|table| Some((table, table.standing.as_ref()?))) {
        None => "nothing was measured".to_owned(),
        Some((table, standing)) => of_table(table, standing, "", contenders),
    }
}

/// `btrfs: 7 times nothing finished for 0.4 s to 1.1 s (12 % of its time, waiting for write)`, for
/// each contender that stood still.
pub(crate) fn stalls(phase: &PhaseAnalysis, contenders: &[Conditions]) -> Vec<String> {
    let of = |(stalls, contender): (&Option<Stalls>, &Conditions)| {
        let stalls = stalls.as_ref().filter(|stalls| stalls.times > 0)?;
        Some(of_stalls(&contender.name, stalls))
    };
    phase.stalls.iter().zip(contenders).filter_map(of).collect()
}

/// The same of one.
pub(crate) fn of_stalls(name: &str, stalls: &Stalls) -> String {
    let times = match stalls.times {
        _ if stalls.at_least => format!("at least {} times", number(stalls.times as f64)),
        1 => "once".to_owned(),
        times => format!("{} times", number(times as f64)),
    };
    let repeats = match stalls.trials {
        1 => String::new(),
        trials => format!(" in {}", counted(trials, "trial")),
    };
    let [shortest, longest] = [stalls.shortest, stalls.longest].map(|it| figure(it, Unit::Seconds));
    let lasted = if shortest == longest { longest } else { format!("{shortest} to {longest}") };
    let kinds: Vec<&str> = stalls.kinds.iter().map(String::as_str).collect();
    format!(
        "{name}: {times}{repeats} nothing finished for {lasted} ({} of the time, waiting for {})",
        percent(stalls.share),
        and(&kinds)
    )
}

/// `ext4, 10.8 ms; f2fs and xfs 1.2 times as long, not shown with 2 repeats; btrfs 12 times`: the
/// leader by its figure and the others in the order of theirs, each with what is shown of it.
/// `things` is what a rate counts.
pub(crate) fn of_table(
    table: &MetricTable,
    standing: &Standing,
    things: &str,
    contenders: &[Conditions],
) -> String {
    let name = |at: &usize| contenders[*at].name.as_str();
    let names = |all: &[usize]| and(&all.iter().map(name).collect::<Vec<_>>());
    let mut parts = match (standing.leader, standing.decision()) {
        (_, Decision::NoFigure) => {
            return "no contender has a figure that can be compared".to_owned();
        }
        (None, Decision::Alone) if contenders.len() == 1 => {
            let figure = shown(table, standing.not_compared[0], things);
            return format!("{figure}; one contender, nothing to compare it with");
        }
        (None, Decision::Alone) => {
            vec![format!("only {} has a figure", names(&standing.not_compared))]
        }
        (Some(leader), _) => {
            let mut parts = vec![format!("{}, {}", name(&leader), shown(table, leader, things))];
            parts.extend(behind(standing, table, &names));
            if !standing.not_compared.is_empty() {
                parts.push(format!(
                    "{}: {}",
                    names(&standing.not_compared),
                    why_not(standing, table)
                ));
            }
            parts
        }
        (None, _) => vec![why_not(standing, table).to_owned()],
    };
    match &standing.missing[..] {
        [] => {}
        [one] => parts.push(format!("{} has no figure", name(one))),
        several => parts.push(format!("{} have no figure", names(several))),
    }
    parts.join("; ")
}

/// Why figures are not compared.
fn why_not(standing: &Standing, table: &MetricTable) -> &'static str {
    let few = |at: &usize| table.cells[*at].has_too_few();
    let once = |at: &usize| table.cells[*at].figures.len() == 1;
    match &standing.not_compared[..] {
        all if standing.leader.is_none() && all.iter().all(once) => "not decided by one repeat",
        all if standing.leader.is_none() && all.iter().any(few) => "not enough trials to compare",
        all if all.iter().all(few) => "not enough trials",
        _ => "cannot be compared",
    }
}

/// A contender's figure with its unit, as a person would say it.
fn shown(table: &MetricTable, at: usize, things: &str) -> String {
    let mean = table.cells[at].mean.unwrap_or(f64::NAN);
    match (table.unit(), things) {
        (Unit::PerSecond, things) if !things.is_empty() => format!("{} {things}/s", number(mean)),
        (Unit::Named, _) => format!("{} {}", table.metric.label, number(mean)),
        (unit, _) => figure(mean, unit),
    }
}

/// The others in the order of their figures; neighbours of whom the same is said share a clause.
fn behind(
    standing: &Standing,
    table: &MetricTable,
    names: &dyn Fn(&[usize]) -> String,
) -> Vec<String> {
    let mut clauses: Vec<(Vec<usize>, String, Relation)> = Vec::new();
    let mut more = more(table);
    let named = match standing.behind.len() {
        count if count <= NAMED_MAX => count,
        _ => NAMED_MAX - 1,
    };
    for one in &standing.behind[..named] {
        let times = format!("{} times", near(one.ratio));
        let said = if one.relation == Relation::Level { String::new() } else { times };
        match clauses.last_mut() {
            Some((all, same, relation)) if *same == said && *relation == one.relation => {
                all.push(one.contender);
            }
            _ => clauses.push((vec![one.contender], said, one.relation)),
        }
    }
    let mut parts: Vec<String> = Vec::new();
    for (at, (all, times, relation)) in clauses.iter().enumerate() {
        let who = names(all);
        let times = match relation {
            Relation::Level => String::new(),
            _ => format!("{times}{}", std::mem::take(&mut more)),
        };
        let clause = match relation {
            Relation::Level => {
                format!("{who} level within {}", percent(EQUIVALENCE_MARGIN))
            }
            Relation::Open => {
                let repeats = counted(standing.repeats, "repeat");
                format!("{who} {times}, not shown with {repeats}")
            }
            Relation::Worse | Relation::LittleWorse => format!("{who} {times}"),
        };
        // Those that are shown to be worse are one list.
        match parts.last_mut() {
            Some(list) if relation.is_worse() && clauses[at - 1].2.is_worse() => {
                *list += &format!(", {clause}");
            }
            _ => parts.push(clause),
        }
    }
    parts.extend(rest(&standing.behind[named..]));
    parts
}

/// Those too many to be named, with the last one's factor.
fn rest(behind: &[Behind]) -> Option<String> {
    let last = behind.last()?;
    Some(format!("{} more, up to {} times", behind.len(), near(last.ratio)))
}

/// What a factor says of a figure that is worse by it; said once.
fn more(table: &MetricTable) -> &'static str {
    match (table.unit(), table.metric.higher_is_better) {
        (Unit::Seconds, _) => " as long",
        (Unit::PerSecond | Unit::BytesPerSecond, _) => " slower",
        (_, Some(true)) => " less",
        _ => " as much",
    }
}

/// A factor with two digits, or as many as it takes not to read as 1.
fn near(ratio: f64) -> String {
    let digits = (2..4).find(|digits| factor(ratio, *digits) != factor(1.0, *digits));
    factor(ratio, digits.unwrap_or(4))
}

/// `1,000 commits in 13.6 ms to 224 ms of virtual time, in each of 20 trials`.
pub(crate) fn of_work(work: &Measured, things: &str, clock: &str) -> String {
    let ends = |least: String, most: String| match least == most {
        true => most,
        false => format!("{least} to {most}"),
    };
    let ops = ends(number(work.ops_least as f64), number(work.ops_most as f64));
    let seconds = |value: f64| figure(value, Unit::Seconds);
    let time = ends(seconds(work.seconds_least), seconds(work.seconds_most));
    let time = format!("{time} of {clock} time");
    let done = match work.ops_most {
        0 => time,
        1 => format!("1 {} in {time}", things.strip_suffix('s').unwrap_or(things)),
        _ => format!("{ops} {things} in {time}"),
    };
    match work.trials {
        1 => format!("{done}, in one trial"),
        trials => format!("{done}, in each of {} trials", number(trials as f64)),
    }
}

/// `5 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The same in short, for a line of its own: `xfs 1, ext4 1.32×, btrfs 4.2–4.3×`.
pub(crate) fn in_short(table: &MetricTable, contenders: &[Conditions]) -> Option<String> {
    let standing = table.standing.as_ref()?;
    let open = |behind: &Behind| behind.relation == Relation::Open;
    match standing.decision() {
        Decision::NoFigure => return None,
        Decision::Alone if contenders.len() == 1 => return Some(shown(table, 0, "")),
        Decision::Alone | Decision::TooFew => return Some(why_not(standing, table).to_owned()),
        _ if !standing.behind.is_empty() && standing.behind.iter().all(open) => {
            return Some("no difference shown".to_owned());
        }
        _ => {}
    }
    let name = |at: usize| contenders[at].name.as_str();
    let behind = standing.behind.iter().map(|one| match one.relation {
        Relation::Level => format!("{} level", name(one.contender)),
        Relation::Open => format!("{} {}×, not shown", name(one.contender), near(one.ratio)),
        Relation::Worse | Relation::LittleWorse => {
            let against = crate::wording::against(&table.cells[one.contender], 2);
            format!("{} {}", name(one.contender), against.with_sign())
        }
    });
    let first = standing.leader.map(|leader| format!("{} 1", name(leader)));
    let few = standing
        .not_compared
        .iter()
        .map(|at| format!("{} {}", name(*at), why_not(standing, table)));
    let parts: Vec<String> = first.into_iter().chain(behind).chain(few).collect();
    Some(parts.join(", "))
}
