//! CPU time of this process and its children, and also of the whole machine, since the time of a
//! filesystem's kernel threads and daemons is not charged to this process.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use units::Nanos;

/// User and system time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuTime {
    /// Time in user mode.
    pub user: Nanos,
    /// Time in the kernel on behalf of the process.
    pub sys: Nanos,
}

impl CpuTime {
    /// User and system together.
    pub fn total(self) -> Nanos {
        self.user + self.sys
    }

    /// What was used since `earlier`. The kernel may shift time between user and system
    /// afterwards; if one of them has fallen, its difference is 0.
    pub fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user.saturating_sub(earlier.user),
            sys: self.sys.saturating_sub(earlier.sys),
        }
    }

    /// What is left when a part of it is taken away. The kernel may have charged the part to
    /// another mode than the whole: what one mode lacks is taken from the other.
    fn without(self, part: CpuTime) -> CpuTime {
        let left = self.total().saturating_sub(part.total());
        let sys = self.sys.saturating_sub(part.sys).min(left);
        CpuTime { user: left - sys, sys }
    }
}

/// The thread that [`leave_out`] named.
static LEFT_OUT: OnceLock<ProgramCpu> = OnceLock::new();

/// Excludes a thread from this process's CPU time: one that serves the measured code but is not
/// part of it. Only one thread can be excluded; of several calls the first counts.
pub fn leave_out(thread: ProgramCpu) {
    let _ = LEFT_OUT.set(thread);
}

/// CPU of this process, its threads and the children it has waited for.
#[derive(Debug, Clone, Copy)]
pub struct ProcessCpu(CpuTime);

impl ProcessCpu {
    /// Reads `getrusage`, precise to the microsecond, without the excluded thread.
    pub fn read() -> ProcessCpu {
        let children = ProcessCpu::read_children().0;
        let mut own = usage(libc::RUSAGE_SELF);
        if let Some(other) = LEFT_OUT.get().and_then(|thread| thread.read()) {
            own = own.without(other);
        }
        ProcessCpu(CpuTime { user: own.user + children.user, sys: own.sys + children.sys })
    }

    /// Only the CPU time of the children it has waited for, and of theirs.
    pub fn read_children() -> ProcessCpu {
        ProcessCpu(usage(libc::RUSAGE_CHILDREN))
    }

    /// CPU used since `earlier`.
    pub fn since(self, earlier: ProcessCpu) -> CpuTime {
        self.0.since(earlier.0)
    }
}

fn usage(who: libc::c_int) -> CpuTime {
    // SAFETY: `rusage` is plain data for which all zeroes are a value, and the kernel writes
    // no more than its size.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    };
    let nanos =
        |t: libc::timeval| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000);
    CpuTime { user: nanos(usage.ru_utime), sys: nanos(usage.ru_stime) }
}

/// CPU of another program while it runs (all its threads, none of its children), or of one
/// thread.
#[derive(Debug, Clone, Copy)]
pub struct ProgramCpu {
    id: libc::pid_t,
    thread: bool,
}

impl ProgramCpu {
    /// The program with this process id.
    pub fn of(process: u32) -> ProgramCpu {
        ProgramCpu { id: process as libc::pid_t, thread: false }
    }

    /// The calling thread.
    pub fn of_this_thread() -> ProgramCpu {
        ProgramCpu { id: rustix::thread::gettid().as_raw_nonzero().get(), thread: true }
    }

    /// The number of the process or of the thread.
    pub fn number(self) -> u32 {
        self.id.unsigned_abs()
    }

    /// What it has used so far: the total to the nanosecond, split into user and system in the
    /// proportion of its ticks, as the kernel does too. `None` if it has ended.
    pub fn read(self) -> Option<CpuTime> {
        let total = self.total()?;
        let id = self.id;
        let path = if self.thread {
            format!("/proc/self/task/{id}/stat")
        } else {
            format!("/proc/{id}/stat")
        };
        let stat = std::fs::read_to_string(path).ok()?;
        Some(split(total, ticks(&stat)?))
    }

    /// The total alone; `None` if it has ended.
    pub fn total(self) -> Option<Nanos> {
        // SAFETY: the call writes only into the value passed to it.
        unsafe {
            let mut time: libc::timespec = std::mem::zeroed();
            if libc::clock_gettime(self.clock(), &raw mut time) != 0 {
                return None;
            }
            Some(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
        }
    }

    /// The clock of its processor time: the kernel's `MAKE_PROCESS_CPUCLOCK` and
    /// `MAKE_THREAD_CPUCLOCK` with `CPUCLOCK_SCHED` (linux/posix-timers_types.h).
    fn clock(self) -> libc::clockid_t {
        const SCHED: libc::clockid_t = 2;
        const PER_THREAD: libc::clockid_t = 4;
        (!self.id << 3) | SCHED | if self.thread { PER_THREAD } else { 0 }
    }
}

/// What the calling thread has used so far.
pub fn spent_by_this_thread() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Ticks of user and system time from `/proc/PID/stat`: its fields 14 and 15, counted from the
/// end of the name, which may contain any character.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// A time in the proportion of its ticks in user mode and in the kernel.
fn split(total: Nanos, (user, sys): (u64, u64)) -> CpuTime {
    let user = match user + sys {
        0 => Nanos::ZERO,
        all => Nanos((u128::from(total.0) * u128::from(user) / u128::from(all)) as u64),
    };
    CpuTime { user, sys: total - user }
}

/// CPU of the whole machine: everything that was not idle, summed over its processors.
#[derive(Debug, Clone, Copy)]
pub struct MachineCpu {
    busy_ticks: u64,
}

impl MachineCpu {
    /// Reads `/proc/stat`; `None` if there is none. One tick is 10 ms.
    pub fn read() -> Option<MachineCpu> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        MachineCpu::parse(&stat)
    }

