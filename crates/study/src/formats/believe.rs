//! Whether to believe the page, in five lines, for a reader who reads nothing else.

use super::words;
use crate::results::RunFacts;
use crate::verdict::{Judged, VERDICTS, Verdict};
use crate::{Cause, ClaimResults, Results, atom};

/// What a reader has to know before the first verdict.
pub(super) const READING: &str = "A claim is split into numbered questions; one that sets a filesystem against several has a \
     line for each. A seed is one repetition, with the same random choices for every filesystem. A \
     verdict, like the tables of figures, is of the study's own machine at the largest size; after \
     it stands which smaller sizes and other machines do not confirm it.";

/// A line's heading and its text.
pub(super) type Said = (&'static str, String);

/// The lines, the answer first.
pub(super) fn believe(results: &Results) -> Vec<Said> {
    let mut lines = Vec::new();
    if !results.study.believe.is_empty() {
        lines.push(("In short", results.study.believe.clone()));
    }
    lines.extend(facts(results));
    lines
}

/// Those after the answer.
pub(super) fn facts(results: &Results) -> [Said; 4] {
    [
        ("By its own figures", by_the_page(results)),
        ("Run again", run_again(results)),
        ("Size", size(results)),
        ("Not the same", not_the_same(results)),
    ]
}

/// Claims of one kind of verdict, each named: `3 hold (A1, A3, A6)`.
fn counted(results: &Results, of: &dyn Fn(&ClaimResults) -> &Judged, own: bool) -> String {
    let said = VERDICTS.iter().filter_map(|kind| {
        let claims = results.claims.iter().filter(|claim| of(claim).verdict == *kind);
        let ids: Vec<&str> = claims.map(|claim| claim.claim.id.as_str()).collect();
        let one = ids.len() == 1;
        let word = match kind {
            Verdict::Holds if one => "holds",
            Verdict::Holds => "hold",
            Verdict::DoesNotHold if one => "does not",
            Verdict::DoesNotHold => "do not",
            Verdict::Partly if one => "holds in part",
            Verdict::Partly => "hold in part",
            Verdict::Undecided if one => "is undecided",
            Verdict::Undecided => "are undecided",
            Verdict::NotRun if own => "without figures",
            Verdict::NotRun if one => "was not run",
            Verdict::NotRun => "were not run",
            Verdict::NotTestable if one => "is not testable",
            Verdict::NotTestable => "are not testable",
        };
        (!ids.is_empty()).then(|| format!("{} {word} ({})", ids.len(), ids.join(", ")))
    });
    let said: Vec<String> = said.collect();
    format!("of {} claims {}.", results.claims.len(), said.join(", "))
}

fn by_the_page(results: &Results) -> String {
    counted(results, &|claim| &claim.published, true)
}

fn run_again(results: &Results) -> String {
    counted(results, &|claim| &claim.measured, false)
}

fn size(results: &Results) -> String {
    let mut sizes: Vec<f64> = Vec::new();
    for size in results.claims.iter().flat_map(|claim| &claim.sizes).map(|it| it.size) {
        if !sizes.iter().any(|known| (known - size).abs() < 1e-9) {
            sizes.push(size);
        }
    }
    sizes.sort_by(f64::total_cmp);
    let turned = results.claims.iter().filter(|it| it.measured.turns_with_size());
    let turned: Vec<&str> = turned.map(|claim| claim.claim.id.as_str()).collect();
    let in_words = |size: f64| atom::size_in_words(&results.study, size);
    let mut shown: Vec<String> = sizes.iter().map(|size| in_words(*size)).collect();
    if let Some(largest) = sizes.last()
        && let Some(some) = of_some_claims_only(results, *largest)
    {
        shown.pop();
        shown.push(format!("and for {} {}", some.join(", "), in_words(*largest)));
    }
    match (sizes.last(), &shown[..]) {
        (None, _) | (_, []) => "nothing was run yet.".to_owned(),
        (Some(largest), shown) => {
            let at = format!("run at {}", shown.join(", "));
            let full = (largest - 1.0).abs() < 1e-9;
            let turns = match (&turned[..], shown.len()) {
                (_, 1) if full => String::new(),
                (_, 1) => ", a trial run: how size changes the verdicts is not known".to_owned(),
                ([], _) => "; no claim changed with size".to_owned(),
                (turned, _) => format!("; {} changed with size", turned.join(", ")),
            };
            let rest = if full { "" } else { "; the published size was not reached" };
            format!("{at}{turns}{rest}.")
        }
    }
}

/// The claims that were run at this size, if others that were run were not.
fn of_some_claims_only(results: &Results, size: f64) -> Option<Vec<&str>> {
    let ran = results.claims.iter().filter(|claim| !claim.sizes.is_empty());
    let (those, others): (Vec<_>, Vec<_>) =
        ran.partition(|claim| claim.sizes.iter().any(|it| (it.size - size).abs() < 1e-9));
    (!others.is_empty()).then(|| those.iter().map(|claim| claim.claim.id.as_str()).collect())
}

/// How this run differs from the page's, and why claims fail.
fn not_the_same(results: &Results) -> String {
    let fact = |key: &str| {
        let mut found = results.runs.iter().filter_map(|run| run.environment.0.get(key));
        found.next().cloned()
    };
    let kernel = results.runs.first().map(RunFacts::kernel).unwrap_or_default();
    let mut code = format!("every filesystem is today's code, of Linux {kernel}");
    if results.study.parts.iter().any(|part| {
        part.contenders.iter().any(|contender| contender.contender.filesystem.as_str() == "zfs")
    }) {
        let version = fact("openzfs").map_or(String::new(), |version| format!(" {version}"));
        code += &format!(", and OpenZFS{version} is used instead of the ZFS of the page");
    }
    if !results.runs.is_empty() && results.runs.iter().all(|run| run.noatime) {
        code += ", mounted noatime";
    }
    let place = match results.simulated {
        true => "; the machine is simulated, with one processor",
        false => "; the machine is a different one",
    };
    let causes = Cause::ALL.iter().filter_map(|(cause, in_words)| {
        let claims = results.claims.iter().filter(|claim| {
            words::because(claim).is_some()
                && claim.claim.because.as_ref().is_some_and(|because| because.cause == *cause)
        });
        let ids: Vec<&str> = claims.map(|claim| claim.claim.id.as_str()).collect();
        (!ids.is_empty()).then(|| format!(" For {}: {in_words}.", ids.join(", ")))
    });
    format!("{code}{place}.{}", causes.collect::<String>())
}
