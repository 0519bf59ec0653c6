//! PID 1: from the start by the kernel to a machine that waits for an order, and from an order to
//! its end.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;

use measure::ProgramCpu;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use trial::{Event, Outcome, Step, protocol};
use units::{Bytes, Nanos};

use crate::channel::Channel;
use crate::configure::configure;
use crate::nbd::{self, Sockets};
use crate::order::{FrontEndKind, MOUNT_POINT, Order, Sabotage};
use crate::priority::{schedule_before_others, stay_on};
use crate::region::{MAGIC, ORDER_AT, ORDER_BYTES, Region, Word, Words};
use crate::server::{FrontEnd, Server};
use crate::store::PageStore;
use crate::tape::SharedTape;
use crate::ublk::{Control, Queues};
use crate::{inputs, kernel_log, models, modules, port, random, transport, working};

/// The kernel option that names the shared region: `fstrial.region=BASE:LENGTH`.
pub const REGION_OPTION: &str = "fstrial.region=";
/// The last file of the initramfs: where it is missing, so are others.
pub const WHOLE_FILE: &str = "/whole";
const HEARTBEAT: Nanos = Nanos::from_secs(1);
/// Exit code of the trial's process when its disks are gone.
const SERVER_ENDED: i32 = 100;

/// Does everything and never returns; the host ends the machine.
pub(crate) fn run() -> ! {
    if let Err(reason) = port::allow() {
        // Without ports the host cannot be told; the panic that follows reaches the kernel log.
        eprintln!("fstrial: no access to ports: {reason}");
        std::process::exit(1);
    }
    if let Err(reason) = prepare() {
        port::say(&format!("fstrial guest: {reason}"));
        std::process::exit(1);
    }
    port::checkpoint();
    if let Err(reason) = serve() {
        port::say(&format!("fstrial guest: {reason}"));
    }
    loop {
        rest();
    }
}

/// Waits for ever, and reaps children that end meanwhile.
fn rest() {
    waiting::pause(std::time::Duration::from_secs(3600), "a child ends");
}

fn prepare() -> Result<(), String> {
    if !Path::new(WHOLE_FILE).exists() {
        let reason = "the initramfs was unpacked in part: the machine has too little memory for it";
        return Err(reason.to_owned());
    }
    let mount = |source: &str, at: &str, kind: &str| {
        std::fs::create_dir_all(at).map_err(|error| format!("{at}: {error}"))?;
        rustix::mount::mount(source, at, kind, rustix::mount::MountFlags::empty(), None)
            .map_err(|error| format!("mounting {kind} on {at}: {error}"))
    };
    mount("proc", "/proc", "proc")?;
    mount("sysfs", "/sys", "sysfs")?;
    mount("devtmpfs", "/dev", "devtmpfs")?;
    mount("tmpfs", "/run", "tmpfs")?;
    mount("tmpfs", "/tmp", "tmpfs")?;
    std::fs::create_dir_all(MOUNT_POINT).map_err(|error| format!("{MOUNT_POINT}: {error}"))?;
    modules::load()?;
    // Sysrq for the host's tests of a panic.
    let _ = std::fs::write("/proc/sys/kernel/sysrq", "1");
    Ok(())
}

/// The region the kernel command line names.
fn region() -> Result<Region, String> {
    let line = std::fs::read_to_string("/proc/cmdline").map_err(|error| error.to_string())?;
    let place = line
        .split_whitespace()
        .find_map(|word| word.strip_prefix(REGION_OPTION))
        .and_then(|place| place.split_once(':'))
        .and_then(|(base, len)| Some((base.parse().ok()?, len.parse().ok()?)));
    let (base, len) = place.ok_or_else(|| format!("the kernel was given no {REGION_OPTION}"))?;
    let memory = File::options()
        .read(true)
        .write(true)
        .open("/dev/mem")
        .map_err(|error| format!("/dev/mem: {error}"))?;
    Ok(Region::new(memory, base, len))
}

