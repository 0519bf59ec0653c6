//! The emulated machine: the options of QEMU and of the kernel, and the reason for each.

use std::path::{Path, PathBuf};
use std::process::Command;

use guest::REGION_OPTION;
use guest::region::REGION_BYTES;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::emulator::FIRMWARE;
use crate::error::LabError;

const GIB: u64 = 1 << 30;
/// RAM beyond this size is mapped above 4 GiB, and the shared region follows it.
const BELOW_4G_MAX: u64 = 2 * GIB;
/// Memory that QEMU needs beside the guest's RAM: translated code, its tables for the region.
pub(crate) const QEMU_OVERHEAD: Bytes = Bytes::from_mib(352);

/// A compiled emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emulator {
    directory: PathBuf,
}

impl Emulator {
    /// The one in this directory.
    pub(crate) fn at(directory: PathBuf) -> Emulator {
        Emulator { directory }
    }

    /// The program file.
    pub fn program(&self) -> PathBuf {
        self.directory.join(emulator::PROGRAM)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program());
        command.arg("-L").arg(self.directory.join(FIRMWARE));
        command
    }

    /// The first line of its `--version`, which also names the changes it was compiled with.
    ///
    /// # Errors
    /// When it does not run.
    pub(crate) fn version(&self) -> Result<String, LabError> {
        let failed = |said: String| LabError::Program {
            command: format!("{} --version", self.program().display()),
            said,
            next: Some("run `fstrial lab build --refresh`".to_owned()),
        };
        let output = Command::new(self.program()).arg("--version").output();
        let output = output.map_err(|error| failed(error.to_string()))?;
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
}

/// What a machine is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// To boot and be saved: writes to its RAM go to the file.
    Checkpoint,
    /// To load a checkpoint, stopped at first, and run a trial: the file of its RAM is not changed.
    Trial,
}

/// The least time of an instruction while a guest boots. A booting kernel measures its timers and
/// compares routines for a number of ticks: each round of these loops is emulated, so if an
/// instruction takes longer, the wait takes fewer rounds. No trial measures anything in that time.
const BOOT: Price = Price { nanoseconds: 8, instructions: 1 };
/// How far the clocks of two processors that have work may be apart, in nanoseconds, unless
/// [`BOUND_INSTRUCTIONS`] take longer.
const BOUND_NS: u32 = 200;
/// The least number of instructions in a turn of a processor, for the host's sake.
const BOUND_INSTRUCTIONS: f64 = 100.0;
/// How many times faster than the others the processor is on which the disks' server runs.
const SERVER_SPEED: u32 = 16;
/// The most processors of a machine.
pub(crate) const PROCESSORS_MAX: u8 = 32;

/// Everything that determines the emulated machine, apart from its software. All of it is part of
/// a checkpoint's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// RAM.
    pub ram: Bytes,
    /// The virtual time of an instruction.
    #[serde(flatten)]
    pub price: Price,
    /// Its processors.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub processors: u8,
}

pub(crate) fn one() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) fn is_one(count: &u8) -> bool {
    *count == 1
}

/// Virtual time of an instruction: an exact fraction, in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// So many nanoseconds …
    pub nanoseconds: u32,
    /// … for so many instructions.
    pub instructions: u32,
}

impl Default for Price {
    /// A nanosecond.
    fn default() -> Price {
        Price { nanoseconds: 1, instructions: 1 }
    }
}

impl Price {
    /// The price of `ns` nanoseconds, exact to four digits after the point; `None` below 0.01 and
    /// above 1024.
    pub fn of(ns: f64) -> Option<Price> {
        const DIGITS: u32 = 10_000;
        if !(0.01..=1024.0).contains(&ns) {
            return None;
        }
        let nanoseconds = (ns * f64::from(DIGITS)).round() as u32;
        let (mut divisor, mut rest) = (nanoseconds, DIGITS);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Some(Price { nanoseconds: nanoseconds / divisor, instructions: DIGITS / divisor })
    }

