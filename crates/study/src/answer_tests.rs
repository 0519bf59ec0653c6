//! What an answer says besides its verdict: what was asked and wanted, the figure found, and what
//! would decide it. Each expected text is written by hand.

use crate::atom::digits;
use crate::verdict::Verdict::{self, DoesNotHold, Holds, NotRun, Undecided};
use crate::verdict_tests::{Series, about, run, study, study_with};
use crate::{Answer, Judged, PartRun, QuestionVerdict, Study, results};

/// The answers of the page's own figures.
fn published(study: &Study) -> Vec<Answer> {
    results(study, &[]).claims.remove(0).published.answers
}

/// The first answer from these runs.
fn measured(claim: &str, runs: &[PartRun]) -> Answer {
    let study = study("lower", "1, 1, 1", claim);
    results(&study, runs).claims.remove(0).measured.answers.remove(0)
}

fn seeds(from: u64, values: &[f64]) -> Series {
    (from..).zip(values.iter().copied()).collect()
}

#[test]
fn numbers_have_three_or_four_digits() {
    for (value, shown) in [
        (12_345.6, "12346"),
        (1_234.5, "1234"),
        (123.46, "123.5"),
        (100.0, "100"),
        (12.346, "12.35"),
        (10.0, "10"),
        (1.2346, "1.235"),
        (0.12346, "0.123"),
        (0.1, "0.1"),
        (0.012346, "0.0123"),
        (-0.0, "0"),
        (f64::INFINITY, "∞"),
        (f64::NEG_INFINITY, "−∞"),
    ] {
        assert_eq!(digits(value), shown, "{value}");
    }
}

#[test]
fn an_answer_says_what_was_asked_wanted_and_found() {
    for (values, claim, said) in [
        ("1, 2, 9", "a better than b", "a ÷ b in Row, below 1: 0.5"),
        ("1, 2, 9", "a worse than b", "a ÷ b in Row, above 1: 0.5"),
        ("1, 2, 9", "a better than b by at least 20 %", "a ÷ b in Row, at most 0.8: 0.5"),
        ("1, 2, 9", "a about equal to b", "a ÷ b in Row, 0.909 to 1.1: 0.5"),
        ("6, 2, 9", "a at least 4 times b", "a ÷ b in Row, at least 4: 3"),
        ("6, 2, 9", "a about 3 times b", "a ÷ b in Row, 2.4 to 3.75: 3"),
        ("6, 2, 9", "a at least 5 s", "a in Row, at least 5 s: 6 s"),
        ("6, 2, 9", "a at most 5 s", "a in Row, at most 5 s: 6 s"),
        ("6, 11, 9", "a saves 4 s over b", "b − a in Row, 3 s to 5 s: 5 s"),
        // Figures that are only bounds.
        ("\">100\", 50, 9", "a better than b", "a ÷ b in Row, below 1: above 2"),
        ("\"<100\", 50, 9", "a better than b", "a ÷ b in Row, below 1: below 2"),
        ("100, \">50\", 9", "a better than b", "a ÷ b in Row, below 1: below 2"),
        ("\">100\", \"<50\", 9", "a better than b", "a ÷ b in Row, below 1: above 2"),
        ("6, \">11\", 9", "a saves 4 s over b", "b − a in Row, 3 s to 5 s: above 5 s"),
        ("6, \"<11\", 9", "a saves 4 s over b", "b − a in Row, 3 s to 5 s: below 5 s"),
        ("\">6\", 11, 9", "a saves 4 s over b", "b − a in Row, 3 s to 5 s: below 5 s"),
    ] {
        let answer = published(&study("lower", values, claim)).remove(0);
        let found = answer.found.unwrap_or_default();
        assert_eq!(format!("{}, {}: {found}", answer.asked, answer.wanted), said);
        // The number beside the words is the same: an amount in its unit, a ratio as it is.
        let bound = found.contains("above") || found.contains("below");
        let number: Option<f64> = found.split(' ').next().and_then(|word| word.parse().ok());
        assert_eq!(answer.value.map(|[value, ..]| digits(value)), number.map(digits), "{said}");
        assert_eq!(answer.value.is_none(), bound, "{said}");
    }
}