fn serve() -> Result<(), String> {
    let region = region()?;
    let words = region.words().map_err(|error| format!("the shared region: {error}"))?;
    if words.get(Word::Magic) != MAGIC {
        return Err("the shared region holds no order of this version".to_owned());
    }
    let order = read_order(&region, words.get(Word::OrderBytes))?;
    let mut channel = Channel::open(&region).map_err(|error| format!("events: {error}"))?;
    let end = |reason: String| Outcome::Failed { step: Step::Prepare, reason };
    let outcome = match execute(&order, &region) {
        Ok(None) => return Ok(()),
        Ok(Some(outcome)) => outcome,
        Err(reason) => end(reason),
    };
    channel.send(&Event::Ended(outcome)).map_err(|error| error.to_string())
}

fn read_order(region: &Region, len: u64) -> Result<Order, String> {
    let area = region.map(ORDER_AT, ORDER_BYTES).map_err(|error| format!("order: {error}"))?;
    let bytes = area.bytes().get(..len as usize).ok_or("order: longer than its area")?;
    let order: Order = serde_json::from_slice(bytes).map_err(|error| format!("order: {error}"))?;
    if order.version != protocol::VERSION {
        return Err(format!(
            "order: version {}, this binary speaks {}",
            order.version,
            protocol::VERSION
        ));
    }
    Ok(order)
}

/// Runs the trial in a process of its own and waits for its end. `None` when that process has
/// reported the outcome itself.
fn execute(order: &Order, region: &Region) -> Result<Option<Outcome>, String> {
    random::seed_kernel(order.job.spec.seed).map_err(|error| format!("random seed: {error}"))?;
    if !order.inputs.is_empty() {
        inputs::make_room()?;
    }
    for input in &order.inputs {
        inputs::take(region, input)
            .map_err(|error| format!("input {}: {error}", input.path.display()))?;
    }
    let words = region.words().map_err(|error| format!("the shared region: {error}"))?;
    let tape = order.crash.as_ref().map(|_| SharedTape::default());
    let worker = fork(|| match disks(order, &words, tape.as_ref()) {
        Ok(server) => {
            words.set(Word::DiskServer, server.map_or(0, |it| u64::from(it.number())));
            working::work(order, region, server, tape);
        }
        Err(reason) => {
            let outcome = Outcome::Failed { step: Step::Prepare, reason };
            working::tell(region, &Event::Ended(outcome));
        }
    })?;
    if order.sabotage == Some(Sabotage::Kill) {
        let _ = rustix::process::kill_process(worker, Signal::KILL);
    }
    wait(order, &words, worker)
}

/// Makes the disks and measures the overhead of their transport. Their server is a thread of the
/// trial's process: switching to another process flushes the emulator's TLB, which was half of the
/// cost of a small request. Its processor time is not counted as the workload's.
fn disks(
    order: &Order,
    words: &Words,
    tape: Option<&SharedTape>,
) -> Result<Option<ProgramCpu>, String> {
    if order.disks.is_empty() {
        return Ok(None);
    }
    let server = match order.front_end {
        FrontEndKind::Ublk => make_ublk_disks(order, tape),
        FrontEndKind::Nbd => make_nbd_disks(order, tape),
    }?;
    measure::leave_out(server);
    for (nth, disk) in order.disks.iter().enumerate() {
        configure(order.front_end, nth, disk)?;
    }
    match order.server_processor {
        // A request costs the trial's processors what a driver's would.
        Some(_) => transport::begin(words, transport::Cost::NONE),
        None => transport::calibrate(words, &order.front_end.device_path(0), server)
            .map_err(|error| format!("measuring the transport: {error}"))?,
    }
    Ok(Some(server))
}

fn make_nbd_disks(order: &Order, tape: Option<&SharedTape>) -> Result<ProgramCpu, String> {
    let (mut ours, mut kernels) = (Vec::new(), Vec::new());
    for disk in &order.disks {
        let (server, kernel) = UnixStream::pair().map_err(|error| format!("nbd: {error}"))?;
        ours.push((server, disk.queue.depth));
        kernels.push(kernel);
    }
    let server = start_server(order, tape, move || Ok(Sockets::new(ours)))?;
    for (nth, (disk, socket)) in order.disks.iter().zip(&kernels).enumerate() {
        nbd::connect(nth as u32, disk, socket.as_fd())
            .map_err(|error| format!("making disk {nth} (nbd): {error}"))?;
    }
    Ok(server)
}

