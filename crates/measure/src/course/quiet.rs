//! Times in which no op ended, of one thread and of several.

use units::Nanos;

use super::Silence;

/// So many are kept of a thread, the longest.
const KEPT_MAX: usize = 128;

/// A time in which a thread ended no op, up to the end of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    /// When the op before it ended.
    pub(super) since: Nanos,
    /// When the op began that ended it: until then the thread did not ask for anything.
    pub(super) from: Nanos,
    pub(super) until: Nanos,
    pub(super) kind: usize,
    pub(super) bytes: u64,
}

/// The longest waits of a thread.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    pub(super) kept: Vec<Wait>,
    pub(super) left_out: u64,
}

impl Waits {
    pub(super) fn new() -> Waits {
        let nothing = Wait { since: Nanos(1), from: Nanos(1), until: Nanos(1), kind: 0, bytes: 0 };
        let mut kept = vec![nothing; KEPT_MAX];
        std::hint::black_box(&mut kept);
        kept.clear();
        Waits { kept, left_out: 0 }
    }

    pub(super) fn add(&mut self, wait: Wait) {
        if self.kept.len() < KEPT_MAX {
            return self.kept.push(wait);
        }
        self.left_out += 1;
        let length = |wait: &Wait| wait.until - wait.since;
        let shortest = self.kept.iter().enumerate().min_by_key(|(_, kept)| length(kept));
        if let Some((at, shortest)) = shortest
            && length(shortest) < length(&wait)
        {
            self.kept.remove(at);
            self.kept.push(wait);
        }
    }

    /// When the thread ended no op: its waits, and all time after it has ended.
    pub(super) fn until_the_end(self, ended: Nanos) -> Vec<Quiet> {
        let waits = self.kept.into_iter().map(|wait| Quiet {
            since: wait.since,
            until: wait.until,
            wait: Some(wait),
        });
        let after = Quiet { since: ended, until: Nanos(u64::MAX), wait: None };
        waits.chain([after]).collect()
    }
}

/// A time in which none of some threads ended an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quiet {
    since: Nanos,
    until: Nanos,
    /// The longest wait within it; none where nobody asked for anything.
    wait: Option<Wait>,
}

impl Quiet {
    /// The part of it in which an op was waited for.
    pub(super) fn waited(&self) -> Option<Wait> {
        let wait = self.wait?;
        let (from, until) = (wait.from.max(self.since), wait.until.min(self.until));
        (from < until).then_some(Wait { since: self.since, from, until, ..wait })
    }
}

/// When neither these threads nor those ended an op. Both are in order of time.
pub(super) fn of_both(these: &[Quiet], those: &[Quiet]) -> Vec<Quiet> {
    let (mut left, mut right) = (0, 0);
    let mut both = Vec::new();
    while let (Some(this), Some(that)) = (these.get(left), those.get(right)) {
        let (since, until) = (this.since.max(that.since), this.until.min(that.until));
        if until > since && until - since >= Silence::LEAST {
            let part = |quiet: &Quiet| Quiet { since, until, ..*quiet };
            let length = |wait: &Wait| wait.until - wait.from;
            let waits = [part(this).waited(), part(that).waited()];
            let wait = waits.into_iter().flatten().max_by_key(length);
            both.push(Quiet { since, until, wait });
        }
        if this.until <= that.until {
            left += 1;
        } else {
            right += 1;
        }
    }
    both
}
