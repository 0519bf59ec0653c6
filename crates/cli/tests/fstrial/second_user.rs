//! Another user of the machine, in whose directory root works.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use skippable::{Ending, needs_root};

use crate::sandbox::Sandbox;

/// `nobody`.
const OTHER_USER: u32 = 65534;
/// Runs of root's, each with one trial; with `FSTRIAL_ROUNDS=10000` so many trials in all.
const RUNS: u32 = 12;

/// A directory of the other user, one of root's in it and one beside it.
struct Scene {
    sandbox: Sandbox,
    theirs: PathBuf,
    precious: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let sandbox = Sandbox::new();
        fs::set_permissions(sandbox.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (theirs, precious) = (sandbox.path("theirs"), sandbox.path("precious"));
        fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
        for directory in [&precious, &theirs.join("kept")] {
            fs::create_dir(directory).unwrap();
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
            fs::write(directory.join("bigfile"), "precious").unwrap();
        }
        Scene { sandbox, theirs, precious }
    }

    fn other_user(&self, script: &str) -> Command {
        let mut command = Command::new("perl");
        command.args(["-e", script]).args([&self.theirs, &self.precious]);
        command.uid(OTHER_USER).gid(OTHER_USER);
        command
    }

    /// What the other user has made impossible to remove is mentioned once, and can be given up.
    fn nothing_is_told_twice(&self) {
        // Root's other runs on this machine have the same record.
        let theirs = self.theirs.canonicalize().unwrap().display().to_string();
        let told = |ran: crate::sandbox::Ran| {
            let said = format!("{}{}", ran.stdout, ran.stderr);
            said.lines().filter(|line| line.contains(&theirs)).count()
        };
        let start = "run null --dir . --repeats 1 --quiet --scale 0.001";
        told(self.sandbox.run(start));
        assert_eq!(told(self.sandbox.run(start)), 0);
        self.sandbox.run(&format!("clean --forget {theirs}"));
        assert_eq!(told(self.sandbox.run("clean")), 0);
    }

    fn check(&self) {
        let kept = |path: &Path| {
            fs::read(path.join("bigfile")).is_ok_and(|text| text == b"precious")
                && fs::read_dir(path).unwrap().count() == 1
        };
        assert!(kept(&self.precious), "a directory outside was changed");
        let mut inside = fs::read_dir(&self.theirs).unwrap().map(|entry| entry.unwrap().path());
        assert!(inside.any(|path| path.is_dir() && kept(&path)), "root's directory was changed");
    }
}

struct Attack(Child);

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn a_trial_in_another_users_directory_stays_where_it_began() -> Ending {
    needs_root()?;
    let scene = Scene::new();
    // Moves the trial's directory away as soon as it is seen and puts others in its place:
    // one with a symlink to a directory of root's, and a directory of root's own.
    let script = "chdir $ARGV[0] or die; my $n = 0; \
        while (1) { for my $d (grep { !/-moved/ } glob 'fstrial-*') { \
            next if -l $d; my $was = \"$d-moved\" . $n++; rename($d, $was) or next; \
            if ($n % 2) { mkdir($d); symlink($ARGV[1], \"$d/target\"); } \
            else { rename('kept', $d); } \
            select(undef, undef, undef, 0.002); \
            if (!($n % 2)) { rename($d, 'kept'); } } }";
    let attack = Attack(scene.other_user(script).spawn().unwrap());
    let rounds = std::env::var("FSTRIAL_ROUNDS").map_or(RUNS, |text| text.parse().unwrap());
    let repeats = rounds.div_ceil(RUNS);
    let words = "run bigfile:size=1M --dir theirs --quiet --scale 0.001 --repeats";
    for _ in 0..RUNS {
        let ran = scene.sandbox.run(&format!("{words} {repeats}"));
        // Its figures, or a reason.
        assert!(matches!(ran.code, Some(0 | 1)), "{:?}\n{}{}", ran.code, ran.stdout, ran.stderr);
        scene.check();
    }
    drop(attack);
    scene.nothing_is_told_twice();
    scene.check();
    Ok(())
}