fn make_ublk_disks(order: &Order, tape: Option<&SharedTape>) -> Result<ProgramCpu, String> {
    let mut control =
        Control::open().map_err(|error| format!("this kernel serves no ublk devices: {error}"))?;
    for (nth, disk) in order.disks.iter().enumerate() {
        control.add(nth as u32, disk).map_err(|error| format!("making disk {nth}: {error}"))?;
    }
    let depths: Vec<_> = order.disks.iter().map(|disk| disk.queue.depth).collect();
    let server = start_server(order, tape, move || Queues::open(&depths))?;
    for (nth, _) in order.disks.iter().enumerate() {
        control
            .start(nth as u32, std::process::id())
            .map_err(|error| format!("starting disk {nth}: {error}"))?;
    }
    Ok(server)
}

/// Starts the thread that serves the disks, behind a front end it opens itself. When it
/// ends, so does the process.
fn start_server<F: FrontEnd>(
    order: &Order,
    tape: Option<&SharedTape>,
    open: impl FnOnce() -> io::Result<F> + Send + 'static,
) -> Result<ProgramCpu, String> {
    let (order, tape) = (order.clone(), tape.cloned());
    let (tell, told) = mpsc::sync_channel(1);
    let serve = move || {
        let _ = tell.send(ProgramCpu::of_this_thread());
        let serving = std::panic::AssertUnwindSafe(|| serve_disks(&order, tape, open));
        let reason = match std::panic::catch_unwind(serving) {
            Ok(Ok(())) => "its devices are gone".to_owned(),
            Ok(Err(reason)) => reason,
            Err(_) => "it panicked".to_owned(),
        };
        port::say(&format!("disk server: {reason}"));
        // SAFETY: ends this process, which can do nothing without its disks.
        unsafe { libc::_exit(SERVER_ENDED) }
    };
    let thread = std::thread::Builder::new().name("disks".to_owned());
    thread.spawn(serve).map_err(|error| format!("starting the disks' server: {error}"))?;
    told.recv().map_err(|error| format!("starting the disks' server: {error}"))
}

fn serve_disks<F: FrontEnd>(
    order: &Order,
    tape: Option<SharedTape>,
    open: impl FnOnce() -> io::Result<F>,
) -> Result<(), String> {
    order.server_processor.into_iter().for_each(stay_on);
    become_a_device();
    let region = region()?;
    let capacities: Vec<_> = order.disks.iter().map(|disk| disk.capacity).collect();
    let words = region.words().map_err(|error| format!("the shared region: {error}"))?;
    let limit = Bytes(words.get(Word::StoreLimit));
    let store =
        PageStore::new(self::region()?, &capacities, limit).map_err(|error| error.to_string())?;
    let models = order.disks.iter().map(models::build).collect::<Result<Vec<_>, _>>()?;
    let front = open().map_err(|error| format!("{}: {error}", order.front_end.name()))?;
    let mut server =
        Server::new(front, region, store, models, port::say).map_err(|error| error.to_string())?;
    server = server.on_own_processor(order.server_processor.is_some()).with_tape(tape);
    server.run().map_err(|error| error.to_string())
}

/// `PR_SET_IO_FLUSHER` of `linux/prctl.h`.
const SET_IO_FLUSHER: libc::c_int = 57;

