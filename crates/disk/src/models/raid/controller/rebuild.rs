//! A member that is missing, or a new member that is being filled from the others while the host's
//! requests are served.

use units::Nanos;

use super::{Controller, What};
use crate::Operation;
use crate::models::raid::jobs::{Gap, reconstruction};
use crate::models::raid::striping::{Piece, Striping};
use crate::models::raid::{ArrayState, Level};

/// How much of a member is filled in one step, in sectors: 1 MiB. An assumption.
const STEP: u64 = 2048;

/// The state of the last member.
#[derive(Debug)]
pub(super) struct Lost {
    gap: Gap,
    /// The end of what is being filled.
    filling: u64,
    /// Sectors of it that the array uses; `None` where it is missing for good.
    whole: Option<u64>,
    /// Nanoseconds of rest for one of work, in thousandths.
    rest: u64,
    /// When the next step begins; `None` before the host's first request, and during a step.
    next: Option<Nanos>,
    begun: bool,
}

impl Lost {
    /// What is lost of an array of `sectors` in this state.
    pub(super) fn of(
        state: ArrayState,
        striping: &Striping,
        sectors: u64,
        share: f64,
    ) -> Option<Lost> {
        if state == ArrayState::Clean || striping.level == Level::Raid0 {
            return None;
        }
        let used = sectors.div_ceil(striping.stripe_sectors()) * striping.unit;
        Some(Lost {
            gap: Gap { member: striping.members - 1, from: 0 },
            filling: 0,
            whole: (state == ArrayState::Rebuilding).then_some(used),
            rest: ((1.0 - share) / share * 1000.0).round() as u64,
            next: None,
            begun: false,
        })
    }
}

impl Controller {
    /// What cannot be read.
    pub(super) fn unreadable(&self) -> Option<Gap> {
        self.lost.as_ref().map(|lost| lost.gap)
    }

    /// The part that is not written, since the rebuild writes it later. The step being filled
    /// counts as filled, so it is written too; a real controller would let the write wait for the
    /// step.
    pub(super) fn unwritten(&self) -> Option<Gap> {
        self.lost.as_ref().map(|lost| Gap { from: lost.filling, ..lost.gap })
    }

    /// A member that is not there at all.
    pub(super) fn absent(&self) -> Option<u32> {
        self.lost.as_ref().filter(|lost| lost.whole.is_none()).map(|lost| lost.gap.member)
    }

    /// Whether a new member is being filled.
    pub(super) fn lost_is_new(&self) -> bool {
        self.lost.as_ref().is_some_and(|lost| lost.whole.is_some())
    }

    /// When filling goes on.
    pub(super) fn next_step(&self) -> Option<Nanos> {
        self.lost.as_ref().and_then(|lost| lost.next)
    }

    /// The host's first request: from here on a new member is filled.
    pub(super) fn begin_rebuild(&mut self, now: Nanos) {
        if let Some(lost) = self.lost.as_mut().filter(|lost| lost.whole.is_some() && !lost.begun) {
            lost.begun = true;
            lost.next = Some(now);
        }
    }

    /// Begins the next step, if its time has come: the same place of the others is read, or
    /// the copy, and then written to the new member.
    pub(super) fn rebuild(&mut self, now: Nanos) {
        let Some(lost) = &mut self.lost else { return };
        let (Some(whole), Some(_)) = (lost.whole, lost.next.filter(|next| *next <= now)) else {
            return;
        };
        let unit = self.striping.unit;
        let step = (STEP / unit).max(1) * unit;
        let member = lost.gap.member;
        let from = lost.gap.from;
        let piece = Piece { member, lba: from, sectors: step.min(whole - from) };
        lost.filling = from + piece.sectors;
        lost.next = None;
        let what = What::Rebuild { to: lost.filling, begun: now };
        // What others made durable must not become less so on a member with a cache.
        let job = self.new_job(what, self.member_cache);
        self.jobs[job].then = vec![piece];
        // Held by one more, so that it cannot end before all reads are sent.
        self.jobs[job].remaining = 1;
        let striping = self.striping;
        let copies = striping.copies();
        if copies > 1 {
            let copy = Piece { member: member - member % copies, ..piece };
            self.send(job, copy, Operation::Read, false, now);
        } else {
            for other in reconstruction(&striping, &piece) {
                self.send(job, other, Operation::Read, false, now);
            }
        }
        self.count_down(job, now);
    }

    /// A step is done: the member has all below `to`.
    pub(super) fn filled(&mut self, to: u64, begun: Nanos, now: Nanos) {
        let Some(lost) = &mut self.lost else { return };
        if lost.whole.is_some_and(|whole| to >= whole) {
            self.lost = None;
            return;
        }
        lost.gap.from = to;
        let rest = (now - begun).0.saturating_mul(lost.rest) / 1000;
        lost.next = Some(now + Nanos(rest));
    }
}