/// The directory itself is exchanged for a symlink to one of root's, and for a directory that looks
/// the same.
pub(crate) fn a_trial_in_a_directory_that_is_exchanged_stays_in_one() -> Ending {
    needs_root()?;
    let scene = Scene::new();
    let exchange =
        format!("syscall({}, -100, my $a = 'real', -100, my $b = $to, 2)", libc::SYS_renameat2);
    let script = format!(
        "chdir $ARGV[0] or die; mkdir('real'); mkdir('twin'); symlink($ARGV[1], 'link'); \
         for (my $n = 0; ; $n++) {{ my $to = $n % 4 < 2 ? 'link' : 'twin'; {exchange}; \
         select(undef, undef, undef, 0.0005) if $n % 3 == 0; }}"
    );
    let attack = Attack(scene.other_user(&script).spawn().unwrap());
    let words = "run bigfile:size=1M --dir theirs/real --quiet --scale 0.001 --repeats 2";
    let rounds = std::env::var("FSTRIAL_ROUNDS").map_or(RUNS, |text| text.parse().unwrap());
    let mut codes = [0; 4];
    for _ in 0..rounds.div_ceil(2) {
        let ran = scene.sandbox.run(words);
        let code = usize::try_from(ran.code.unwrap_or(-1)).unwrap();
        // Its figures, or a reason: the symlink is refused.
        assert!(matches!(code, 0 | 1 | 3), "{code}\n{}{}", ran.stdout, ran.stderr);
        assert!(code != 3 || ran.stderr.contains("symlink of user"), "{}", ran.stderr);
        codes[code] += 1;
        scene.check();
    }
    drop(attack);
    println!("{} done, {} in part, {} refused", codes[0], codes[1], codes[3]);
    scene.nothing_is_told_twice();
    scene.check();
    Ok(())
}

pub(crate) fn a_cache_in_another_users_directory_runs_nothing() -> Ending {
    needs_root()?;
    let scene = Scene::new();
    let plant = "my $lab = \"$ARGV[0]/fstrial/lab\"; system('mkdir', '-p', \"$lab/software/x/q\"); \
        for (['current', 'x'], ['software/x/manifest.toml', 'version = 1']) { \
            open(my $f, '>', \"$lab/$$_[0]\") or die; print $f $$_[1]; } exit 0";
    assert!(scene.other_user(plant).status().unwrap().success());
    let run = |words: &str| {
        let mut command = scene.sandbox.command(words);
        command.env("XDG_CACHE_HOME", &scene.theirs);
        crate::sandbox::Ran::of(command.output().unwrap())
    };
    for words in ["lab show", "run maildir-write --mail synthetic:count=5 --dir .", "lab build"] {
        let ran = run(words).ended_with(3);
        assert!(ran.stderr.contains("belongs to user 65534"), "{words}: {}", ran.stderr);
        assert!(ran.stderr.contains("XDG_CACHE_HOME"), "{words}: {}", ran.stderr);
    }
    scene.check();
    Ok(())
}

pub(crate) fn outputs_in_another_users_directory_are_written_there_or_refused() -> Ending {
    needs_root()?;
    let scene = Scene::new();
    let words = "run bigfile:size=1M --dir . --repeats 1 --quiet --scale 0.001";
    scene.sandbox.run(&format!("{words} --json theirs/report.json")).ended_with(0);
    assert!(scene.theirs.join("report.json").is_file());
    let plant = "chdir $ARGV[0]; symlink(\"$ARGV[1]/bigfile\", 'planted.json'); exit 0";
    assert!(scene.other_user(plant).status().unwrap().success());
    let ran = scene.sandbox.run("report --json theirs/planted.json");
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("symlink of user 65534"), "{}", ran.stderr);
    scene.check();
    Ok(())
}