/// Makes this thread behave like a device: it reacts at once when something arrives, is on time,
/// and never waits for memory that only its own work would free.
fn become_a_device() {
    // SAFETY: the calls change attributes of this thread, and keep the process's memory where
    // it is. On failure the ordinary attributes remain; the server still works, only less evenly.
    unsafe {
        libc::prctl(SET_IO_FLUSHER, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::mlockall(libc::MCL_CURRENT);
    }
    schedule_before_others(50);
}

/// Runs `child` in a process of its own.
fn fork(child: impl FnOnce()) -> Result<Pid, String> {
    // SAFETY: PID 1 has a single thread, so the child's memory is whole and it may go on
    // with ordinary code; it ends in `_exit` and never returns into the parent's code.
    match unsafe { libc::fork() } {
        -1 => Err(format!("fork: {}", io::Error::last_os_error())),
        0 => {
            let code = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)) {
                Ok(()) => 0,
                Err(_) => 101,
            };
            // SAFETY: ends this process.
            unsafe { libc::_exit(code) }
        }
        pid => Pid::from_raw(pid).ok_or_else(|| "fork: no process id".to_owned()),
    }
}

/// Waits for the end of the trial's process, or of virtual time.
fn wait(order: &Order, words: &Words, worker: Pid) -> Result<Option<Outcome>, String> {
    // At a priority above the trial and below the disks: if the heartbeat stops, the kernel no
    // longer schedules.
    schedule_before_others(40);
    let ended = pidfd_open(worker, PidfdFlags::empty()).map_err(|error| error.to_string())?;
    let end = measure::now() + order.virtual_limit;
    let mut without_server = false;
    loop {
        let mut files = [PollFd::new(&ended, PollFlags::IN)];
        words.add(Word::Heartbeat, 1);
        let left = end.saturating_sub(measure::now()).min(HEARTBEAT);
        let timeout = rustix::event::Timespec {
            tv_sec: (left.0 / 1_000_000_000) as i64,
            tv_nsec: (left.0 % 1_000_000_000) as i64,
        };
        let ready = match poll(&mut files, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            ready => ready.map_err(|error| error.to_string())?,
        };
        if ready == 0 {
            // A process that ends is without its threads for a moment, but not for a second.
            let gone = server_is_gone(words, worker);
            if gone && without_server {
                return Ok(Some(died("the server of the simulated disks ended")));
            }
            without_server = gone;
        }
        if ready == 0 && measure::now() < end {
            continue;
        }
        if ready == 0 {
            let _ = rustix::process::kill_process(worker, Signal::KILL);
            // The host has seen every step begin and fills in the right one.
            return Ok(Some(Outcome::TimedOut { step: Step::Work, after: order.virtual_limit }));
        }
        return ended_by_itself(worker);
    }
}

/// Whether the thread that serves the disks was there and is no more. A process that was killed
/// while it waits for its disk cannot end then: nobody answers, and nothing interrupts the wait.
fn server_is_gone(words: &Words, worker: Pid) -> bool {
    let thread = words.get(Word::DiskServer);
    if thread == 0 {
        return false;
    }
    // SAFETY: signal 0 is none; the call only tells whether the thread exists.
    let told = unsafe { libc::syscall(libc::SYS_tgkill, worker.as_raw_nonzero().get(), thread, 0) };
    told != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// With what the kernel said last. If memory ran out, that is the reason.
fn died(reason: &str) -> Outcome {
    let kernel_log = kernel_log::last_words();
    let reason = match kernel_log::tells_of_a_lack_of_memory(&kernel_log) {
        true => {
            "memory ran out, and the kernel killed the trial's process: give the machine more, with \
             --set available=SIZE and ram=SIZE or in its profile"
        }
        false => reason,
    };
    Outcome::GuestDied { reason: reason.to_owned(), kernel_log }
}

fn ended_by_itself(worker: Pid) -> Result<Option<Outcome>, String> {
    let status = rustix::process::waitpid(Some(worker), rustix::process::WaitOptions::empty())
        .map_err(|error| error.to_string())?;
    let Some((_, status)) = status else { return Ok(None) };
    let without_log = |reason: &str| {
        Some(Outcome::GuestDied { reason: reason.to_owned(), kernel_log: String::new() })
    };
    Ok(match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => None,
        (Some(SERVER_ENDED), _) => without_log("the server of the simulated disks ended"),
        (Some(code), _) => without_log(&format!("the trial's process ended with status {code}")),
        (_, Some(signal)) => {
            Some(died(&format!("the trial's process was killed by signal {signal}")))
        }
        _ => without_log("the trial's process ended"),
    })
}
