//! How much memory this process may have: the machine's, or less where its control group sets a
//! limit (version 1 and 2; of a group and of every group around it).

use std::path::{Path, PathBuf};

use units::Bytes;

/// What the control groups of this process leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The smallest limit. Beyond it the kernel reclaims, slows down or kills.
    pub limit: Bytes,
    /// What is left of the group that has least left.
    pub left: Bytes,
    /// The kernel's name for the smallest limit.
    pub file: &'static str,
}

/// From here on a number of version 1 means that there is no limit.
const UNLIMITED: u64 = 1 << 60;

/// Files with limits, and those with what is used, in the directory of a group.
const FILES: [(&str, &str); 3] = [
    ("memory.max", "memory.current"),
    ("memory.high", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
];

impl MemoryLimit {
    /// The limit that this process has now, if there is one.
    pub fn now() -> Option<MemoryLimit> {
        let read = |path| std::fs::read_to_string(path).ok();
        MemoryLimit::within(&groups(&read("/proc/self/cgroup")?, &read("/proc/self/mounts")?))
    }

    /// The smallest limit of these groups and of those around them.
    fn within(groups: &[(PathBuf, PathBuf)]) -> Option<MemoryLimit> {
        let mut found: Option<MemoryLimit> = None;
        let around = groups.iter().flat_map(|(mount, group)| {
            group.ancestors().map(move |group| mount.join(group.strip_prefix("/").unwrap_or(group)))
        });
        for directory in around {
            let number = |file: &str| -> Option<u64> {
                std::fs::read_to_string(directory.join(file)).ok()?.trim().parse().ok()
            };
            for (file, used) in FILES {
                let Some(limit) = number(file).filter(|limit| *limit < UNLIMITED) else { continue };
                let left = Bytes(limit.saturating_sub(number(used).unwrap_or(0)));
                let so_far = found.unwrap_or(MemoryLimit { limit: Bytes(limit), left, file });
                found = Some(MemoryLimit {
                    left: left.min(so_far.left),
                    ..match Bytes(limit) < so_far.limit {
                        true => MemoryLimit { limit: Bytes(limit), left, file },
                        false => so_far,
                    }
                });
            }
        }
        found
    }
}

/// Where groups that count memory are mounted, and which one of them is meant, from
/// `/proc/self/cgroup` and `/proc/self/mounts`.
fn groups(own: &str, mounts: &str) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        let (Some(place), Some(kind), Some(options)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let counts = |name: &str| options.split(',').any(|option| option == name);
        let own = own.lines().find_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let of_memory = controllers.split(',').any(|controller| controller == "memory");
            match kind {
                "cgroup2" => (number == "0" && controllers.is_empty()).then_some(path),
                "cgroup" => (of_memory && counts("memory")).then_some(path),
                _ => None,
            }
        });
        if let Some(own) = own {
            found.push((PathBuf::from(place), Path::new(own).to_owned()));
        }
    }
    found
}

/// The memory of the machine; `None` where the kernel does not report it.
fn machine_memory() -> Option<Bytes> {
    of_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The memory that files can be cached in: the machine's, or the limit of a control group.
pub fn usable_memory() -> Option<Bytes> {
    let machine = machine_memory()?;
    Some(MemoryLimit::now().map_or(machine, |group| group.limit.min(machine)))
}

/// The memory that can be had now: what the machine has available, or what is left of a limit.
pub fn memory_left() -> Option<Bytes> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let available = of_meminfo(&meminfo, "MemAvailable:")?;
    Some(MemoryLimit::now().map_or(available, |group| group.left.min(available)))
}

/// An amount in a text like `/proc/meminfo`, which gives it in KiB.
fn of_meminfo(text: &str, name: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(Bytes::from_kib(line.trim().strip_suffix(" kB")?.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_the_kernel_reports_is_read() {
        let text = "MemTotal:       24682784 kB\nMemFree:  1 kB\nMemAvailable:   24261632 kB\n";
        assert_eq!(of_meminfo(text, "MemAvailable:"), Some(Bytes::from_kib(24_261_632)));
        assert_eq!(of_meminfo("MemTotal:        unknown\n", "MemTotal:"), None);
        assert!(usable_memory().unwrap() <= machine_memory().unwrap());
        assert!(memory_left().unwrap() > Bytes::ZERO);
    }

    #[test]
    fn groups_of_both_versions_are_found_where_they_are_mounted() {
        let mounts = "proc /proc proc rw 0 0\n\
                      cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
        let own = "4:memory:/a/b\n2:cpu:/c\n0::/d\n";
        let found = |place: &str, own: &str| (PathBuf::from(place), PathBuf::from(own));
        assert_eq!(
            groups(own, mounts),
            [found("/sys/fs/cgroup/memory", "/a/b"), found("/sys/fs/cgroup/unified", "/d")]
        );
        let hybrid = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate,memory_recursiveprot 0 0\n";
        assert_eq!(groups("0::/x.slice/y", hybrid), [found("/sys/fs/cgroup", "/x.slice/y")]);
    }

    #[test]
    fn the_smallest_limit_counts_of_a_group_and_those_around_it() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        let put = |group: &Path, file: &str, text: &str| fs::write(group.join(file), text).unwrap();
        let limit = || {
            let of = (root.path().to_owned(), PathBuf::from("/outer/inner"));
            MemoryLimit::within(&[of])
        };
        assert_eq!(limit(), None);
        put(&inner, "memory.max", "max\n");
        put(&inner, "memory.current", "1000\n");
        assert_eq!(limit(), None);
        let outer = root.path().join("outer");
        put(&outer, "memory.max", "9000\n");
        put(&outer, "memory.current", "8500\n");
        let (most, least) = (Bytes(9000), Bytes(500));
        assert_eq!(limit(), Some(MemoryLimit { limit: most, left: least, file: "memory.max" }));
        put(&inner, "memory.high", "4000\n");
        let high = MemoryLimit { limit: Bytes(4000), left: least, file: "memory.high" };
        assert_eq!(limit(), Some(high));
        // Of version 1, with no limit as that version writes it.
        put(&outer, "memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit(), Some(high));
        put(&inner, "memory.limit_in_bytes", "3000\n");
        put(&inner, "memory.usage_in_bytes", "2900\n");
        let older =
            MemoryLimit { limit: Bytes(3000), left: Bytes(100), file: "memory.limit_in_bytes" };
        assert_eq!(limit(), Some(older));
    }
}
