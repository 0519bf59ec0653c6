//! The emulated machine: the options of QEMU and of the kernel, and the reason for each.

use std::path::{Path, PathBuf};
use std::process::Command;

use guest::REGION_OPTION;
use guest::region::REGION_BYTES;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::error::LabError;
use crate::tools;

const GIB: u64 = 1 << 30;
/// RAM beyond this size is mapped above 4 GiB, and the shared region follows it.
const BELOW_4G_MAX: u64 = 2 * GIB;
/// Memory that QEMU needs beside the guest's RAM: translated code, its tables for the region.
pub(crate) const QEMU_OVERHEAD: Bytes = Bytes::from_mib(352);

/// A program on the host, and what it needs to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "qemu")]
pub enum Qemu {
    /// The host's own.
    Host {
        /// Its path.
        path: PathBuf,
    },
    /// From unpacked packages.
    Unpacked {
        /// Root of their tree.
        root: PathBuf,
        /// Its path.
        program: PathBuf,
    },
}

/// The emulator's program.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

impl Qemu {
    /// The QEMU of the packages unpacked at `root`.
    pub(crate) fn unpacked(root: PathBuf) -> Qemu {
        let program = root.join("usr/bin").join(QEMU);
        Qemu::Unpacked { root, program }
    }

    /// The program file.
    pub(crate) fn program(&self) -> &Path {
        match self {
            Qemu::Host { path } => path,
            Qemu::Unpacked { program, .. } => program,
        }
    }

    /// The same with another program file.
    pub(crate) fn at(&self, program: PathBuf) -> Qemu {
        match self {
            Qemu::Host { .. } => Qemu::Host { path: program },
            Qemu::Unpacked { root, .. } => Qemu::Unpacked { root: root.clone(), program },
        }
    }

    fn command(&self) -> Result<Command, LabError> {
        match self {
            Qemu::Host { path } => Ok(Command::new(path)),
            Qemu::Unpacked { root, program } => {
                let loader =
                    tools::find(root, &["lib64", "lib/x86_64-linux-gnu"], "ld-linux-x86-64.so.2")
                        .ok_or_else(|| LabError::damaged(root, "it has no ld-linux-x86-64.so.2"))?;
                let mut command = Command::new(loader);
                command
                    .arg("--library-path")
                    .arg(tools::library_path(root))
                    .arg(program)
                    .env("QEMU_MODULE_DIR", root.join("usr/lib/x86_64-linux-gnu/qemu"));
                for directory in ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"] {
                    command.arg("-L").arg(root.join(directory));
                }
                Ok(command)
            }
        }
    }

    /// The first line of its `--version`.
    ///
    /// # Errors
    /// When it does not run.
    pub(crate) fn version(&self) -> Result<String, LabError> {
        let failed = |said: String| LabError::Program {
            command: format!("{} --version", self.program().display()),
            said,
            next: Some("install qemu-system-x86, or run `fstrial lab build` again".to_owned()),
        };
        let output =
            self.command()?.arg("--version").output().map_err(|error| failed(error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        match said.lines().next() {
            Some(line) if output.status.success() => Ok(line.to_owned()),
            _ => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }
}

/// Files that are open in a QEMU from its start, by their descriptors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inherited {
    /// The guest's RAM.
    pub(crate) ram: i32,
    /// The memory shared with the guest.
    pub(crate) region: i32,
    /// The control channel.
    pub(crate) monitor: i32,
    /// The state of processor and devices to load, for [`Use::Trial`].
    pub(crate) devices: i32,
    /// The library of [`flush_clock`](crate::emulator::flush_clock), not for
    /// [`Use::RealTime`].
    pub(crate) flush_clock: i32,
}

/// What a machine is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// To boot and be saved: writes to its RAM go to the file.
    Checkpoint,
    /// To load a checkpoint, stopped at first, and run a trial: the file of its RAM is not changed.
    Trial,
    /// To boot under KVM, by the host's clock.
    RealTime,
}

/// The time of an instruction while a guest boots, as a power of two of nanoseconds, unless the
/// machine's own is longer. With a quarter of a nanosecond, a boot took 45 s of the host's
/// processor time, 30 of them in loops that wait for time to pass; see
/// [`saved_clock`](crate::saved_clock).
const BOOT_SHIFT: i8 = 3;

/// Everything that determines the emulated machine, apart from its software. All of it is part of
/// a checkpoint's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// RAM.
    pub ram: Bytes,
    /// The virtual time of an instruction.
    #[serde(flatten)]
    pub price: Price,
}

/// Virtual time of an instruction: `times` × 2^`shift` ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// From 1 to 127, 1 for a power of two.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: u8,
    /// From -10 to 10; below 0 where `times` is not 1.
    pub shift: i8,
}

fn one() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(times: &u8) -> bool {
    *times == 1
}