#[test]
fn a_ratio_beside_another_is_their_quotient() {
    let other = r#"
[[table.row]]
id = "s"
label = "Other"
unit = "s"
better = "lower"
values = [6, 3, 9]
measure = { workload = "w", phase = "spin", metric = "cpu" }
"#;
    let study = study_with("lower", "8, 2, 9", "a better beside b than in s", other);
    let answer = published(&study).remove(0);
    assert_eq!(answer.found.as_deref(), Some("2"));
    assert_eq!(answer.asked, "a ÷ b in Row, beside the same in Other");
}

/// Spreads are relative to the figure: of single runs where those were published.
#[test]
fn published_spreads_are_compared_relative_to_their_figures() {
    let answer = |values: &str, more: &str| {
        published(&study_with("lower", values, "a varies more than b", more)).remove(0)
    };
    let spread = "spread = [1, 4, 1]\n";
    let found = answer("10, 20, 5", spread);
    assert_eq!((found.verdict, found.found.as_deref()), (DoesNotHold, Some("0.5")));
    assert_eq!(found.asked, "spread of a ÷ b in Row");
    // Standard deviations of the runs: √2 of 10, 4 of 20. One run alone has none.
    let runs = format!("{spread}runs = [[9, 11], [16, 20, 24], [5]]\n");
    assert_eq!(answer("10, 20, 5", &runs).found.as_deref(), Some("0.707"));
    let single = format!("{spread}runs = [[9], [16], [5]]\n");
    assert_eq!(answer("10, 20, 5", &single).found.as_deref(), Some("0.5"));
    for (values, more) in [
        ("10, 20, 5", ""),
        ("10, 20, 5", "spread = [0, 4, 1]\n"),
        ("0, 20, 5", spread),
        ("10, 20, 5", "spread = [\"not published\", 4, 1]\n"),
    ] {
        let found = answer(values, more);
        assert_eq!(found.verdict, NotRun, "{values} {more}");
        assert_eq!(found.reason.as_deref(), Some("no spread of a in Row was published"));
    }
}

#[test]
fn what_would_decide_a_question_follows_from_its_interval() {
    let takes = |a: Series, b: Series| {
        let answer = measured("a better than b", &[run(&[("a", a), ("b", b)])]);
        assert_eq!(answer.verdict, Undecided);
        let [value, low, high] = answer.value.unwrap().map(f64::ln);
        // The interval's half width falls with the square root of the number of seeds.
        let seeds = (8.0 * ((high - low) / 2.0 / value).powi(2)).ceil();
        let apart = digits(low.abs().max(high.abs()).exp_m1() * 100.0);
        (answer.takes.unwrap(), seeds, apart)
    };
    let (said, seeds, apart) = takes(about(1.0, 0.2, 0), about(1.18, 0.2, 3));
    assert!(seeds <= 100.0 && apart.parse::<f64>().unwrap() > 10.0, "{seeds}, {apart}");
    assert_eq!(said, format!("about {seeds} seeds would decide it"));
    let (said, seeds, apart) = takes(about(1.0, 0.03, 0), about(1.02, 0.03, 3));
    assert!(seeds <= 100.0 && apart.parse::<f64>().unwrap() > 1.0, "{seeds}, {apart}");
    assert_eq!(
        said,
        format!("they differ by less than {apart} %; about {seeds} seeds would decide it")
    );
    // So near that it does not matter who is ahead.
    let (said, seeds, apart) = takes(about(1.0, 0.003, 0), about(1.002, 0.003, 3));
    assert!(seeds <= 100.0 && apart.parse::<f64>().unwrap() < 1.0, "{seeds}, {apart}");
    assert_eq!(said, format!("they differ by less than {apart} %"));
    let (said, seeds, apart) = takes(about(1.0, 0.05, 0), about(1.001, 0.05, 3));
    assert!(seeds > 100.0, "{seeds}");
    assert_eq!(said, format!("they differ by less than {apart} %"));
    let (said, seeds, _) = takes(about(1.0, 0.3, 0), about(1.01, 0.3, 3));
    assert!(seeds > 100.0, "{seeds}");
    assert_eq!(said, "more than 100 seeds would be needed to decide it");
}

