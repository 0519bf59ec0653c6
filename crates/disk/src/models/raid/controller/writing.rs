//! Writes to the members, with the parity they need.

use units::Nanos;

use super::{Controller, What};
use crate::Operation;
use crate::models::raid::jobs::stripe_write;

impl Controller {
    /// Sends a run of sectors to the members, stripe by stripe.
    pub(super) fn write_members(&mut self, job: usize, lba: u64, sectors: u64, now: Nanos) {
        let fua = self.jobs[job].fua;
        let whole = self.striping.stripe_sectors();
        // Held by one more, so that it cannot end before all stripes are begun.
        self.jobs[job].remaining = 1;
        let (mut lba, end) = (lba, lba + sectors);
        while lba < end {
            let here = (end - lba).min(whole - lba % whole);
            let plan = stripe_write(&self.striping, lba, here, self.unwritten());
            self.jobs[job].remaining += 1;
            let part = self.new_job(What::Part(job), fua);
            if plan.reads.is_empty() {
                for piece in plan.writes {
                    self.send(part, piece, Operation::Write, fua, now);
                }
            } else {
                self.jobs[part].then = plan.writes;
                for piece in plan.reads {
                    self.send(part, piece, Operation::Read, false, now);
                }
            }
            lba += here;
        }
        self.count_down(job, now);
    }
}
