//! Facts about this machine that a result depends on.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use files::Mount;
use stack::filesystems::Queue;
use stack::{Contender, Refusal};
use store::Environment;
use trial::TrialSpec;
use units::Bytes;

/// What to do where there is too little room. What a program of the user's writes is a guess of ours
/// unless its job's file says it, and no scale changes it.
pub(crate) fn to_need_less(spec: &TrialSpec) -> &'static str {
    match spec.workloads.iter().any(|choice| choice.name == "program") {
        true => {
            "if the program writes less, say how much in a job's file: space = \"100M\" \
             (docs/howto/program.md)"
        }
        false => "choose a smaller --scale",
    }
}

/// Kernel, processor, memory, distribution, virtualisation and the load by other programs.
pub fn machine_facts() -> Environment {
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let mut facts = BTreeMap::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(key.to_owned(), value);
        }
    };
    put("kernel", Some(text(uname.release())));
    put("kernel_build", Some(text(uname.version())));
    put("architecture", Some(text(uname.machine())));
    put("hostname", Some(text(uname.nodename())));
    put("processor", field("/proc/cpuinfo", "model name"));
    put("processors", std::thread::available_parallelism().ok().map(|count| count.to_string()));
    put("memory", field("/proc/meminfo", "MemTotal"));
    put(
        "memory_limit",
        measure::MemoryLimit::now().map(|group| {
            let (limit, file) = (group.limit, group.file);
            format!("{limit} ({file} of the control group)")
        }),
    );
    put("swap", field("/proc/meminfo", "SwapTotal"));
    put("distribution", distribution());
    put("virtual_machine", hypervisor());
    put("load_at_start", first_word("/proc/loadavg"));
    put("kernel_command_line", read("/proc/cmdline"));
    put("transparent_hugepages", read("/sys/kernel/mm/transparent_hugepage/enabled"));
    put("processor_governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    Environment(facts)
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn first_word(path: &str) -> Option<String> {
    read(path)?.split_whitespace().next().map(str::to_owned)
}

/// The value after `name:` on the first line that has it.
fn field(path: &str, name: &str) -> Option<String> {
    let text = read(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
}

fn distribution() -> Option<String> {
    let release = read("/etc/os-release")?;
    let line = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

fn hypervisor() -> Option<String> {
    let flags = field("/proc/cpuinfo", "flags")?;
    flags.split(' ').any(|flag| flag == "hypervisor").then(|| "yes".to_owned())
}

/// Whether the running kernel serves this filesystem, or has a module that does.
pub fn kernel_has(kernel_type: &str, module: &str) -> bool {
    let registered = read("/proc/filesystems").is_some_and(|text| {
        text.lines().any(|line| line.split_whitespace().last() == Some(kernel_type))
    });
    registered || kernel_has_module(module)
}

/// Whether the running kernel has this module: loaded, to be loaded, or built in.
pub(crate) fn kernel_has_module(module: &str) -> bool {
    // Files have dashes or underscores, the loaded module has underscores.
    let names = [module.to_owned(), module.replace('-', "_")];
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let listed = |list: &str| {
        read(&format!("/lib/modules/{release}/{list}"))
            .is_some_and(|text| names.iter().any(|name| text.contains(&format!("/{name}.ko"))))
    };
    let loaded = Path::new("/sys/module").join(&names[1]).exists();
    loaded || listed("modules.dep") || listed("modules.builtin")
}

/// The refusal of a contender whose I/O scheduler this kernel does not have: no disk offers it and
/// there is no module for it. Whether a disk accepts it shows only when it is set.
pub(crate) fn no_such_scheduler(contender: &Contender) -> Option<Refusal> {
    let filesystem = stack::filesystems::find(&contender.filesystem)?;
    let wanted = Queue::of(filesystem, contender).ok()?.scheduler?;
    let disks = std::fs::read_dir("/sys/block").ok()?.flatten();
    let mut offered: Vec<String> = disks
        .filter_map(|disk| read(&disk.path().join("queue/scheduler").display().to_string()))
        .flat_map(|text| text.split_whitespace().map(without_brackets).collect::<Vec<_>>())
        .collect();
    offered.sort_unstable();
    offered.dedup();
    let module = [wanted.clone(), format!("{wanted}-iosched")];
    if offered.contains(&wanted) || module.iter().any(|module| kernel_has_module(module)) {
        return None;
    }
    let what = format!("{}: scheduler={wanted}", contender.name);
    let refusal = Refusal::new(what, "this kernel has no such scheduler");
    Some(refusal.with_next(format!("its disks offer: {}", offered.join(", "))))
}

/// `mq-deadline` of `[mq-deadline]`, the one in use.
fn without_brackets(word: &str) -> String {
    word.trim_matches(['[', ']']).to_owned()
}

/// The size of a block device, by the kernel's account; `None` for what is none.
pub(crate) fn size_of_device(path: &Path) -> Option<Bytes> {
    let stat = rustix::fs::stat(path).ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    let sectors: u64 = read(&format!("/sys/dev/block/{major}:{minor}/size"))?.parse().ok()?;
    Some(Bytes(sectors.saturating_mul(512)))
}

/// Why files of this many bytes on this filesystem do not fit into memory, if it keeps them there.
pub(crate) fn too_large_for_memory(filesystem: &str, bytes: Bytes) -> Option<String> {
    let left = measure::memory_left().filter(|_| ["tmpfs", "ramfs"].contains(&filesystem))?;
    let limit = measure::MemoryLimit::now().map_or_else(String::new, |group| {
        format!(" of {} ({} of the control group)", group.limit, group.file)
    });
    (bytes > left).then(|| {
        format!("{filesystem} holds files in memory: {bytes} are needed, {left}{limit} are left")
    })
}

/// Facts about the filesystem and disk below loop files in this directory.
pub(crate) fn backing_facts(directory: &Path) -> Vec<(String, String)> {
    let existing = directory.ancestors().find(|ancestor| ancestor.exists());
    let Some(mount) = existing.and_then(|path| Mount::of(path).ok()) else { return Vec::new() };
    let mut facts = vec![("backing_filesystem".to_owned(), mount.filesystem.clone())];
    let name = mount.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let queue = format!("/sys/class/block/{name}/queue");
    for (key, file) in [
        ("backing_rotational", "rotational"),
        ("backing_scheduler", "scheduler"),
        ("backing_write_cache", "write_cache"),
        ("backing_read_ahead_kb", "read_ahead_kb"),
    ] {
        if let Some(value) = read(&format!("{queue}/{file}")) {
            facts.push((key.to_owned(), value));
        }
    }
    facts
}

/// Calls `done` every 50 ms; false if it does not return true within `limit`.
pub(crate) fn wait_for(limit: Duration, done: impl FnMut() -> bool) -> bool {
    waiting::until(limit, Duration::from_millis(50), done)
}

/// Why a trial can run only in the lab, if that is so.
pub(crate) fn only_in_guest(spec: &TrialSpec) -> Option<Refusal> {
    spec.workloads.iter().find_map(|choice| {
        let why = workload::find(&choice.name)?.only_in_guest()?;
        let refusal = Refusal::new(choice.name.as_str(), format!("it runs in the lab only: {why}"));
        Some(refusal.with_next("leave --testbed, --dir and --device out"))
    })
}

/// Why a trial cannot run in a directory, if it cannot.
pub(crate) fn needs_own_filesystem(spec: &TrialSpec) -> Option<Refusal> {
    spec.workloads.iter().find_map(|choice| {
        let why = workload::find(&choice.name)?.needs_own_filesystem()?;
        let refusal = Refusal::new(choice.name.as_str(), format!("it runs in no directory: {why}"));
        Some(refusal.with_next("leave --dir out (the lab), or use --testbed device"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_kernel_and_memory() {
        let Environment(facts) = machine_facts();
        assert!(facts["memory"].ends_with("kB"), "{}", facts["memory"]);
        assert!(facts["kernel"].contains('.'));
        assert!(facts.values().all(|value| !value.is_empty()));
        let load: f64 = facts["load_at_start"].parse().unwrap();
        assert!(load >= 0.0);
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let virtual_machine = cpuinfo.split_whitespace().any(|word| word == "hypervisor");
        assert_eq!(facts.contains_key("virtual_machine"), virtual_machine);
    }

    #[test]
    fn a_kernel_has_what_it_serves_or_has_loaded() {
        assert!(kernel_has("proc", "no_such_module"));
        assert!(!kernel_has("no_such_filesystem", "no_such_module"));
        let loaded = std::fs::read_dir("/sys/module").unwrap().next().unwrap().unwrap();
        let loaded = loaded.file_name().into_string().unwrap();
        assert!(kernel_has_module(&loaded) && kernel_has_module(&loaded.replace('_', "-")));
    }

    #[test]
    fn the_scheduler_in_use_is_named_without_its_brackets() {
        let offered = "[none] mq-deadline".split_whitespace().map(without_brackets);
        assert_eq!(offered.collect::<Vec<_>>(), ["none", "mq-deadline"]);
    }

    #[test]
    fn what_is_below_loop_files_is_found_before_their_directory_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let facts = backing_facts(&directory.path().join("not/made/yet"));
        let filesystem = Mount::of(directory.path()).unwrap().filesystem;
        assert_eq!(facts[0], ("backing_filesystem".to_owned(), filesystem));
        let in_memory = backing_facts(Path::new("/proc"));
        assert_eq!(in_memory, [("backing_filesystem".to_owned(), "proc".to_owned())]);
    }
}
