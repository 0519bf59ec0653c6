//! What the tests need of the machine: loop devices over fully allocated files that vanish
//! with the test however it ends, a mount namespace that nobody else sees, and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use skippable::Ending;
use units::Bytes;

const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CLR_FD: libc::c_ulong = 0x4c01;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const BLKZEROOUT: libc::c_ulong = 0x127f;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_config` of `linux/loop.h`, with `struct loop_info64` spelled out.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
    reserved: [u64; 8],
}

/// A loop device, direct I/O, over an allocated file full of zeros. Detached when dropped,
/// and by the kernel when the test is killed: nothing but this descriptor keeps it.
pub(crate) struct LoopDevice {
    pub(crate) path: PathBuf,
    device: File,
    backing: tempfile::NamedTempFile,
}

impl LoopDevice {
    pub(crate) fn new(size: Bytes) -> LoopDevice {
        let backing = tempfile::NamedTempFile::with_prefix("fstrial-stack-test-").unwrap();
        rustix::fs::fallocate(backing.as_file(), rustix::fs::FallocateFlags::empty(), 0, size.0)
            .unwrap();
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control").unwrap();
        loop {
            // SAFETY: the request takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            assert!(number >= 0, "no loop device: {}", std::io::Error::last_os_error());
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            let config = LoopConfig {
                fd: backing.as_raw_fd() as u32,
                block_size: 0,
                device: 0,
                inode: 0,
                rdevice: 0,
                offset: 0,
                sizelimit: 0,
                number: 0,
                encrypt_type: 0,
                encrypt_key_size: 0,
                flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
                file_name: [0; 64],
                crypt_name: [0; 64],
                encrypt_key: [0; 32],
                init: [0; 2],
                reserved: [0; 8],
            };
            // SAFETY: the structure has the layout the request reads, and outlives the call.
            let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &config) };
            if done == 0 {
                return LoopDevice { path, device, backing };
            }
            // Another test took this number first: the next is free for one of us.
            let error = std::io::Error::last_os_error();
            assert_eq!(error.raw_os_error(), Some(libc::EBUSY), "{}: {error}", path.display());
        }
    }

    /// What is not zero on it, by block of 4 KiB.
    pub(crate) fn image(&self) -> BTreeMap<u64, Vec<u8>> {
        // Through the file: the tools have written through the device, whose cache this ends.
        self.device.sync_all().unwrap();
        let size = self.backing.as_file().metadata().unwrap().len();
        let mut image = BTreeMap::new();
        let mut bytes = vec![0; 1 << 20];
        for offset in (0..size).step_by(bytes.len()) {
            let length = bytes.len().min((size - offset) as usize);
            self.backing.as_file().read_exact_at(&mut bytes[..length], offset).unwrap();
            for (number, block) in bytes[..length].chunks(4096).enumerate() {
                if block.iter().any(|byte| *byte != 0) {
                    image.insert(offset + number as u64 * 4096, block.to_vec());
                }
            }
        }
        image
    }

    /// Makes it as it was: zeros.
    pub(crate) fn zero(&self) {
        let size = self.backing.as_file().metadata().unwrap().len();
        let range = [0, size];
        // SAFETY: the request reads two 64-bit numbers, start and length.
        let done = unsafe { libc::ioctl(self.device.as_raw_fd(), BLKZEROOUT as _, &range) };
        assert_eq!(done, 0, "{}: {}", self.path.display(), std::io::Error::last_os_error());
    }

    /// Bytes of the backing file that are allocated.
    pub(crate) fn allocated(&self) -> Bytes {
        use std::os::unix::fs::MetadataExt;
        Bytes(self.backing.as_file().metadata().unwrap().blocks() * 512)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // SAFETY: the request takes no argument. If it fails, closing the descriptor detaches.
        unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_CLR_FD as _, 0) };
    }
}

/// In how many bytes two images differ.
pub(crate) fn differing_bytes(
    here: &BTreeMap<u64, Vec<u8>>,
    there: &BTreeMap<u64, Vec<u8>>,
) -> usize {
    let zeros = vec![0; 4096];
    let offsets: BTreeSet<_> = here.keys().chain(there.keys()).collect();
    let at = |image: &BTreeMap<u64, Vec<u8>>, offset| image.get(offset).unwrap_or(&zeros).clone();
    offsets
        .into_iter()
        .map(|offset| {
            let (here, there) = (at(here, offset), at(there, offset));
            here.iter().zip(&there).filter(|(here, there)| here != there).count()
        })
        .sum()
}

/// Skips the test where this process may not do what it needs.
pub(crate) fn able() -> Ending {
    skippable::needs_loop_devices()
}

/// Whether the kernel has this type of filesystem.
pub(crate) fn kernel_has(kernel_type: &str) -> bool {
    let types = std::fs::read_to_string("/proc/filesystems").unwrap();
    types.lines().any(|line| line.split_whitespace().last() == Some(kernel_type))
}

/// Held for reading while files are open on a filesystem under test, for writing while a
/// program starts: between fork and exec it has a copy of every descriptor of every thread,
/// and another test's umount would find its filesystem busy.
static FILES_OPEN: RwLock<()> = RwLock::new(());

/// Calls `work`, which opens files on a filesystem under test and closes them.
pub(crate) fn with_files_open<T>(work: impl FnOnce() -> T) -> T {
    let _open = FILES_OPEN.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Runs a command of a plan; what it printed.
pub(crate) fn run(command: &stack::Command) -> String {
    let mut child = std::process::Command::new(&command.program);
    child
        .args(&command.args)
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .env("LC_ALL", "C")
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let started = {
        let _alone = FILES_OPEN.write().unwrap_or_else(PoisonError::into_inner);
        child.spawn()
    };
    let output = started
        .and_then(std::process::Child::wait_with_output)
        .unwrap_or_else(|error| panic!("{command}: {error}; is its package installed?"));
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let success = output.status.code().is_some_and(|code| command.success.contains(&code));
    assert!(success, "{command}: {}\n{text}", output.status);
    text
}

/// Calls `work` on a thread with a mount namespace of its own: what it mounts is seen by
/// nobody else, and is gone with the thread even if `work` panics.
pub(crate) fn in_private_namespace<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            skippable::own_mounts();
            work()
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