impl Default for Price {
    /// A nanosecond.
    fn default() -> Price {
        Price { times: 1, shift: 0 }
    }
}

impl Price {
    /// The price of `ns` nanoseconds, rounded to seven bits: less than 0.8 % off. `None` below
    /// 0.0625, and above 63 unless it is a power of two up to 1024.
    pub fn of(ns: f64) -> Option<Price> {
        let power = (-4..=10).find(|shift| 2f64.powi(i32::from(*shift)) == ns);
        if let Some(shift) = power {
            return Some(Price { times: 1, shift });
        }
        if !(0.0625..=63.0).contains(&ns) {
            return None;
        }
        // Seven bits for `times`, and a shift below 0, since a fine clock shifts to the right.
        let shift = ns.log2().floor() as i8 - 6;
        let shift = shift.min(-1);
        let mut price = Price { times: (ns * 2f64.powi(i32::from(-shift))).round() as u8, shift };
        while price.times.is_multiple_of(2) && price.shift < 0 {
            price = Price { times: price.times / 2, shift: price.shift + 1 };
        }
        (price.times == 1 || price.shift < 0).then_some(price)
    }

    /// In nanoseconds.
    pub fn ns(self) -> f64 {
        f64::from(self.times) * 2f64.powi(i32::from(self.shift))
    }
}

impl Machine {
    /// RAM that lies below 4 GiB.
    fn below_4g(&self) -> u64 {
        self.ram.0.min(BELOW_4G_MAX)
    }

    /// The physical address of the shared region: behind all RAM.
    pub(crate) fn region_base(&self) -> u64 {
        4 * GIB + (self.ram.0 - self.below_4g())
    }

    /// The price of an instruction in an emulator that is started for this purpose.
    pub(crate) fn price_for(&self, purpose: Use) -> Price {
        match purpose {
            // The emulator that boots guests counts whole nanoseconds.
            Use::Checkpoint => {
                let least = self.price.ns().log2().ceil() as i8;
                Price { times: 1, shift: least.max(BOOT_SHIFT) }
            }
            Use::Trial | Use::RealTime => self.price,
        }
    }

    /// QEMU with this machine.
    ///
    /// # Errors
    /// When an unpacked QEMU is incomplete.
    pub(crate) fn command(
        &self,
        qemu: &Qemu,
        kernel: &Path,
        initramfs: &Path,
        inherited: Inherited,
        purpose: Use,
    ) -> Result<Command, LabError> {
        let mut command = qemu.command()?;
        let mut option = |name: &str, value: String| {
            command.arg(name).arg(value);
        };
        for (name, value) in self.time(purpose) {
            option(name, value);
        }
        // The seed of QEMU's own random numbers.
        option("-seed", "1".to_owned());
        option("-rtc", "base=2020-01-01,clock=vm".to_owned());
        // `rep movsb` counts as one instruction per byte. Without ERMS and FSRM the kernel copies
        // whole words instead. Without RDRAND its random numbers come from the trial's seed.
        let processor = match purpose {
            Use::Checkpoint | Use::Trial => "max,-erms,-fsrm,-rdrand,-rdseed",
            Use::RealTime => "host",
        };
        option("-cpu", processor.to_owned());
        option("-smp", "1".to_owned());
        option("-machine", format!("q35,max-ram-below-4g={}", self.below_4g()));
        for (name, value) in self.memory(inherited, purpose) {
            option(name, value);
        }
        option("-display", "none".to_owned());
        option("-device", "isa-debugcon,iobase=0xe9,chardev=debug".to_owned());
        option("-chardev", "stdio,id=debug,signal=off".to_owned());
        option("-chardev", format!("socket,id=monitor,fd={}", inherited.monitor));
        option("-mon", "chardev=monitor,mode=control".to_owned());
        // The guest requests a checkpoint through this watchdog device.
        option("-device", "ib700".to_owned());
        option("-action", "watchdog=pause".to_owned());
        option("-kernel", kernel.display().to_string());
        option("-initrd", initramfs.display().to_string());
        option("-append", self.kernel_options());
        if purpose == Use::Trial {
            // The saved state of the devices lacks the header that a whole machine's state has.
            command.args(["-S", "-global", "migration.send-configuration=off"]);
            command.arg("-incoming").arg(format!("fd:{}", inherited.devices));
        }
        command.args(["-nodefaults", "-no-user-config", "-no-reboot"]);
        // A preloaded library of the user's would change what the emulator does.
        match purpose {
            Use::Checkpoint | Use::Trial => {
                command.env("LD_PRELOAD", format!("/proc/self/fd/{}", inherited.flush_clock))
            }
            Use::RealTime => command.env_remove("LD_PRELOAD"),
        };
        Ok(command)
    }