pub(crate) fn a_store_in_another_users_directory_is_refused_to_root() -> Ending {
    needs_root()?;
    let scene = Scene::new();
    let empty = scene.precious.join("bigfile");
    let plant = "chdir $ARGV[0]; symlink(\"$ARGV[1]/bigfile\", 's.db'); exit 0";
    assert!(scene.other_user(plant).status().unwrap().success());
    assert!(empty.is_file());
    let refused = |words: &str| {
        let ran = scene.sandbox.run(words).ended_with(3);
        assert!(ran.stderr.contains("another user can change"), "{words}: {}", ran.stderr);
    };
    for words in ["run null --dir .", "list runs", "report", "run --resume"] {
        refused(&format!("{words} --store theirs/s.db"));
    }
    refused("run null --dir . --store theirs/kept/new/s.db");
    assert!(!scene.theirs.join("kept/new").exists());
    // Where all may make files, the other user's journal would be believed.
    let open = scene.sandbox.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    refused("run null --dir . --store open/s.db");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    scene
        .sandbox
        .run("run null --dir . --quiet --scale 0.001 --store open/ours/s.db")
        .ended_with(0);
    // The same store, through a symlink of the other user's.
    let plant = "chdir $ARGV[0]; symlink('../open/ours', 'st'); exit 0";
    assert!(scene.other_user(plant).status().unwrap().success());
    let ran = scene.sandbox.run("list runs --store theirs/st/s.db").ended_with(3);
    assert!(ran.stderr.contains("symlink of user 65534"), "{}", ran.stderr);
    scene.check();
    Ok(())
}

pub(crate) fn man_pages_are_not_led_elsewhere() -> Ending {
    needs_root()?;
    let scene = Scene::new();
    let plant = "chdir $ARGV[0]; symlink($ARGV[1], 'man'); exit 0";
    assert!(scene.other_user(plant).status().unwrap().success());
    for directory in ["theirs/man", "theirs/man/below"] {
        let ran = scene.sandbox.run(&format!("man {directory}")).ended_with(6);
        assert!(ran.stderr.contains("symlink of user 65534"), "{}", ran.stderr);
    }
    scene.sandbox.run("man made/here").ended_with(0);
    assert!(scene.sandbox.path("made/here/fstrial-run.1").is_file());
    scene.check();
    Ok(())
}

/// What root is refused, or has to go around, does not concern whoever has no more rights than
/// the others.
pub(crate) fn an_ordinary_user_works_in_a_directory_shared_by_a_group() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    fs::set_permissions(sandbox.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (home, shared) = (sandbox.path("home"), sandbox.path("shared"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&shared).unwrap();
    std::os::unix::fs::chown(&home, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    std::os::unix::fs::chown(&shared, None, Some(OTHER_USER)).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o2770)).unwrap();
    // Where this was compiled they may not look.
    let program = sandbox.path("fstrial");
    fs::copy(env!("CARGO_BIN_EXE_fstrial"), &program).unwrap();
    let run = |words: &str| {
        let mut command = Command::new(&program);
        command.args(words.split_whitespace()).current_dir(&home).env("HOME", &home);
        for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        let output = command.uid(OTHER_USER).gid(OTHER_USER).output().unwrap();
        crate::sandbox::Ran::of(output).ended_with(0)
    };
    let words = "run bigfile:size=1M --scale 0.001 --repeats 2";
    run(&format!("{words} --dir ../shared --store ../shared/s.db --html ../shared/page.html"));
    run("report --store ../shared/s.db --json ../shared/report.json");
    run("clean");
    let mut left: Vec<_> =
        fs::read_dir(&shared).unwrap().map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["page.html", "report.json", "s.db"]);
    Ok(())
}

pub(crate) fn outputs_go_into_devices_and_pipes() {
    let sandbox = Sandbox::new();
    let words = "run bigfile:size=1M --dir . --repeats 1 --quiet --scale 0.001 --json";
    sandbox.run(&format!("{words} /dev/null")).ended_with(0);
    let ran = sandbox.run("report --json /dev/stdout").ended_with(0);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(report["schema_version"].is_number());
    let null = fs::symlink_metadata("/dev/null").unwrap();
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&null.file_type()));
}