    /// In nanoseconds.
    pub fn ns(self) -> f64 {
        f64::from(self.nanoseconds) / f64::from(self.instructions)
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
    fn price_for(&self, purpose: Use) -> Price {
        match purpose {
            Use::Checkpoint if self.price.ns() < BOOT.ns() => BOOT,
            Use::Checkpoint | Use::Trial => self.price,
        }
    }

    /// What the emulator is told about its clocks.
    fn clocks(&self, purpose: Use) -> String {
        let Price { nanoseconds, instructions } = self.price_for(purpose);
        let least = BOUND_INSTRUCTIONS * f64::from(nanoseconds) / f64::from(instructions);
        let all = format!("{} {nanoseconds}/{instructions}", BOUND_NS.max(least.ceil() as u32));
        match self.server_processor() {
            None => all,
            Some(nth) => format!("{all} {nth}:{nanoseconds}/{}", instructions * SERVER_SPEED),
        }
    }

    /// The number of the processor on which nothing but the server of the disks runs. A machine
    /// with one processor has none: there the trial's clock stands still instead.
    pub(crate) fn server_processor(&self) -> Option<u8> {
        (self.processors > 1).then_some(self.processors)
    }

    /// Processors of the guest.
    fn all_processors(&self) -> u8 {
        self.processors + u8::from(self.server_processor().is_some())
    }

    /// The emulator with this machine.
    pub(crate) fn command(
        &self,
        emulator: &Emulator,
        kernel: &Path,
        initramfs: &Path,
        inherited: Inherited,
        purpose: Use,
    ) -> Command {
        let mut command = emulator.command();
        command.env("FSTRIAL_CLOCK", self.clocks(purpose));
        let mut option = |name: &str, value: String| {
            command.arg(name).arg(value);
        };
        // Room for all the translated code of a booting system. With 64 MiB, code was dropped and
        // translated again: a boot took 38.9 s of processor time, not 33.3.
        option("-accel", "tcg,thread=single,tb-size=256".to_owned());
        // Instructions are counted. What each takes is the emulator's own matter: `clocks`.
        option("-icount", "shift=0,sleep=off".to_owned());
        // The seed of QEMU's own random numbers.
        option("-seed", "1".to_owned());
        option("-rtc", "base=2020-01-01,clock=vm".to_owned());
        // `rep movsb` counts as one instruction per byte. Without ERMS and FSRM the kernel copies
        // whole words instead. Without RDRAND its random numbers come from the trial's seed. With
        // MWAIT an idle processor would only end its turn if there are several.
        let processor = match self.processors {
            1 => "max,-erms,-fsrm,-rdrand,-rdseed",
            _ => "max,-erms,-fsrm,-rdrand,-rdseed,-monitor",
        };
        option("-cpu", processor.to_owned());
        option("-smp", self.all_processors().to_string());
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
        command
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
            ("-numa", format!("node,memdev=ram,cpus=0-{}", self.all_processors() - 1)),
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
             norandmaps random.trust_bootloader=on reboot=t mitigations=off tsc=reliable \
             tsc_early_khz=1000000 lpj=4000000 cryptomgr.notests audit=0 apparmor=0 nowatchdog iomem=relaxed \
             no_timer_check transparent_hugepage=never pstore.compress=none \
             pstore.kmsg_bytes=393216",
        );
        options.push_str(&match self.server_processor() {
            None => " nosmp".to_owned(),
            Some(nth) => {
                format!(" isolcpus=managed_irq,domain,{nth} irqaffinity=0-{}", nth - 1)
            }
        });
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_an_exact_fraction_in_lowest_terms() {
        let of = |ns: f64| Price::of(ns).map(|price| (price.nanoseconds, price.instructions));
        for (ns, fraction) in [
            (1.0, (1, 1)),
            (0.25, (1, 4)),
            (0.0625, (1, 16)),
            (0.29, (29, 100)),
            (1.5, (3, 2)),
            (1024.0, (1024, 1)),
            (0.2857, (2857, 10_000)),
        ] {
            assert_eq!(of(ns), Some(fraction), "{ns}");
            assert!((Price::of(ns).unwrap().ns() - ns).abs() < 1e-9);
        }
        for none in [0.0, 0.009, 1025.0, f64::NAN, -1.0] {
            assert_eq!(Price::of(none), None, "{none}");
        }
    }

    fn machine(mib: u64, ns: f64) -> Machine {
        Machine { ram: Bytes::from_mib(mib), price: Price::of(ns).unwrap(), processors: 1 }
    }

    #[test]
    fn a_guest_boots_at_no_less_than_its_own_price() {
        for (ns, boots) in [(0.25, 8.0), (0.35, 8.0), (8.0, 8.0), (9.5, 9.5), (32.0, 32.0)] {
            let machine = machine(64, ns);
            assert_eq!(machine.price_for(Use::Checkpoint).ns(), boots, "{ns}");
            assert_eq!(machine.price_for(Use::Trial), machine.price);
        }
        assert_eq!(machine(64, 0.25).clocks(Use::Trial), "200 1/4");
        assert_eq!(machine(64, 0.25).clocks(Use::Checkpoint), "800 8/1");
    }

    #[test]
    fn the_region_lies_behind_all_ram() {
        assert_eq!(machine(512, 1.0).region_base(), 4 * GIB);
        assert_eq!(machine(2048, 1.0).region_base(), 4 * GIB);
        assert_eq!(machine(8192, 1.0).region_base(), 10 * GIB);
    }
}
