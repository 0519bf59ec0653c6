//! Which options of a job may be run: those that stay in its directory and start no program.

/// What is done with an option.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    /// It is left out, and how that is meant.
    Replaced(&'static str),
    /// Why it is refused.
    Refused(String),
}

/// Engines that work on files of a directory, or on nothing.
const ENGINES: [&str; 21] = [
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "posixaio",
    "io_uring",
    "mmap",
    "splice",
    "cpuio",
    "null",
    "falloc",
    "ftruncate",
    "e4defrag",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
];

/// Options by name, and why they are refused.
const REFUSED: [(&str, &str); 18] = [
    ("exec_prerun", "it runs a program; a job's file of program.md has setup commands"),
    ("exec_postrun", "it runs a program"),
    ("write_bw_log", WRITES),
    ("write_lat_log", WRITES),
    ("write_hist_log", WRITES),
    ("write_iops_log", WRITES),
    ("write_iolog", WRITES),
    ("read_iolog", "it replays another file, which is not brought along"),
    ("merge_blktrace_file", WRITES),
    ("replay_redirect", "it names a device"),
    ("opendir", "it names a directory outside of the one under test"),
    ("cgroup", CHANGES),
    ("cgroup_weight", CHANGES),
    ("cgroup_nodelete", CHANGES),
    ("ioscheduler", "it changes the machine's disk: `--fs ext4:scheduler=…` does it for a trial"),
    ("zonemode", "it needs a zoned device"),
    ("profile", "it is a job of its own"),
    ("iomem", "it maps a file outside of the one under test"),
];
const WRITES: &str = "it writes a file that is none of the job's data, inside the measurement";
const CHANGES: &str = "it changes cgroups of the machine";

/// Options that count or measure, of which fio takes a number below 0 and then fails at work, or does
/// something else.
const COUNTS: [&str; 16] = [
    "numjobs",
    "size",
    "filesize",
    "file_size",
    "io_size",
    "io_limit",
    "bs",
    "blocksize",
    "nrfiles",
    "nr_files",
    "iodepth",
    "loops",
    "runtime",
    "timeout",
    "thinktime",
    "number_ios",
];
/// Those that are not 0 either.
const NOT_ZERO: [&str; 2] = ["numjobs", "size"];

/// What is done with an option of this value.
pub(super) fn judge(name: &str, value: &str) -> Verdict {
    let refused = |why: &str| Verdict::Refused(why.to_owned());
    match name {
        "filename" | "filename_format" | "donorname" | "file_append" => {
            match parts(value).find_map(|part| leaves(&part)) {
                Some(why) => refused(why),
                None => Verdict::Allowed,
            }
        }
        "directory" if parts(value).all(|part| part.starts_with('/') && !climbs(&part)) => {
            Verdict::Replaced("is not kept: the job works in the directory under test")
        }
        "directory" => match parts(value).find_map(|part| leaves(&part)) {
            Some(why) => refused(why),
            None => Verdict::Allowed,
        },
        "ioengine" if !ENGINES.contains(&value) => Verdict::Refused(format!(
            "this engine does not work on files of a directory; these do: {}",
            ENGINES.join(", ")
        )),
        "mem" | "iomem" if value.contains(['/', ':']) => refused("it names a file outside"),
        "buffer_pattern" | "verify_pattern" if value.trim().starts_with('\'') => {
            refused("it reads another file, which is not brought along")
        }
        count if COUNTS.contains(&count) && value.starts_with('-') => refused("it is below 0"),
        count if NOT_ZERO.contains(&count) && value == "0" => {
            refused("with 0 fio does nothing; leave the job out instead")
        }
        _ => match REFUSED.iter().find(|(refused, _)| *refused == name) {
            Some((_, why)) => refused(why),
            None => Verdict::Allowed,
        },
    }
}

/// The names in a list, which `:` separates unless it is escaped.
fn parts(value: &str) -> impl Iterator<Item = String> {
    const ESCAPED: &str = "\u{1}";
    let value = value.replace("\\:", ESCAPED);
    let parts: Vec<String> = value.split(':').map(|part| part.replace(ESCAPED, ":")).collect();
    parts.into_iter()
}

fn climbs(part: &str) -> bool {
    part.split('/').any(|step| step == "..")
}

/// Why a name does not stay in the directory.
fn leaves(part: &str) -> Option<&'static str> {
    match part.trim() {
        device if device == "/dev" || device.starts_with("/dev/") => {
            Some("it names a device; the filesystem under test is named with --fs and --testbed")
        }
        "-" => Some("it is standard input or output, outside of the directory under test"),
        path if path.starts_with('/') || climbs(path) => {
            Some("it lies outside of the directory under test; name a file in it")
        }
        _ => None,
    }
}
