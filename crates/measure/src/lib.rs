//! Measuring instruments: the clock, latency histograms, the course of a phase, CPU accounting, memory and block device
//! counters. Nothing here prints or decides; see `workload` for what is measured with them.

mod clock;
mod compact;
mod course;
mod cpu;
mod device;
mod latencies;
mod memory;
mod tally;

pub use clock::{exclude_since, now, time_outside};
pub use course::{Course, Interval, NoCourse, Silence, Track};
pub use cpu::{CpuTime, MachineCpu, ProcessCpu, ProgramCpu, leave_out, spent_by_this_thread};
pub use device::{DeviceCounters, DeviceUse};
pub use latencies::{DecodeLatenciesError, Latencies, Percentiles};
pub use memory::{MemoryLimit, memory_left, usable_memory};
pub use tally::Tally;
