//! Two runs that disagree on a pair, and the run with one thing changed that explains it.

use report::{AgreementVerdict, Analysis, agreements, analyse, explanations, left_out};

use crate::synthetic::{Synthetic, phase, planted};

/// A run in which xfs takes this many times what ext4 takes.
fn run(seed: u64, xfs: f64) -> Analysis {
    let contenders = vec![planted("ext4", "ext4", 1.0, 0.01), planted("xfs", "xfs", xfs, 0.01)];
    let phases = vec![phase("maildir-write", "io", 1.4, &[])];
    analyse(&Synthetic { contenders, phases, seed, ..Synthetic::small() }.run())
}

#[test]
fn a_change_that_turns_a_discordant_pair_round_explains_it() {
    let (device, lab) = (run(1, 1.5), run(2, 0.7));
    let found = agreements(&device, &lab);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].verdict, AgreementVerdict::Discordant);

    let verdicts = |varied: &[Analysis]| {
        let explained = explanations(&found, &device, varied);
        assert_eq!(explained.len(), 1);
        let verdicts: Vec<_> =
            explained[0].varied.iter().map(|one| one.map(|(_, verdict)| verdict)).collect();
        (verdicts, explained[0].is_found())
    };
    let (none, same) = (run(3, 0.6), run(4, 1.0));
    assert_eq!(verdicts(&[none]), (vec![Some(AgreementVerdict::Discordant)], false));
    // Not to separate it any more is no explanation.
    assert_eq!(verdicts(&[same]), (vec![Some(AgreementVerdict::Open)], false));
    let turned = [run(3, 0.6), run(5, 1.3)];
    let expected = vec![Some(AgreementVerdict::Discordant), Some(AgreementVerdict::Agree)];
    assert_eq!(verdicts(&turned), (expected, true));
}

#[test]
fn runs_that_agree_need_no_explanation_and_leave_nothing_out() {
    let (device, lab) = (run(1, 1.5), run(2, 1.3));
    let found = agreements(&device, &lab);
    assert_eq!(found[0].verdict, AgreementVerdict::Agree);
    assert!(explanations(&found, &device, &[run(3, 0.6)]).is_empty());
    assert!(left_out("lab", &lab).is_empty());
}