    /// The options that say how time passes in the guest.
    fn time(&self, purpose: Use) -> Vec<(&'static str, String)> {
        // An emulator with a fine clock shifts to the right, so the sign is the opposite.
        let shift = self.price_for(purpose).shift;
        let icount = format!("shift={},sleep=off", shift.unsigned_abs());
        // An instruction takes a fixed time and idle time is skipped, so no clock of the host plays
        // a part. TCG with one thread keeps everything in one order.
        match purpose {
            Use::Checkpoint | Use::Trial => vec![
                // Room for all the translated code of a booting system. With 64 MiB, code was
                // dropped and translated again: a boot took 38.9 s of processor time, not 33.3.
                ("-accel", "tcg,thread=single,tb-size=256".to_owned()),
                // Recording (to /dev/null) is on for the sake of its lock. Without the lock, QEMU's
                // main thread may look at a processor that is about to halt before its last
                // instructions were counted, and skip idle time from the wrong moment. That made a
                // few nanoseconds of difference in one of three runs on a busy host.
                ("-icount", format!("{icount},rr=record,rrfile=/dev/null")),
            ],
            Use::RealTime => vec![("-accel", "kvm".to_owned())],
        }
    }

    /// The options of the guest's RAM and of the region that it shares with the host.
    fn memory(&self, inherited: Inherited, purpose: Use) -> [(&'static str, String); 5] {
        let total = self.ram.0 + REGION_BYTES;
        // The second NUMA node is the shared region: behind all RAM, and hidden by `mem=`.
        let share = if purpose == Use::Trial { "off" } else { "on" };
        let ram = format!(
            "memory-backend-file,id=ram,size={},mem-path=/proc/self/fd/{},share={share}",
            self.ram.0, inherited.ram
        );
        let region = format!(
            "memory-backend-file,id=region,size={REGION_BYTES},mem-path=/proc/self/fd/{},share=on",
            inherited.region
        );
        [
            ("-m", format!("{}M", total >> 20)),
            ("-object", ram),
            ("-object", region),
            ("-numa", "node,memdev=ram,cpus=0".to_owned()),
            ("-numa", "node,memdev=region".to_owned()),
        ]
    }

    fn kernel_options(&self) -> String {
        let base = self.region_base();
        let mut options = format!("{REGION_OPTION}{base}:{REGION_BYTES} mem={base}");
        // On a tmpfs, the kernel's default, the initramfs could use only half of the memory, and
        // files that do not fit would be missing without an error.
        options.push_str(" rootfstype=ramfs");
        options.push_str(
            " numa=off console=null quiet panic=-1 oops=panic unknown_nmi_panic nokaslr \
             norandmaps random.trust_bootloader=on reboot=t mitigations=off nosmp tsc=reliable \
             tsc_early_khz=1000000 lpj=4000000 cryptomgr.notests audit=0 apparmor=0 nowatchdog iomem=relaxed \
             no_timer_check transparent_hugepage=never pstore.compress=none \
             pstore.kmsg_bytes=393216",
        );
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_within_a_hundredth_and_a_power_of_two_is_exact() {
        for shift in -4..=10i8 {
            let ns = 2f64.powi(i32::from(shift));
            assert_eq!(Price::of(ns), Some(Price { times: 1, shift }));
        }
        assert_eq!(Price::of(0.375), Some(Price { times: 3, shift: -3 }));
        assert_eq!(Price::of(1.5), Some(Price { times: 3, shift: -1 }));
        for nth in 0..1000 {
            let ns = 0.0625 * 1.00693f64.powi(nth);
            let Some(price) = Price::of(ns) else { continue };
            assert!((price.ns() / ns - 1.0).abs() < 0.008, "{ns} {price:?}");
            assert!((1..=127).contains(&price.times) && (-10..=10).contains(&price.shift));
            assert!(price.times == 1 || price.shift < 0, "{ns} {price:?}");
        }
        for none in [0.0, 0.06, 64.5, 2048.0, f64::NAN, -1.0] {
            assert_eq!(Price::of(none), None, "{none}");
        }
    }

    #[test]
    fn a_guest_boots_at_a_power_of_two_that_is_no_less_than_its_own_price() {
        for (ns, shift) in [(0.25, 3), (0.35, 3), (8.0, 3), (9.5, 4), (32.0, 5)] {
            let machine = Machine { ram: Bytes::from_mib(64), price: Price::of(ns).unwrap() };
            assert_eq!(machine.price_for(Use::Checkpoint), Price { times: 1, shift }, "{ns}");
            assert_eq!(machine.price_for(Use::Trial), machine.price);
        }
    }

    #[test]
    fn the_region_lies_behind_all_ram() {
        let machine = |mib| Machine { ram: Bytes::from_mib(mib), price: Price::default() };
        assert_eq!(machine(512).region_base(), 4 * GIB);
        assert_eq!(machine(2048).region_base(), 4 * GIB);
        assert_eq!(machine(8192).region_base(), 10 * GIB);
    }
}
