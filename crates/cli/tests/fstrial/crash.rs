//! What a power cut loses: a planted loss is found and replays, and nothing else is.

use serde_json::Value;
use skippable::Ending;

use crate::sandbox::{Ran, Sandbox};

const FEW: &str = "--states 16 --rounds 2 --quiet";

pub(crate) fn a_power_cut_loses_what_was_planted_and_nothing_else() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    let kept = sandbox.run(&format!("crash create rename --fs ext4 {FEW}")).ended_with(0);
    assert!(kept.stdout.starts_with("ext4: every promise kept"), "{}", kept.stdout);
    assert!(!kept.stdout.contains("c1-1"), "{}", kept.stdout);

    let planted = format!("crash create --fs ext4:barrier=off {FEW} --json found.json");
    let lost = sandbox.run(&planted).ended_with(12);
    assert!(lost.stdout.contains("lost what was promised (create)"), "{}", lost.stdout);
    let found = std::fs::read_to_string(sandbox.path("found.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    let findings = found["cells"][0]["findings"].as_array().unwrap();
    for finding in findings {
        let parts = finding["example"]["state"]["parts"].as_array().unwrap();
        let lost = parts.iter().filter(|part| part[1] != "all").count();
        assert!(lost <= 5, "not shrunk: {finding}");
        let id = finding["id"].as_str().unwrap();
        for _ in 0..2 {
            let again = sandbox.run(&format!("crash show {id}")).ended_with(0).stdout;
            assert!(again.contains("Tried again: the same."), "{again}");
        }
    }
    assert!(!findings.is_empty());

    // What programs rely on and nothing promises is told, and is no failure unless that is asked.
    let careless = format!("crash rename-no-fsync --fs ext4:barrier=off --cache lying {FEW}");
    sandbox.run(&careless).ended_with(12);
    let relied = format!("crash append-no-fsync --fs ext4 {FEW}");
    let told = sandbox.run(&relied).ended_with(0).stdout;
    assert!(told.contains("ext4: lost what programs rely on"), "{told}");
    sandbox.run(&format!("{relied} --relied")).ended_with(12);

    let pool = sandbox.run(&format!("crash create --fs tmpfs {FEW}")).ended_with(1).stdout;
    assert!(pool.contains("tmpfs: no state could be tried"), "{pool}");
    Ok(())
}

/// States that are not mounted, because others are the same wherever these were read, show what they
/// show when they are.
pub(crate) fn states_that_are_alike_show_the_same_as_each_by_itself() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    let of = |name: &str, more: &str| {
        let asked = "crash rename-no-fsync --fs ext4:barrier=off --states 60 --rounds 3 --quiet";
        sandbox.run(&format!("{asked} --json {name} {more}")).ended_with(12);
        let found = std::fs::read_to_string(sandbox.path(name)).unwrap();
        let found: Value = serde_json::from_str(&found).unwrap();
        found["cells"][0].clone()
    };
    let (short, each) = (of("short.json", ""), of("each.json", "--each"));
    assert!(short["alike"].as_u64().unwrap() > 0, "{short}");
    assert_eq!(each["alike"], 0);
    for count in ["tried", "promised", "relied", "damaged", "silent", "refused"] {
        assert_eq!(short[count], each[count], "{count}");
    }
    let kinds = |cell: &Value| -> Vec<(Value, Value)> {
        let findings = cell["findings"].as_array().unwrap().iter();
        findings.map(|one| (one["problem"].clone(), one["states"].clone())).collect()
    };
    assert_eq!(kinds(&short), kinds(&each));
    Ok(())
}

pub(crate) fn a_program_of_ones_own_is_judged_by_its_own_check() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = sandbox.path(name);
        std::fs::write(&path, format!("#!/usr/bin/perl\n{text}")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    // It promises what it never synced, or syncs it before.
    let save = "$| = 1; for my $n (1 .. 3) {
        open my $f, '>', \"$ARGV[0]/$n\" or die; print $f \"whole\\n\" x 500; $f->flush;
        if ($ARGV[1]) { $f->sync or die; open my $d, '<', $ARGV[0]; IO::Handle::sync($d) or die }
        print \"promised $n\\n\"; }";
    script("save", &format!("use IO::Handle; {save}"));
    script(
        "kept",
        "while (<STDIN>) { chomp; -s \"$ARGV[0]/$_\" == 3000 or die \"$_ is gone\\n\" }",
    );
    let run = |check: &str, command: &str| {
        let mut asked = sandbox.command("crash --fs ext4 --states 20 --quiet --check");
        asked.args([check, "--"]).args(command.split(' '));
        Ran::of(asked.output().unwrap())
    };
    let kept = run("./kept {target}", "./save {target} 1").ended_with(0).stdout;
    assert!(kept.starts_with("ext4: every promise kept"), "{kept}");
    let lost = run("./kept {target}", "./save {target} 0").ended_with(12).stdout;
    assert!(lost.contains("what it promised is not kept"), "{lost}");
    let again = sandbox.run("crash show c2-1").ended_with(0).stdout;
    assert!(again.contains("is gone") && again.contains("Tried again: the same."), "{again}");

    let failed = run("./kept {target}", "./save {target}/none 1").ended_with(1).stdout;
    assert!(failed.contains("exit code"), "{failed}");
    let unended = run("./kept '{target}", "./save {target} 1").ended_with(2).stderr;
    assert!(unended.contains("a quote in it does not end"), "{unended}");
    Ok(())
}

pub(crate) fn a_power_cut_that_does_not_exist_is_refused_with_what_there_is() {
    let sandbox = Sandbox::new();
    let unknown = sandbox.run("crash renam --fs ext4").ended_with(2).stderr;
    assert!(unknown.contains("rename") && unknown.contains("crash programs"), "{unknown}");
    let programs = sandbox.run("crash programs").ended_with(0).stdout;
    assert!(programs.lines().count() > 10 && programs.contains("O_TMPFILE"), "{programs}");
    for id in ["c1-1", "c1", "1", "x-1"] {
        let said = sandbox.run(&format!("crash show {id}")).ended_with(2).stderr;
        assert!(said.contains("c1"), "{said}");
    }
}
