//! fio's job files as workloads.

use skippable::{Ending, needs_program};

use crate::sandbox::Sandbox;

const JOB: &str = "
[global]
include sizes.inc
ioengine=psync
[fill]
rw=write
end_fsync=1
rate_iops=1000
[reads]
stonewall
directory=/mnt/elsewhere
rw=randread ; the interesting part
rate_iops=400
number_ios=${COUNT}
[syncs]
rw=randwrite
fdatasync=1
number_ios=50
";

pub(crate) fn a_job_file_is_run_group_by_group_with_fios_own_figures() -> Ending {
    needs_program("fio", "fio")?;
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("jobs")).unwrap();
    std::fs::write(sandbox.path("jobs/my.fio"), JOB).unwrap();
    std::fs::write(sandbox.path("jobs/sizes.inc"), "size=1m\nbs=4k\n").unwrap();
    let words = "run jobs/my.fio --dir . --repeats 2 --quiet --json j";
    let output = sandbox.command(words).env("COUNT", "64").output().unwrap();
    let ran = crate::sandbox::Ran::of(output).ended_with(0);
    assert!(ran.stderr.contains("my.fio:11: directory=/mnt/elsewhere"), "{}", ran.stderr);
    let json = std::fs::read_to_string(sandbox.path("j")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for trial in json["trials"].as_array().unwrap() {
        let phases = trial["phases"].as_array().unwrap();
        let names: Vec<_> = phases.iter().map(|it| it["phase"].as_str().unwrap()).collect();
        assert_eq!(names, ["fill", "reads+syncs"]);
        assert_eq!(phases[0]["write_bytes"], 1 << 20);
        assert_eq!(phases[1]["ops"], 64 + 50);
        let figures = phases[1]["figures"].as_object().unwrap();
        for figure in ["own_reads_read_iops", "own_syncs_write_p99_us", "own_syncs_sync_p99_us"] {
            assert!(figures[figure].as_f64().unwrap() > 0.0, "{figure}: {figures:?}");
        }
    }
    assert!(ran.stdout.contains("job fill: write IOPS"), "{}", ran.stdout);
    let left = std::fs::read_dir(sandbox.directory.path()).unwrap().flatten();
    assert!(!left.map(|it| it.file_name()).any(|name| name == "fio"), "it is left behind");
    Ok(())
}

pub(crate) fn what_a_job_may_not_do_is_refused_with_its_line_before_anything_is_made() {
    let sandbox = Sandbox::new();
    for (line, why) in [
        ("filename=/dev/sda", "names a device"),
        ("filename=../../x", "outside"),
        ("exec_prerun=reboot", "runs a program"),
        ("ioengine=rbd", "does not work on files"),
    ] {
        std::fs::write(sandbox.path("bad.fio"), format!("[a]\nsize=1m\n{line}\n")).unwrap();
        let ran = sandbox.run("run fio:job=bad.fio --dir .").ended_with(5);
        let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("bad.fio:3: {line}")) && said.contains(why), "{said}");
    }
    if needs_program("fio", "fio").is_ok() {
        std::fs::write(sandbox.path("bad.fio"), "[a]\nsize=1m\nrw=nosuch\n").unwrap();
        let ran = sandbox.run("run bad.fio --dir .").ended_with(5);
        assert!(ran.stderr.contains("bad.fio:3: fio: failed parsing"), "{}", ran.stderr);
    }
    let ran = sandbox.run("run fio --dir .").ended_with(2);
    assert!(ran.stderr.contains("fio:job=PATH"), "{}", ran.stderr);
    assert!(sandbox.run("list runs").stdout.starts_with("no runs"));
}
