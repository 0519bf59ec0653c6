//! What is wrong is said clearly, with the documented exit code, and never by a panic.

use skippable::{Ending, needs_root};

use crate::sandbox::{Ran, Sandbox};

#[track_caller]
fn refused(sandbox: &Sandbox, words: &str, code: i32, says: &[&str]) -> Ran {
    let ran = sandbox.run(words).ended_with(code);
    for part in says {
        assert!(ran.stderr.contains(part), "`{part}` is not in:\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

pub(crate) fn a_command_line_that_asks_for_what_does_not_exist() {
    let sandbox = Sandbox::new();
    let cases: &[(&str, &[&str])] = &[
        ("run nothing --dir .", &["there is no workload `nothing`", "maildir-write"]),
        ("run maildir-write:opps=3 --dir .", &["has no parameter `opps`", "ops"]),
        ("run maildir-write:fsync=maybe --dir .", &["fsync=maybe", "file+dir"]),
        ("run maildir-write:fsync --dir .", &["parameter=value"]),
        ("run randomio:size=1 --dir .", &["randomio: size=1: a size from 1K to 64T"]),
        ("run randomio:size=1K --dir .", &["size=1024 has no room for two I/Os of io_size=2048"]),
        ("run postmark:number=1 --dir .", &["postmark: no file is left after", "number"]),
        ("run fsync-append:record=0 --dir .", &["record=0: a size from 1 to 64M"]),
        ("run bigfile:block=0 --dir .", &["bigfile: block=0: a size from 512 to 256M"]),
        ("run tree:phases=untar --dir .", &["untar needs what copy-archive leaves", "--sequence"]),
        ("run null --dir . --repeats 0", &["measures nothing"]),
        ("run null --dir . --scale=-1", &["not a positive number"]),
        ("run null --dir . --scale 0", &["not a positive number"]),
        ("run null --dir . --scale 0%", &["not a positive number"]),
        ("run null --disk samsung", &["samsung", "samsung-pm883"]),
        ("run null --profile server-sdd", &["server-sdd", "server-ssd"]),
        ("run null --loop-dir .", &["--testbed device"]),
        ("run null --fs ext4 --drop-caches", &["--testbed dir", "mounts anew"]),
        ("run null --dir . --processors 2", &["--testbed lab"]),
        ("study run boot-2005 --loop-dir .", &["--loop-dir", "another testbed"]),
        ("study run boot-2005 --device /dev/null --lab mine", &["--lab", "another testbed"]),
        ("run null --dir . --disk ideal", &["--testbed lab"]),
        ("list workload nothing", &["there is no workload `nothing`"]),
        ("run null --dir . --size many", &["size"]),
        ("run null --testbed device --size 18446744073709551616", &["too large"]),
        ("run null --testbed device --size 18446744073709551615", &["16 TiB at most"]),
        ("run null --dir . --fs ext4", &["--testbed device"]),
        ("run null --dir . --device /dev/null", &["belong to --testbed device"]),
        ("run null --testbed device --fs ext5", &["there is no filesystem `ext5`", "ext4"]),
        ("run null --testbed device --fs ext4,ext4", &["NEWNAME="]),
        ("run null --testbed device --fs ext4:colour=red", &["colour"]),
        ("run maildir-write --dir . --mail enron", &["names no mail corpus"]),
        ("run custom --dir .", &["custom:file=PATH"]),
        ("run tree --dir . --source-tree linux-7", &["names no source tree"]),
        ("run null --dir . --json - --csv -", &["one document"]),
        ("report r1 --json - --csv -", &["one document"]),
        ("run null --destroy /dev/null", &["name the device with --device"]),
        ("run null --dir . --repeats 1000000000 --dry-run", &["at most 100000"]),
        ("run null --dir . --all-pairs", &["--json"]),
        ("run --resume r1 --dry-run", &["--dry-run"]),
        ("run --resume r1 --repeats 9", &["--repeats"]),
        ("run --resume r1 --fs xfs", &["--fs"]),
        ("run --resume r1 --dir .", &["--dir"]),
        ("run --resume r1 --profile server-ssd", &["--profile"]),
        ("run --resume r1 --testbed lab", &["--testbed"]),
        ("run --resume r1 --set ram=1G", &["--set"]),
        ("run null --dir . --size 1G", &["a directory is used as it is"]),
        ("run null null --dir .", &["null is named twice", "--sequence"]),
        ("run null --dir . --json a --csv ./a", &["--json and --csv both name"]),
        ("compare r1 --fail-over 5", &["write 5% or 0.05"]),
        ("compare r1 --fail-over -5%", &["a share from 0 to 1000 %"]),
        ("run", &["WORKLOAD"]),
        ("fly", &["unrecognized subcommand"]),
    ];
    for (words, says) in cases {
        refused(&sandbox, words, 2, says);
    }
    refused(&sandbox, "run null --dir . --dir ./", 3, &["this is one directory"]);
    assert!(!sandbox.path(".local/share/fstrial/results.db").exists(), "nothing was begun");
}

pub(crate) fn a_study_that_allows_to_destroy_what_it_does_not_use() {
    let words = "study run boot-2005 --testbed device --destroy /dev/null --dry-run";
    refused(&Sandbox::new(), words, 2, &["name the device with --device"]);
}

pub(crate) fn a_corpus_that_is_empty_or_unreadable() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    refused(&sandbox, "run maildir-write --dir . --mail own:empty", 5, &["holds no mail"]);
    refused(
        &sandbox,
        "run maildir-write --dir . --mail own:absent",
        5,
        &["absent", "No such file"],
    );
}

/// What is wrong with an archive is said once, before anything is made, with its own name.
pub(crate) fn an_archive_that_gnu_tar_would_not_unpack() {
    let sandbox = Sandbox::new();
    let tar = |words: &str| {
        let mut shell = std::process::Command::new("sh");
        let ran = shell.arg("-c").arg(words).current_dir(sandbox.path("")).output().unwrap();
        assert!(ran.status.success(), "{words}");
    };
    tar("mkdir w && echo hi >w/a && ln w/a w/b && mkfifo w/pipe && tar -cf whole.tar w");
    tar("head -c 700 whole.tar >cut.tar && rm w/pipe");
    tar("tar -cf links.tar w/a w/b && tar --delete -f links.tar w/a && gzip -k links.tar");
    tar("cp whole.tar zip.tar && printf PK >zip.tar");
    let cases: &[(&str, &str)] = &[
        ("whole.tar", "member w/pipe: it is a named pipe"),
        ("cut.tar", "it is cut off in or after member w/"),
        ("links.tar", "member w/b: it is a hard link to w/a, which is not before it"),
        ("links.tar.gz", "member w/b: it is a hard link to w/a, which is not before it"),
        ("zip.tar", "it is a zip archive, not a tar"),
        ("w", "it is a directory; pack it first"),
    ];
    for (archive, why) in cases {
        let words = format!("run tree --dir . --source-tree own:{archive} --repeats 3");
        let said = format!("{archive} cannot be unpacked: {why}");
        let ran = refused(&sandbox, &words, 5, &[&said]);
        assert_eq!(ran.stderr.matches("cannot be unpacked").count(), 1, "{}", ran.stderr);
    }
    assert!(!sandbox.path(".local/share/fstrial/results.db").exists(), "nothing was begun");
}

pub(crate) fn a_directory_without_inodes() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("few")).unwrap();
    // In a namespace of its own, so that the mount goes with the program.
    let program = sandbox.command("run scale:entries=300:threads=1 --dir few --repeats 2");
    let ran = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg("mount -t tmpfs -o nr_inodes=200 tmpfs few && exec \"$@\"")
        .arg("sh")
        .arg(program.get_program())
        .args(program.get_args())
        .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(sandbox.path(""))
        .output()
        .unwrap();
    let ran = Ran::of(ran).ended_with(3);
    assert!(ran.stderr.contains("303 inodes are needed, "), "{}", ran.stderr);
    Ok(())
}

