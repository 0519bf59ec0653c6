//! Keeps all threads of an emulator on one processor of the host.
//!
//! Whenever the guest is idle, the thread that emulates its processor hands over to the thread that
//! handles timers, and back: twice for each disk request. Between two processors of the host, a
//! handover is an interrupt, and if the other processor sleeps it has to wake up, which takes tens
//! of microseconds inside a virtual machine. On one processor it is only a context switch. The two
//! threads never have work at the same time, so nothing is lost. Figures are virtual and do not
//! change.
//!
//! The host's scheduler cannot move threads that are bound to one processor. So this module moves
//! them when they wait for their processor and another one is idle.

use std::fs::read_to_string;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Time between two checks whether another processor would be better.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Threads move only if they wait for their processor for more than this share of the time.
const WAITS_MOST: f64 = 0.25;
/// They move only to a processor that is idle for at least this share of the time.
const IDLE_LEAST: f64 = 0.5;

/// The processor on which the next emulator starts, so that emulators start on different ones.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// An emulator and the processor that it is on.
#[derive(Debug)]
pub(crate) struct OneCore {
    process: u32,
    on: usize,
    allowed: Vec<usize>,
    before: Reading,
}

/// What was read at one time.
#[derive(Debug)]
struct Reading {
    at: Instant,
    /// How long its threads had waited for a processor.
    waited: Duration,
    /// How long each processor had been idle, by its number.
    idle: Vec<(usize, Duration)>,
}

impl OneCore {
    /// Binds the threads of a process to one processor. `None`, with nothing changed, where this
    /// process may use only one anyway, or the kernel does not report how long threads wait.
    pub(crate) fn of(process: u32) -> Option<OneCore> {
        let set = sched_getaffinity(None).ok()?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
        if allowed.len() < 2 {
            return None;
        }
        let before = Reading::take(process)?;
        let on = allowed[NEXT.fetch_add(1, Ordering::Relaxed) % allowed.len()];
        place(process, on);
        Some(OneCore { process, on, allowed, before })
    }

    /// Moves the threads to a better processor if there is one; checks once a second.
    pub(crate) fn look(&mut self) {
        let past = self.before.at.elapsed();
        if past < LOOK_EVERY {
            return;
        }
        let Some(now) = Reading::take(self.process) else { return };
        let share = |part: Duration| part.as_secs_f64() / past.as_secs_f64();
        let waits = share(now.waited.saturating_sub(self.before.waited));
        let idle = now.idle.iter().filter_map(|(cpu, idle)| {
            let before = self.before.idle.iter().find(|(known, _)| known == cpu)?.1;
            self.allowed.contains(cpu).then(|| (*cpu, share(idle.saturating_sub(before))))
        });
        // Two emulators on one processor see the same situation. If both moved, they would end up
        // on the same processor again, so each moves with a chance of one half.
        let dice = now.waited.as_nanos() / 1000 % 2 == 0;
        if let Some(better) = better(self.on, waits, idle).filter(|_| dice) {
            self.on = better;
            place(self.process, better);
        }
        self.before = now;
    }
}

/// The processor to move to from `on`, if any. `waits` and the second values of `idle` are shares
/// of the time.
fn better(on: usize, waits: f64, idle: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    let others = idle.filter(|(cpu, share)| *cpu != on && *share >= IDLE_LEAST);
    let idlest = others.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (waits > WAITS_MOST).then_some(idlest.0)
}

fn threads(process: u32) -> impl Iterator<Item = String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    threads.flatten().map(|thread| thread.file_name().to_string_lossy().into_owned())
}

/// Binds the threads of a process to `cpu`. Errors are ignored: a thread may have ended meanwhile.
fn place(process: u32, cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    for thread in threads(process).filter_map(|thread| Pid::from_raw(thread.parse().ok()?)) {
        let _ = sched_setaffinity(Some(thread), &set);
    }
}

impl Reading {
    fn take(process: u32) -> Option<Reading> {
        let mut waited = Duration::ZERO;
        for thread in threads(process) {
            let text = read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
            waited += waited_of(&text)?;
        }
        let stat = read_to_string("/proc/stat").ok()?;
        Some(Reading { at: Instant::now(), waited, idle: idle_of(&stat) })
    }
}

/// The second number of `schedstat`: nanoseconds for which a thread was runnable but did not run.
fn waited_of(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// From the lines `cpu0 user nice system idle …` of `/proc/stat`, in ticks of a hundredth of a
/// second.
fn idle_of(stat: &str) -> Vec<(usize, Duration)> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: u64 = words.nth(3)?.parse().ok()?;
        Some((cpu, Duration::from_millis(10 * ticks)))
    };
    stat.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_only_when_it_waits_and_another_processor_is_idle() {
        let moved = |waits, idle: &[(usize, f64)]| better(0, waits, idle.iter().copied());
        assert_eq!(moved(0.5, &[(0, 0.0), (1, 0.9), (2, 1.0)]), Some(2));
        assert_eq!(moved(0.1, &[(0, 0.0), (1, 0.9)]), None, "it hardly waits");
        assert_eq!(moved(0.9, &[(0, 0.9), (1, 0.4)]), None, "all are busy");
    }

    #[test]
    fn what_the_kernel_says_is_read() {
        assert_eq!(waited_of("123 45000 9\n"), Some(Duration::from_micros(45)));
        assert_eq!(waited_of(""), None);
        let stat = "cpu  9 9 9 9 9\ncpu0 1 2 3 400 5 6\ncpu12 1 2 3 7 5 6\nintr 8 9\n";
        let expected = vec![(0, Duration::from_secs(4)), (12, Duration::from_millis(70))];
        assert_eq!(idle_of(stat), expected);
    }

    #[test]
    fn all_threads_are_on_one_processor_and_what_begins_later_too() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let one = OneCore::of(child.id());
        let on = || sched_getaffinity(Pid::from_raw(child.id() as i32)).unwrap();
        let cores = sched_getaffinity(None).unwrap().count();
        match one {
            None => assert_eq!(cores, 1, "only where there is no other"),
            Some(mut one) => {
                assert_eq!((on().count(), on().is_set(one.on)), (1, true));
                one.look();
                assert_eq!(on().count(), 1);
            }
        }
        child.kill().and_then(|()| child.wait().map(drop)).unwrap();
    }
}
