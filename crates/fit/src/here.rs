//! Sends a plan's requests to a disk of this machine, with direct I/O, which bypasses the kernel's
//! caches. A block device is only read. In a directory, an unnamed file is used, which disappears
//! with this process, however it ends. Apart from that file, only a loop file that was made for
//! this purpose is written to.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use device::{Ledger, OwnedLoopFile};
use disk::{Asked, Operation};
use files::HeldFile;
use io_uring::{IoUring, opcode, types};
use units::{Bytes, DeviceNumber, Nanos, SECTOR_BYTES};

use crate::FitError;
use crate::plan::{Kind, LONGEST, Plan, Session, Times, counts};
use crate::turning::turns;

/// Direct I/O needs memory aligned to this.
const ALIGNMENT: usize = 4096;
/// The largest request of a plan.
const LARGEST: usize = 1 << 20;
/// The `f_type` of ramfs; the libc crate has no name for it.
const RAMFS_MAGIC: libc::c_long = 0x8584_58f6;
/// Number of reads of a look at whether a disk is rotational.
const PROBES: u64 = 101;
/// Looks that have to find it rotational, and the time between them: a disk that others use is slow
/// for a moment.
const LOOKS: u64 = 4;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Space used on a directory's filesystem; the same amount is left free.
const FILE_SIZE: Bytes = Bytes::from_mib(512);

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A directory: reads and writes in a file of its own.
    Directory(PathBuf),
    /// A block device: reads only.
    Device(PathBuf),
    /// A loop file in this directory, made here: what `--testbed device` runs on. Reads and writes.
    LoopFile(PathBuf),
}

/// An open disk of this machine.
#[derive(Debug)]
pub struct ThisDisk {
    file: File,
    span: Bytes,
    size: Bytes,
    writes: bool,
    queue: Option<PathBuf>,
    place: String,
    kind: Kind,
    /// Dropped last, since the device is open until then.
    _made: Option<OwnedLoopFile>,
}

impl ThisDisk {
    /// Opens the disk; in a directory, makes and allocates the file. A loop file is recorded in
    /// `ledger`, and detached and deleted when this value is dropped.
    ///
    /// # Errors
    /// When it cannot be opened for direct I/O, or has no room.
    pub fn open(place: &Place, ledger: &Ledger) -> Result<ThisDisk, FitError> {
        match place {
            Place::Directory(path) => ThisDisk::in_directory(path),
            Place::Device(path) => ThisDisk::of_device(path),
            Place::LoopFile(path) => ThisDisk::on_loop_file(path, ledger),
        }
    }