pub(crate) fn a_size_that_does_not_hold_the_work() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let words = "run unpack:mails=20000 --testbed device --fs ext4 --size 64M \
                 --mail synthetic:count=50";
    refused(&sandbox, words, 3, &["are needed, --size 64 MiB makes 64 MiB", "--scale"]);
    let words = "run upkeep:size=64M --testbed device --fs ext4 --size 1G";
    refused(&sandbox, words, 3, &["upkeep on a filesystem of 1 GiB", "upkeep:size"]);
    Ok(())
}

pub(crate) fn a_directory_that_is_missing_or_read_only() {
    let sandbox = Sandbox::new();
    refused(&sandbox, "run null --dir absent", 3, &["absent", "it is not a directory"]);
    refused(&sandbox, "run null --dir /proc", 1, &["/proc"]);
}

pub(crate) fn a_store_that_is_newer_foreign_or_locked() {
    let sandbox = Sandbox::new();
    let store = sandbox.path("s.db");
    sandbox.run("run null:ops=1000 --dir . --repeats 1 --store s.db").ended_with(0);
    let open = || rusqlite::Connection::open(&store).unwrap();
    let holder = open();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    refused(&sandbox, "run null --dir . --store s.db", 4, &["is locked", "--store"]);
    drop(holder);
    open().pragma_update(None, "user_version", 99).unwrap();
    refused(&sandbox, "run null --dir . --store s.db", 4, &["schema 99", "newer fstrial"]);
    refused(&sandbox, "report latest --store s.db", 4, &["schema 99"]);
    open().pragma_update(None, "user_version", -5).unwrap();
    refused(&sandbox, "report latest --store s.db", 4, &["is not a store"]);
    std::fs::write(sandbox.path("text.db"), "a letter to my aunt\n".repeat(100)).unwrap();
    refused(&sandbox, "run null --dir . --store text.db", 4, &["is not a store"]);
    refused(&sandbox, "report r9", 4, &["no store"]);
    sandbox.run("run null:ops=1000 --dir . --repeats 1").ended_with(0);
    refused(&sandbox, "report r9", 4, &["no run `r9`", "r1"]);
    refused(&sandbox, "run --resume r9", 4, &["no run `r9`"]);
}

