//! What is said of where files lie.

use super::super::tests::{aging, parameters, target};
use super::super::{DESCRIPTION, FILL};
use super::*;
use crate::kept::Kept;
use crate::{Cache, Inputs, PhaseEvent, PhaseStatus, Recorder, Seed};

/// The result with what the layout says.
fn noted(layout: &Layout) -> PhaseResult {
    let mut result = PhaseResult::empty("age", "score", Cache::Warm { why: String::new() });
    layout.note(&mut result);
    result
}

#[test]
fn the_layout_score_is_the_share_of_blocks_behind_their_predecessor() {
    // The directory for temporary files may lie on a filesystem that does not tell.
    let (home, target) = target();
    let mut aging = aging(target.as_fd(), 12_288);
    aging.fill(10 * 12_288, &mut Recorder::new(&FILL)).unwrap();
    let (host, inputs) = (Kept::default(), Inputs::default());
    let mut context = Context::new(
        &host,
        &DESCRIPTION,
        home.path().to_owned(),
        parameters(&[]),
        &inputs,
        Seed(1),
        false,
    );
    score(&mut context, &aging).unwrap();
    let events = host.0.borrow();
    let Some(PhaseEvent::Finished(result)) = events.last() else { panic!("{events:?}") };
    if let PhaseStatus::Skipped { reason } = &result.status {
        assert!(reason.contains("where files lie"), "{reason}");
        return;
    }
    assert_eq!((&result.status, result.ops), (&PhaseStatus::Completed, 10));
    let pieces = result.figures["fragments_per_file"];
    assert!((1.0..=3.0).contains(&pieces), "{pieces}");
    // Two blocks of each of ten files can follow another; every further piece is one that does not.
    let expected = (20.0 - 10.0 * (pieces - 1.0)) / 20.0;
    let score = result.figures["layout_score"];
    assert!((score - expected).abs() < 1e-9, "{score}, not {expected}");
}

#[test]
fn files_of_which_the_filesystem_does_not_say_where_they_lie_are_left_out_and_said() {
    let mut layout = Layout::default();
    layout.add(4 * PAGE, Ok(2)).unwrap();
    let whole = noted(&layout);
    layout.add(400 * PAGE, Err(Errno::NOENT)).unwrap();
    assert!(!layout.is_refused());
    let result = noted(&layout);
    assert_eq!(result.figures, whole.figures, "the other files alone");
    assert!(whole.notes.is_empty());
    assert!(result.notes[0].starts_with("1 of 2 files are not counted"), "{:?}", result.notes);
    assert!(result.notes[0].contains("No such file"), "{:?}", result.notes);

    let mut none = Layout::default();
    none.add(PAGE, Err(Errno::NOENT)).unwrap();
    assert!(none.is_refused(), "of no file at all: no figure");
    for broken in [Errno::IO, Errno::UCLEAN] {
        assert_eq!(layout.add(PAGE, Err(broken)), Err(broken), "a damaged filesystem");
    }
}