    fn on_loop_file(path: &Path, ledger: &Ledger) -> Result<ThisDisk, FitError> {
        let made = ledger
            .make_loop_file(path, FILE_SIZE)
            .map_err(|error| FitError::Unfit(error.to_string()))?;
        let device = made.device();
        let failed = |doing| {
            let device = device.clone();
            move |source| at(doing, &device, source)
        };
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc::O_DIRECT);
        let file = options.open(&device).map_err(failed("open for direct I/O"))?;
        let opened = file.metadata().map_err(failed("look at"))?;
        let number = DeviceNumber::from_raw(opened.rdev());
        if !opened.file_type().is_block_device() || made.number() != number {
            let problem = "is not the loop device that was made";
            return Err(FitError::Unfit(format!("{} {problem}", device.display())));
        }
        let below = made.path().metadata().map_err(failed("look at"))?.dev();
        let below = DeviceNumber::from_raw(below);
        let size = queue_of(below).as_deref().and_then(size_of).unwrap_or(FILE_SIZE);
        let queue = queue_of(number);
        let place = path.display().to_string();
        let kind = Kind::Ssd;
        let mut disk = ThisDisk {
            file,
            span: FILE_SIZE,
            size,
            writes: true,
            queue,
            place,
            kind,
            _made: Some(made),
        };
        disk.fill()?;
        disk.kind = disk.kind_by_answers().map_err(failed("read"))?;
        Ok(disk)
    }

    fn in_directory(path: &Path) -> Result<ThisDisk, FitError> {
        let failed = |doing| move |source| at(doing, path, source);
        let directory = files::Directory::hold(path)?;
        let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_DIRECT | libc::O_CLOEXEC;
        // SAFETY: a valid descriptor, a terminated string, and the mode O_TMPFILE asks for.
        let fd = unsafe {
            libc::openat(
                std::os::fd::AsFd::as_fd(&directory).as_raw_fd(),
                c".".as_ptr(),
                flags,
                0o600,
            )
        };
        let doing = "open a file without a name, for direct I/O, in";
        if fd < 0 {
            return Err(failed(doing)(io::Error::last_os_error()));
        }
        // SAFETY: just opened, and nobody else's.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        if in_memory(&file) {
            let problem = "lies in memory: there is no disk below it to measure";
            return Err(FitError::Unfit(format!("{} {problem}", path.display())));
        }
        // SAFETY: a valid descriptor; nothing of ours is referred to.
        if unsafe { libc::fallocate(fd, 0, 0, FILE_SIZE.0 as i64) } != 0 {
            return Err(failed("find 512 MiB of room in")(io::Error::last_os_error()));
        }
        let device = DeviceNumber::from_raw(file.metadata().map_err(failed("look at"))?.dev());
        let place = path.display().to_string();
        let queue = queue_of(device);
        let size = queue.as_deref().and_then(size_of).unwrap_or(FILE_SIZE);
        let kind = Kind::Ssd;
        let mut disk =
            ThisDisk { file, span: FILE_SIZE, size, writes: true, queue, place, kind, _made: None };
        disk.fill()?;
        disk.kind = disk.kind_by_answers().map_err(failed("read"))?;
        Ok(disk)
    }

    fn of_device(path: &Path) -> Result<ThisDisk, FitError> {
        let failed = |doing| move |source| at(doing, path, source);
        let unfit = || {
            let problem = "is not a block device; to measure a directory, use --dir";
            FitError::Unfit(format!("{} {problem}", path.display()))
        };
        let held = HeldFile::hold(path).map_err(|error| match error.source.kind() {
            io::ErrorKind::IsADirectory => unfit(),
            _ => error.into(),
        })?;
        let number = held.block_device().ok_or_else(unfit)?;
        let file = held.open(File::options().read(true).custom_flags(libc::O_DIRECT));
        let file = file.map_err(failed("open for direct I/O"))?;
        let queue = queue_of(number);
        let size = queue.as_deref().and_then(size_of).unwrap_or(Bytes(0));
        if size.0 < FILE_SIZE.0 {
            let problem = "has less than 512 MiB: too little to measure";
            return Err(FitError::Unfit(format!("{} {problem}", path.display())));
        }
        let place = path.display().to_string();
        let kind = Kind::Ssd;
        let mut disk =
            ThisDisk { file, span: size, size, writes: false, queue, place, kind, _made: None };
        disk.kind = disk.kind_by_answers().map_err(failed("read"))?;
        Ok(disk)
    }

    /// Fills the file with random bytes, which no disk can compress: allocated blocks that were
    /// never written would not be read from the medium.
    fn fill(&mut self) -> Result<(), FitError> {
        let failed =
            |source| FitError::Io { doing: "fill a file in", place: self.place.clone(), source };
        let mut buffer = Buffer::new(1).map_err(failed)?;
        for piece in 0..self.span.0 / LARGEST as u64 {
            self.file.write_all_at(buffer.of(0), piece * LARGEST as u64).map_err(failed)?;
        }
        self.file.sync_all().map_err(failed)
    }

    /// The kind of disk, decided by its access times: kernels often call a hypervisor's disk
    /// rotational.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the kernel says that it is rotational.
    pub fn rotational(&self) -> bool {
        self.said("rotational").as_deref() == Some("1")
    }

    /// A disk that the kernel calls rotational counts as a drive only if its access times agree.
    fn kind_by_answers(&self) -> io::Result<Kind> {
        if !self.rotational() {
            return Ok(Kind::Ssd);
        }
        let mut buffer = Buffer::new(1)?;
        let pages = self.span.0 / ALIGNMENT as u64;
        for look in 0..LOOKS {
            let mut times = Vec::new();
            for nth in look * PROBES..(look + 1) * PROBES {
                // Far apart, and in no order that read-ahead could detect.
                let page = nth * 2_654_435_761 % pages;
                let began = Instant::now();
                self.file.read_exact_at(&mut buffer.of(0)[..ALIGNMENT], page * ALIGNMENT as u64)?;
                times.push(began.elapsed());
            }
            if !turns(times) {
                return Ok(Kind::Ssd);
            }
            if look + 1 < LOOKS {
                waiting::pause(BETWEEN_LOOKS, "a slow moment of the machine passes");
            }
        }
        Ok(Kind::Drive)
    }

    /// How much of it is measured.
    pub fn span(&self) -> Bytes {
        self.span
    }

    /// The size of the whole disk if the kernel reports it, otherwise of the measured part.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Whether it is written to.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Whether the kernel sends it flushes; `None` where it does not say.
    pub fn write_cache(&self) -> Option<bool> {
        self.said("write_cache").map(|word| word == "write back")
    }

    /// Whether the kernel sends it FUA writes; `None` where it does not say.
    pub fn fua(&self) -> Option<bool> {
        self.said("fua").map(|word| word == "1")
    }

    fn said(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.queue.as_ref()?.join(name)).ok()?;
        Some(text.trim().to_owned())
    }

    /// Answers a plan. A session that takes longer than its share of the remaining time is cut
    /// short. Time that a session does not use is left to those after it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn serve(
        &mut self,
        plan: &Plan,
        mut progress: impl FnMut(&str),
    ) -> Result<Vec<Times>, FitError> {
        let failed = |source| FitError::Io { doing: "measure", place: self.place.clone(), source };
        let mut answers = Vec::with_capacity(plan.sessions.len());
        let began = Instant::now();
        for (nth, session) in plan.sessions.iter().enumerate() {
            progress(session.name);
            let left = LONGEST.saturating_sub(began.elapsed());
            let part = left / (plan.sessions.len() - nth) as u32;
            answers.push(self.session(session, part).map_err(failed)?);
        }
        Ok(answers)
    }

    fn session(&self, session: &Session, longest: Duration) -> io::Result<Times> {
        let mut ring = IoUring::new((session.depth as u32).next_power_of_two())?;
        let mut buffer = Buffer::new(session.depth)?;
        let mut requests = session.requests.iter();
        let mut under_way: Vec<Option<(Asked, Instant)>> = vec![None; session.depth];
        let began = Instant::now();
        let mut times = Times::with_capacity(session.requests.len());
        loop {
            for (slot, place) in under_way.iter_mut().enumerate().filter(|(_, p)| p.is_none()) {
                if began.elapsed() > longest {
                    break;
                }
                let Some(asked) = requests.next() else { break };
                let entry = self.entry(asked, buffer.of(slot)).user_data(slot as u64);
                *place = Some((*asked, Instant::now()));
                // SAFETY: the buffer's slot belongs to this request until it completes, and
                // both outlive the ring: nothing returns before all are complete, or the
                // process ends.
                unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
            }
            if under_way.iter().all(Option::is_none) {
                return Ok(times);
            }
            ring.submit_and_wait(1)?;
            let now = Instant::now();
            for completion in ring.completion() {
                let slot = completion.user_data() as usize;
                let Some((asked, since)) = under_way[slot].take() else { continue };
                if completion.result() < 0 {
                    // Outstanding requests still write into the buffer, so it is never freed.
                    std::mem::forget(buffer);
                    return Err(io::Error::from_raw_os_error(-completion.result()));
                }
                if counts(session, &asked) {
                    times.push(Nanos::from(now - since));
                }
            }
        }
    }

    fn entry(&self, asked: &Asked, buffer: &mut [u8]) -> io_uring::squeue::Entry {
        let file = types::Fd(self.file.as_raw_fd());
        let length = (asked.sectors * SECTOR_BYTES) as u32;
        let place = asked.lba.0 * SECTOR_BYTES;
        match asked.operation {
            Operation::Write => {
                opcode::Write::new(file, buffer.as_ptr(), length).offset(place).build()
            }
            Operation::Flush | Operation::Discard => {
                opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build()
            }
            Operation::Read => {
                opcode::Read::new(file, buffer.as_mut_ptr(), length).offset(place).build()
            }
        }
    }
}

