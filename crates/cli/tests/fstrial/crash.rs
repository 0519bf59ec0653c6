//! What a power cut loses: a planted loss is found and replays, and nothing else is.

use serde_json::Value;
use skippable::Ending;

use crate::sandbox::Sandbox;

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