    fn parse(stat: &str) -> Option<MachineCpu> {
        let fields: Vec<u64> = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        // user nice system idle iowait irq softirq steal; guest time is already in user.
        let [user, nice, system, _idle, _iowait, irq, softirq, ..] = fields[..] else {
            return None;
        };
        Some(MachineCpu { busy_ticks: user + nice + system + irq + softirq })
    }

    /// CPU time the machine spent since `earlier`.
    pub fn since(self, earlier: MachineCpu) -> Nanos {
        let tick_nanos = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        Nanos(self.busy_ticks.saturating_sub(earlier.busy_ticks) * tick_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_time_leaves_out_idle_iowait_steal_and_guest() {
        let read = MachineCpu::parse("cpu  10 2 30 1000 500 4 5 6 7 8\ncpu0 1\n").unwrap();
        assert_eq!(read.busy_ticks, 51);
        assert!(MachineCpu::parse("intr 1 2 3").is_none());
    }

    #[test]
    fn ticks_of_a_program_with_an_odd_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 31 17 5 5 20 0 1 0 99\n";
        assert_eq!(ticks(stat), Some((31, 17)));
        assert_eq!(ticks("7 (a) S 1"), None);
        let own = ProgramCpu::of(std::process::id()).read().unwrap();
        assert!(own.total() > Nanos::ZERO);
        assert!(ProgramCpu::of(u32::MAX >> 1).read().is_none());
    }

    #[test]
    fn a_time_is_split_as_its_ticks_are() {
        let halves = |user, sys| CpuTime { user: Nanos(user), sys: Nanos(sys) };
        assert_eq!(split(Nanos(900), (1, 2)), halves(300, 600));
        assert_eq!(split(Nanos(900), (0, 0)), halves(0, 900), "less than a tick");
    }

    /// A thread that works until it has used 20 ms is not in the account of its process.
    #[test]
    fn a_thread_that_serves_the_measured_code_is_left_out() {
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let (worked, has_worked) = std::sync::mpsc::channel();
        let server = std::thread::spawn(move || {
            leave_out(ProgramCpu::of_this_thread());
            while spent_by_this_thread() < Nanos::from_millis(20) {
                std::hint::black_box(ProgramCpu::of_this_thread().total());
            }
            worked.send(()).unwrap();
            // It has an account only while it is there.
            let _ = receive.recv();
        });
        has_worked.recv().unwrap();
        let without = ProcessCpu::read().0.total();
        // Read later, so that what other threads do meanwhile only adds to it.
        let all = usage(libc::RUSAGE_SELF).total() + usage(libc::RUSAGE_CHILDREN).total();
        drop(send);
        server.join().unwrap();
        // The two readings are of microseconds.
        assert!(all >= without + Nanos::from_millis(19), "{all} with it, {without} without");
    }

    #[test]
    fn a_part_in_another_mode_than_the_whole_is_taken_away_whole() {
        let time = |user, sys| CpuTime { user: Nanos(user), sys: Nanos(sys) };
        assert_eq!(time(55, 6).without(time(5, 15)), time(41, 0));
        assert_eq!(time(6, 55).without(time(15, 5)), time(0, 41));
        assert_eq!(time(40, 20).without(time(10, 5)), time(30, 15));
        assert_eq!(time(1, 1).without(time(3, 0)), time(0, 0));
    }

    #[test]
    fn a_thread_has_an_account_of_its_own() {
        let own = ProgramCpu::of_this_thread();
        let other = std::thread::spawn(|| ProgramCpu::of_this_thread().read()).join().unwrap();
        assert!(other.unwrap().total() > Nanos::ZERO);
        let (one, all) = (own.total().unwrap(), ProgramCpu::of(std::process::id()).total());
        assert!(one > Nanos::ZERO && one <= all.unwrap());
    }

    #[test]
    fn work_in_this_process_is_counted() {
        let before = ProcessCpu::read();
        let mut x = 1u64;
        // Ends only because the account grows with the work.
        while ProcessCpu::read().since(before).user < Nanos::from_millis(2) {
            for _ in 0..100_000 {
                x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
            }
        }
        assert_ne!(x, 1);
    }
}
