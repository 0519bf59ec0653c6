//! Files of other benchmarks as workloads, by their path.

use skippable::Ending;

use crate::sandbox::Sandbox;

const MODEL: &str = "set $count=20\n\
    define fileset name=spool,path=/tmp,size=2k,entries=$count,dirwidth=20,prealloc=100\n\
    define process name=p { thread name=t,instances=2 {\n\
    flowop openfile name=a,filesetname=spool,fd=1\n\
    flowop readwholefile name=b,fd=1,iosize=1m\n\
    flowop closefile name=c,fd=1\n} }\nrun 60\n";

pub(crate) fn a_file_is_known_by_its_contents_and_its_counts_are_those_of_its_text() -> Ending {
    let sandbox = Sandbox::new();
    let profile = "time=1\n[filesystem]\nlocation=/x\nnum_files=12\nnum_dirs=3\nmin_filesize=4k\n\
                   max_filesize=4k\n[end]\n[threadgroup]\nnum_threads=2\nread_weight=1\n[end]\n";
    let configuration = "set number 60\nset transactions 40\nset seed 7\nrun\nquit\n";
    for (file, text, suffix, phase, ops) in [
        ("mail.model", MODEL, ":loops=5:set=count=7", "create", 7),
        ("busy.profile", profile, ":ops=20", "create", 12),
        ("mail.cfg", configuration, "", "create", 60),
    ] {
        std::fs::write(sandbox.path(file), text).unwrap();
        let words = format!("run ./{file}{suffix} --dir . --repeats 1 --quiet --verify --json j");
        sandbox.run(&words).ended_with(0);
        let json = std::fs::read_to_string(sandbox.path("j")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let phases = json["trials"][0]["phases"].as_array().unwrap();
        let found = phases.iter().find(|it| it["phase"] == phase).unwrap();
        assert_eq!(found["ops"], ops, "{file}: {found}");
        let run = phases.iter().find(|it| it["phase"] == "run");
        if file == "mail.model" {
            assert_eq!(run.unwrap()["ops"], 2 * 5 * 3, "{run:?}");
        }
    }
    Ok(())
}

pub(crate) fn what_is_not_known_is_refused_with_its_line_before_anything_is_made() {
    let sandbox = Sandbox::new();
    for (text, line, why) in [
        (MODEL.replace("closefile", "clozefile"), 6, "did you mean `closefile`?"),
        ("set number 5\nset speed 6\n".to_owned(), 2, "PostMark sets no `speed`"),
        ("[threadgroup]\nstat_weight=1\n[end]\n".to_owned(), 2, "ops of this kind"),
    ] {
        std::fs::write(sandbox.path("brought"), text).unwrap();
        let ran = sandbox.run("run brought --dir . --repeats 1").ended_with(5);
        let said = &ran.stderr;
        assert!(said.contains(&format!("brought:{line}: ")) && said.contains(why), "{said}");
    }
    std::fs::write(sandbox.path("brought"), MODEL).unwrap();
    let other = sandbox.run("run custom:file=brought --dir .").ended_with(5);
    assert!(other.stderr.contains("a model of Filebench"), "{}", other.stderr);
    std::fs::write(sandbox.path("brought"), "hello\n").unwrap();
    let unknown = sandbox.run("run brought --dir .").ended_with(5);
    assert!(unknown.stderr.contains("none of these"), "{}", unknown.stderr);
    // Files of our own too are named where they are wrong.
    std::fs::write(sandbox.path("own.toml"), "x\n").unwrap();
    for parameter in ["custom:file", "program:file", "ffsb:profile"] {
        let wrong = sandbox.run(&format!("run {parameter}=own.toml --dir .")).ended_with(5);
        let said = &wrong.stderr;
        assert!(said.contains("own.toml: ") && said.contains("line 1, column 2"), "{said}");
    }
    std::fs::write(sandbox.path("own.toml"), "\n").unwrap();
    let empty = sandbox.run("run program:file=own.toml --dir .").ended_with(5);
    assert!(empty.stderr.contains("own.toml: it is empty"), "{}", empty.stderr);
    sandbox.run("run missing.f --dir .").ended_with(2);
}
