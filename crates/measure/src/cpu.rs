//! CPU time: of this process and its children, and of the whole machine beside it, since a
//! filesystem's kernel threads and daemons appear in no process's own account.

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

    fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime { user: self.user - earlier.user, sys: self.sys - earlier.sys }
    }
}

/// CPU of this process, its threads and the children it has waited for.
#[derive(Debug, Clone, Copy)]
pub struct ProcessCpu(CpuTime);

impl ProcessCpu {
    /// Reads `getrusage`, precise to the microsecond.
    pub fn read() -> ProcessCpu {
        let [own, children] = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].map(|who| {
            // SAFETY: `rusage` is plain data for which all zeroes are a value, and the
            // kernel writes no more than its size.
            unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                libc::getrusage(who, &mut usage);
                usage
            }
        });
        let nanos =
            |t: libc::timeval| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000);
        ProcessCpu(CpuTime {
            user: nanos(own.ru_utime) + nanos(children.ru_utime),
            sys: nanos(own.ru_stime) + nanos(children.ru_stime),
        })
    }

    /// CPU used since `earlier`.
    pub fn since(self, earlier: ProcessCpu) -> CpuTime {
        self.0.since(earlier.0)
    }
}

/// CPU of the whole machine: everything that was not idle, summed over its processors.
#[derive(Debug, Clone, Copy)]
pub struct MachineCpu {
    busy_ticks: u64,
}

impl MachineCpu {
    /// Reads `/proc/stat`; `None` where it is not there. One tick is 10 ms.
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
