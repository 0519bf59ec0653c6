//! Reads: from the memory, from the copy that is nearest, or computed from the others where
//! no member has what is asked for.

use units::Nanos;

use super::Controller;
use crate::models::raid::jobs::{Gap, reconstruction};
use crate::models::raid::striping::Piece;
use crate::{Operation, Request};

impl Controller {
    pub(super) fn begin_read(&mut self, job: usize, request: Request, ready: Nanos, now: Nanos) {
        self.activity.host_read_sectors += request.sectors;
        let (start, end) = (request.lba.0, request.lba.0 + request.sectors);
        let held = self.dirty.covers(start, end)
            || self.destaging.iter().any(|held| held.start <= start && end <= held.end);
        if held {
            self.activity.read_hits += 1;
            let at = self.link(request.sectors, ready);
            self.finish_at(job, at);
            return;
        }
        self.reads += 1;
        // Held by one more, so that it cannot end before all pieces are sent.
        self.jobs[job].remaining = 1;
        let striping = self.striping;
        for piece in striping.pieces(start, request.sectors) {
            match self.copy_to_read(&piece) {
                Some(member) => {
                    self.send(job, Piece { member, ..piece }, Operation::Read, false, now);
                }
                None => {
                    self.jobs[job].computed += piece.sectors;
                    for other in reconstruction(&striping, &piece) {
                        self.send(job, other, Operation::Read, false, now);
                    }
                }
            }
        }
        self.count_down(job, now);
    }

    /// The copy whose head is in the right place, or whose queue is the shortest; `None` where
    /// no member has one.
    fn copy_to_read(&self, piece: &Piece) -> Option<u32> {
        let gap = self.unreadable();
        let copies = piece.member..piece.member + self.striping.copies();
        let cost = |copy: &u32| {
            let member = &self.members[*copy as usize];
            let away = member.next_lba.abs_diff(piece.lba);
            (away != 0, member.outstanding + member.queue.len(), away)
        };
        copies.filter(|copy| !Gap::has(gap, &Piece { member: *copy, ..*piece })).min_by_key(cost)
    }
}