/// Whether a file's filesystem keeps its contents in memory alone.
fn in_memory(file: &File) -> bool {
    // SAFETY: all zeros is a valid `statfs`, and the descriptor is open.
    unsafe {
        let mut told: libc::statfs = std::mem::zeroed();
        libc::fstatfs(file.as_raw_fd(), &raw mut told) == 0
            && (told.f_type == libc::TMPFS_MAGIC || told.f_type == RAMFS_MAGIC)
    }
}

fn at(doing: &'static str, path: &Path, source: io::Error) -> FitError {
    FitError::Io { doing, place: path.display().to_string(), source }
}

/// The queue directory of a device in sysfs; for a partition, that of the whole disk.
fn queue_of(device: DeviceNumber) -> Option<PathBuf> {
    let node = std::fs::canonicalize(format!("/sys/dev/block/{device}")).ok()?;
    let whole = [node.as_path(), node.parent()?];
    whole.iter().map(|node| node.join("queue")).find(|queue| queue.is_dir())
}

fn size_of(queue: &Path) -> Option<Bytes> {
    let sectors = std::fs::read_to_string(queue.parent()?.join("size")).ok()?;
    Some(Bytes(sectors.trim().parse::<u64>().ok()? * SECTOR_BYTES))
}

/// Memory for direct I/O, filled with random bytes: a slot for each outstanding request.
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    fn new(slots: usize) -> io::Result<Buffer> {
        let mut bytes = vec![0; slots * LARGEST + ALIGNMENT];
        File::open("/dev/urandom")?.read_exact(&mut bytes[..LARGEST + ALIGNMENT])?;
        for slot in 1..slots {
            bytes.copy_within(0..LARGEST, slot * LARGEST);
        }
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Ok(Buffer { bytes, start })
    }

    fn of(&mut self, slot: usize) -> &mut [u8] {
        let from = self.start + slot * LARGEST;
        &mut self.bytes[from..from + LARGEST]
    }
}