/// What the first look has decided stays, unless all seeds together say the opposite.
#[test]
fn a_later_look_may_turn_an_earlier_one() {
    let first = run(&[("a", seeds(1, &[1.0; 3])), ("b", seeds(1, &[1.010, 1.012, 1.011]))]);
    let later = |a: &[f64], b: &[f64]| {
        let mut later = run(&[("a", seeds(4, a)), ("b", seeds(4, b))]);
        later.tag.look = 1;
        measured("a better than b", &[first.clone(), later])
    };
    let open = later(&[1.0, 1.2, 0.8], &[1.0, 0.8, 1.2]);
    assert_eq!((open.verdict, open.takes), (Holds, None), "nothing more is needed");
    let (slow, quick): (Vec<f64>, Vec<f64>) =
        (0..12).map(|at| (2.0 + 0.01 * f64::from(at), 1.0)).unzip();
    let turned = later(&slow, &quick);
    assert_eq!(turned.verdict, DoesNotHold);
}

/// By seed where the two share most of their seeds, for what a seed does to both then cancels.
#[test]
fn figures_are_compared_by_seed_where_seeds_are_shared() {
    // A seed makes both fast or slow; b takes a tenth longer.
    let a: Vec<f64> =
        (0..12).map(|at| [1.0, 3.0, 2.0, 7.0][at % 4] * (1.0 + at as f64 / 1e4)).collect();
    let b: Vec<f64> = (0..12).map(|at| [1.1, 3.3, 2.2, 7.7][at % 4]).collect();
    let verdict = |a: &[f64], from: u64, b: &[f64]| {
        measured("a better than b", &[run(&[("a", seeds(1, a)), ("b", seeds(from, b))])]).verdict
    };
    assert_eq!(verdict(&a[..3], 1, &b[..3]), Holds, "all three shared");
    assert_eq!(verdict(&a[..3], 2, &b[1..4]), Holds, "two of three shared");
    assert_eq!(verdict(&a[..3], 3, &b[2..5]), Undecided, "one of three shared");
    assert_eq!(verdict(&a, 10, &b[9..]), Holds, "three of twelve shared");
    assert_eq!(verdict(&a[..4], 5, &b[4..8]), Undecided, "none shared");
    // Other seeds decide too, where the difference is far beyond the spread.
    let (near, far) = ([1.0, 1.01, 0.99, 1.02], [5.0, 5.05, 4.95, 5.1]);
    assert_eq!(verdict(&near, 5, &far), Holds, "none shared");
    assert_eq!(verdict(&near, 3, &far), Holds, "two of four shared");
    let (apart, tenth) = ([1.0, 9.0, 1.0, 9.0], [1.1, 9.9, 1.1, 9.9]);
    assert_eq!(verdict(&apart, 3, &tenth), Undecided, "two of four are not most of them");
}

/// Seeds take 64 bits, of which any may tell two apart.
#[test]
fn seeds_that_differ_in_any_half_are_different_seeds() {
    let all = [1 << 32, 2 << 32, (1 << 32) | 1, 3, 2];
    let mut one = run(&[
        ("a", seeds(0, &[1.0, 2.0, 3.0, 4.0, 5.0])),
        ("b", seeds(0, &[2.0, 4.0, 6.0, 8.0, 10.0])),
    ]);
    for trial in &mut one.run.trials {
        trial.spec.seed = workload::Seed(all[trial.spec.block as usize]);
    }
    let found = measured("a better than b", &[one]);
    assert_eq!((found.n, found.found.as_deref()), (Some(5), Some("0.5 (0.5 to 0.5)")));
}

#[test]
fn a_figure_with_too_much_of_the_labs_own_time_decides_nothing_and_says_so() {
    let mut one = run(&[("a", about(1.0, 0.01, 0)), ("b", about(2.0, 0.01, 3))]);
    for trial in &mut one.run.trials {
        let phase = &mut trial.record.phases[0];
        phase.figures.insert(trial::OVERHEAD_SHARE.to_owned(), 0.125);
        phase.not_comparable = Some(workload::NotComparable::Transport {
            share: 0.125,
            limit: 0.05,
            idle_known: true,
        });
    }
    let answer = measured("a better than b", &[one]);
    assert_eq!(answer.verdict, NotRun);
    assert_eq!(
        answer.reason.as_deref(),
        Some("a: the simulation's own transport took 12.5 % of the time")
    );
}

