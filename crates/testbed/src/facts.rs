//! Facts about this machine that a result depends on.

use std::collections::BTreeMap;

use store::Environment;

/// Kernel, processor, memory, distribution, virtualisation and what else runs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_kernel_and_memory() {
        let Environment(facts) = machine_facts();
        assert!(facts["memory"].ends_with("kB"), "{}", facts["memory"]);
        assert!(facts["kernel"].contains('.'));
        assert!(facts.values().all(|value| !value.is_empty()));
    }
}