pub(crate) fn an_output_that_cannot_be_written_is_found_before_the_work() {
    let sandbox = Sandbox::new();
    refused(&sandbox, "run null --dir . --html nowhere/x.html", 6, &["no directory nowhere"]);
    let runs = sandbox.run("list runs").ended_with(0);
    assert!(runs.stdout.starts_with("no runs"), "{}", runs.stdout);
}

pub(crate) fn a_missing_mkfs_leaves_out_its_filesystem_alone() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    // The tools of ext4 and no others, in a place of their own.
    let tools = sandbox.path("tools");
    std::fs::create_dir(&tools).unwrap();
    let words = "run null:ops=1000 --testbed device --fs ext4,tmpfs --repeats 1 --size 64M";
    let ran = Ran::of(
        sandbox
            .command(words)
            .env("PATH", &tools)
            .env("FSTRIAL_TOOL_PATH", &tools)
            .output()
            .unwrap(),
    )
    .ended_with(1);
    assert!(ran.stderr.contains("mke2fs is not installed"), "{}", ran.stderr);
    assert!(ran.stderr.contains("install e2fsprogs"), "{}", ran.stderr);
    assert!(ran.stdout.contains("tmpfs"), "the other contender went on:\n{}", ran.stdout);
    Ok(())
}

pub(crate) fn a_reader_that_has_seen_enough_is_no_panic() {
    let sandbox = Sandbox::new();
    for words in ["completions bash", "list workloads"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Ran::of(sandbox.command(words).stdout(writer).output().unwrap());
        assert!(!ran.stderr.contains("panicked"), "{words}: {}", ran.stderr);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(sandbox.command(words).stdout(full).output().unwrap());
        assert_eq!(ran.code, Some(6), "{words}: {}", ran.stderr);
        assert!(ran.stderr.contains("standard output"), "{words}: {}", ran.stderr);
    }
}

pub(crate) fn a_corpus_that_was_changed_is_noticed_before_a_run_uses_it() {
    let sandbox = Sandbox::new();
    let words = "run maildir-write --dir . --scale 0.002 --mail synthetic:count=50 --repeats 1 -q";
    sandbox.run(words).ended_with(0);
    let directory = sandbox.path(".cache/fstrial/mail");
    let pack = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|kind| kind == "mailpack"))
        .unwrap();
    let mut bytes = std::fs::read(&pack).unwrap();
    // In a mail: what stands behind them says where each begins.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&pack, bytes).unwrap();
    refused(&sandbox, words, 5, &["mailpack"]);
}

pub(crate) fn what_never_ends_is_refused_at_once() {
    let sandbox = Sandbox::new();
    let cases: &[(&str, i32)] = &[
        ("run maildir-write --dir . --mail own:/dev/zero", 5),
        ("run custom:file=/dev/zero --dir .", 5),
        ("run null --testbed device --contenders /dev/zero", 5),
        ("run null --profile ./fifo.toml", 5),
    ];
    assert!(
        std::process::Command::new("mkfifo")
            .arg(sandbox.path("fifo.toml"))
            .status()
            .unwrap()
            .success()
    );
    for (words, code) in cases {
        refused(&sandbox, words, *code, &["pipe or a device"]);
    }
}

pub(crate) fn what_no_guest_takes_is_refused_before_it_is_made() {
    let sandbox = Sandbox::new();
    let words = "run maildir-write --testbed lab --mail synthetic:count=100000";
    refused(&sandbox, words, 3, &["2 GiB", "take fewer"]);
    assert!(!sandbox.path(".cache/fstrial/mail").exists(), "mails were made");
}

/// Whatever the limit, a command does its work or says that there is no memory.
pub(crate) fn running_out_of_memory_is_a_message() {
    let sandbox = Sandbox::new();
    sandbox.run("run null --dir . --repeats 1").ended_with(0);
    let limited = |kib: u32, words: &str| {
        let program = env!("CARGO_BIN_EXE_fstrial");
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -v {kib}; exec {program} {words}"));
        shell.current_dir(sandbox.directory.path()).env("HOME", sandbox.directory.path());
        for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            shell.env_remove(variable);
        }
        Ran::of(shell.output().unwrap())
    };
    // So much takes the program itself.
    let least =
        (8_000..200_000).step_by(2_000).find(|kib| limited(*kib, "--version").code == Some(0));
    let least = least.unwrap();
    let mut told = 0;
    for kib in (least..least + 40_000).step_by(2_000) {
        for words in ["list workloads", "run null --dir . --repeats 1", "report --json -"] {
            let ran = limited(kib, words);
            let ended = ran.code.is_some_and(|code| code != 101);
            assert!(ended && !ran.stderr.contains("panicked"), "{kib} {words}: {}", ran.stderr);
            told += u32::from(ran.code == Some(8) && ran.stderr.contains("no memory is left"));
        }
    }
    assert!(told > 0, "no limit was low enough to try anything");
}