#[test]
fn an_amount_of_time_at_another_size_says_what_would_decide_it() {
    let mut one = run(&[("a", about(1.0, 0.01, 0))]);
    one.run.header.scale = 0.1;
    let null = workload::find("null").unwrap().describe();
    let given = std::collections::BTreeMap::from([("ops".to_owned(), "10".to_owned())]);
    for trial in &mut one.run.trials {
        trial.spec.workloads[0].parameters =
            workload::Parameters::resolve(null, &given, 0.1).unwrap();
    }
    let answer = measured("a at least 2 s", &[one]);
    assert_eq!(answer.takes.as_deref(), Some("a run at the published size would decide it"));
    assert!(answer.reason.unwrap().contains("measured at 10 %"));
}

/// Each claim that was not run has its own questions, not those of the first.
#[test]
fn questions_are_those_of_their_claim_and_counted_from_0() {
    let mut two = study("lower", "1, 1, 1", "a best");
    let other = study("lower", "1, 1, 1", "c worse than b").claims.remove(0);
    two.claims.push(other);
    let found = results(&two, &[]).claims;
    let asked = |at: usize| -> Vec<(usize, String)> {
        let answers = &found[at].measured.answers;
        answers.iter().map(|it| (it.question, it.asked.clone())).collect()
    };
    assert_eq!(asked(0), [(0, "a ÷ b in Row".to_owned()), (0, "a ÷ c in Row".to_owned())]);
    assert_eq!(asked(1), [(0, "c ÷ b in Row".to_owned())]);
}

fn of(questions: &[(Verdict, &str)]) -> Judged {
    let question = |(verdict, reason): &(Verdict, &str)| QuestionVerdict {
        verdict: *verdict,
        limits: Vec::new(),
        reason: (!reason.is_empty()).then(|| (*reason).to_owned()),
    };
    Judged::of_questions(questions.iter().map(question).collect(), Vec::new())
}

#[test]
fn a_verdict_counts_its_questions_and_names_those_that_made_it() {
    for (questions, shown, reason) in [
        (&[(Holds, ""), (Holds, "")][..], "holds", None),
        (&[(DoesNotHold, "x"), (Holds, "")], "partly (1 of 2 questions)", Some("question 1: x")),
        (
            &[(DoesNotHold, "x"), (Holds, ""), (DoesNotHold, "y"), (Holds, "")],
            "partly (2 of 4 questions)",
            Some("question 1: x; question 3: y"),
        ),
        (&[(DoesNotHold, "x"), (DoesNotHold, "x")], "does not hold", Some("x")),
        (
            &[(Holds, ""), (DoesNotHold, "x"), (DoesNotHold, "x")],
            "partly (1 of 3 questions)",
            Some("2 questions: x"),
        ),
        (
            &[(Undecided, "x"), (DoesNotHold, "y"), (DoesNotHold, "z"), (DoesNotHold, "w")],
            "does not hold (3 of 4 questions decided)",
            Some("question 2: y; and 2 more questions"),
        ),
        (
            &[(Undecided, "x"), (Holds, ""), (Holds, "")],
            "undecided (2 of 3 questions hold)",
            Some("question 1: x"),
        ),
        (&[(Undecided, "x"), (NotRun, "y")], "undecided", Some("question 1: x")),
        (&[(NotRun, "y"), (NotRun, "y")], "not run", Some("y")),
        // What was not run decides nothing.
        (
            &[(Holds, ""), (NotRun, "y")],
            "holds (1 of 2 questions, the others without figures)",
            None,
        ),
        (
            &[(DoesNotHold, "x"), (NotRun, "y")],
            "does not hold (1 of 2 questions decided)",
            Some("question 1: x"),
        ),
    ] {
        let found = of(questions);
        assert_eq!((found.to_string().as_str(), found.reason.as_deref()), (shown, reason));
    }
}
