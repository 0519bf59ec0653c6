//! A small correct study, and the mistakes that a study can contain.

use crate::{Cause, Cell, Measured, Source, Study, load};

const STUDY: &str = r#"
name = "tiny"
title = "Tiny"
author = "nobody"
date = "2004"
published = "nowhere"
question = "Which is faster?"
summary = "Two filesystems, one workload."
machine = "one disk"
scale = 0.1
scale_reason = "it is a test"
sizes = [0.1, 1]

[[part]]
id = "single"
title = "One disk"
profile = "scsi-2004"
contenders = ["ext2@2004", "old=ext3@2004"]
workloads = [{ id = "write", run = "maildir-write:fsync=file" }]
[[part.absent]]
contender = "reiser4"
reason = "no kernel has it"

[[assumption]]
id = "slow-cpu"
text = "two nanoseconds an instruction"
change = { instruction_ns = 2, disk = { write_cache = true } }
"#;

const PUBLISHED: &str = r#"
[[table]]
id = "t"
part = "single"
title = "Writing"
columns = ["fast", "old", "reiser4"]
[[table.row]]
id = "io"
label = "I/O"
unit = "s"
better = "lower"
values = [613, 946.5, "not published"]
measure = { workload = "write", phase = "unpack", metric = "wall" }
[[table.row]]
id = "creates"
label = "Creates"
unit = "/s"
better = "higher"
values = [">99999", 3874, "failed: no room"]
unmeasured = "another program"
"#;

const CLAIMS: &str = r#"
[[claim]]
id = "A1"
text = "Fast is fast."
test = ["io: fast better than old", "creates: fast at least 10 times old"]
because = { cause = "something else is the limit here", evidence = "nothing is read" }
revised = { date = "2026-11-24", reason = "the second row was added" }
[[claim]]
id = "A2"
text = "It scales."
untestable = "not measured there"
"#;

fn loaded(change: &[(&str, &str)]) -> Result<Study, Vec<String>> {
    let own = |text: &str| {
        let text = text.replace("\"ext2@2004\"", "\"fast=ext2@2004\"");
        change.iter().fold(text, |text, (from, to)| text.replace(from, to))
    };
    let files = [("study.toml", STUDY), ("published.toml", PUBLISHED), ("claims.toml", CLAIMS)];
    let source = Source {
        named: "tiny".to_owned(),
        prefix: String::new(),
        files: files.into_iter().map(|(name, text)| (name.to_owned(), own(text))).collect(),
    };
    load(&source).map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

#[test]
fn a_correct_study_is_read_completely() {
    let study = loaded(&[]).unwrap();
    assert_eq!(study.seeds, 4, "the default");
    assert_eq!(study.sizes, [0.1, 1.0]);
    let claim = &study.claims[0];
    assert_eq!(claim.because.as_ref().unwrap().cause, Cause::AnotherLimit);
    assert_eq!(claim.revised[0].date, "2026-11-24");
    let (_, row) = study.row("creates").unwrap();
    assert_eq!(row.values[0], Cell::Above(99999.0));
    assert!(matches!(row.measured, Measured::Nothing(_)));
    assert_eq!(study.assumptions[0].parts, ["single"]);
    assert_eq!(study.digest, loaded(&[("Tiny", "Tinier")]).unwrap().digest);
    let change = [("old=ext3@2004", "old=ext3@2004:dir_index=on"), ("_ns = 2", "_ns = 4")];
    let other = loaded(&change).unwrap();
    assert_ne!(study.digest, other.digest);
    assert_ne!(study.assumptions[0].digest, other.assumptions[0].digest);
}

#[test]
fn an_assumption_replaces_a_contender() {
    let told = "contenders = [\"old=ext3@2004:dir_index=on\"]\nchange = {";
    let study = loaded(&[("change = {", told)]).unwrap();
    let assumption = &study.assumptions[0];
    assert_eq!(assumption.contenders[0].contender.name, "old");
    assert_eq!(assumption.about(), "processor and drive and array");
    let wrong = loaded(&[("change = {", &told.replace("old=", "olds="))]).unwrap_err();
    assert!(wrong[0].contains("no part of this assumption has a contender `olds`"), "{wrong:?}");
    assert!(wrong[0].contains("did you mean `old`?"), "{wrong:?}");
    let changed = "change = { instruction_ns = 2, disk = { write_cache = true } }";
    let only = loaded(&[(changed, &told.replace("\nchange = {", ""))]).unwrap();
    assert_eq!(only.assumptions[0].about(), "array");
    let neither = loaded(&[(changed, "")]).unwrap_err();
    assert!(neither[0].contains("needs `change` or `contenders`"), "{neither:?}");
}

#[test]
fn a_machine_grows_with_the_size_of_the_work() {
    let larger = |from: &[f64]| {
        let of = |from: &f64| format!("{{ from = {from}, change = {{ ram = \"1G\" }} }}");
        let entries = from.iter().map(of).collect::<Vec<_>>().join(", ");
        format!("profile = \"scsi-2004\"\nat_size = [{entries}]")
    };
    let with = |text: &str| loaded(&[("profile = \"scsi-2004\"", text)]);
    let study = with(&larger(&[0.2, 0.5])).unwrap();
    let at = |size| study.changes_at(&study.parts[0], size);
    assert!(at(Some(0.1)).is_empty());
    let grown = [("ram".to_owned(), "1G".to_owned())].into();
    assert_eq!(at(Some(0.2)), grown);
    let mut scaled = study.clone();
    for hundredths in 1..=300 {
        scaled.parts[0].published_scale = f64::from(hundredths) / 100.0;
        assert_eq!(scaled.changes_at(&scaled.parts[0], Some(0.2)), grown, "{hundredths}");
    }
    for (wrong, said) in [
        (larger(&[0.5, 0.2]), "smallest `from`"),
        (larger(&[0.5]).replace("from = 0.5, ", ""), "needs `from` and `change`"),
        (larger(&[0.5]).replace("ram", "rom"), "unknown field `rom`"),
    ] {
        let problems = with(&wrong).unwrap_err();
        assert!(problems.len() == 1 && problems[0].contains(said), "{problems:?}");
    }
}

/// Each single change makes one problem, in this file and line, with these words.
#[test]
fn each_error_names_file_line_and_what_to_write() {
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("title =", "titel =", "study.toml:", &["no key `titel`", "did you mean `title`?"]),
        ("ext3@2004", "ext5@2004", "study.toml:18:", &["no filesystem `ext5`", "`ext"]),
        ("old=ext3", "fast=ext3", "study.toml:18:", &["another contender `fast`"]),
        ("maildir-write", "maildir-wirte", "study.toml:19:", &["did you mean `maildir-write`?"]),
        ("fsync=file", "fsnyc=file", "study.toml:19:", &["did you mean `fsync`?"]),
        ("fsync=file", "fsync=maybe", "study.toml:19:", &["fsync=maybe"]),
        ("scsi-2004", "scsi-2005", "study.toml:17:", &["did you mean `scsi-2004`?"]),
        ("instruction_ns = 2", "instruction_ns = 2000", "study.toml:27:", &["from 0.01 to 1024"]),
        ("write_cache = true", "cache = true", "study.toml:27:", &["unknown field `cache`"]),
        ("946.5, ", "", "published.toml:12:", &["2 entries for 3 columns"]),
        ("[\"fast\",", "[\"fats\",", "published.toml:6:", &["did you mean `fast`?"]),
        ("\"unpack\"", "\"unpakc\"", "published.toml:13:", &["did you mean `unpack`?"]),
        ("\"wall\"", "\"walls\"", "published.toml:13:", &["no metric `walls`", "`wall`"]),
        ("\"wall\"", "\"ops_rate\"", "published.toml:13:", &["cannot be shown", "wall"]),
        ("id = \"creates\"", "id = \"io\"", "published.toml:15:", &["another row `io`"]),
        ("fast better", "fats better", "claims.toml:5:", &["did you mean `fast`?"]),
        ("\"io: fast", "\"oi: fast", "claims.toml:5:", &["there is no row `oi`", "io"]),
        ("better than old", "faster than old", "claims.toml:5:", &["`faster` is not known"]),
        ("\"A2\"", "\"A1\"", "claims.toml:9:", &["another claim `A1`"]),
        (
            "else is the limit",
            "else is no limit",
            "claims.toml:6:",
            &["is not a cause", "else is the limit"],
        ),
        ("2026-11-24", "today", "claims.toml:7:", &["`today` is not a date", "2026-11-24"]),
        ("[0.1, 1]", "[1, 0.1]", "study.toml:12:", &["each larger"]),
        ("better = \"lower\"", "better = \"neither\"", "claims.toml:5:", &["cannot be ranked"]),
    ];
    for (from, to, place, said) in cases {
        let problems = loaded(&[(from, to)]).unwrap_err();
        let found = problems.iter().any(|problem| {
            problem.starts_with(place) && said.iter().all(|word| problem.contains(word))
        });
        assert!(found, "{from} → {to}: {problems:#?}");
    }
}

#[test]
fn a_picture_is_of_rows_and_claims_that_there_are() {
    let with =
        |names: &str| loaded(&[("question = ", &format!("picture = [{names}]\nquestion = "))]);
    assert_eq!(with("\"A1\", \"io\"").unwrap().picture, ["A1", "io"]);
    let problems = with("\"A1\", \"oi\"").unwrap_err();
    assert!(problems.len() == 1 && problems[0].contains("there is no `oi`"), "{problems:?}");
}

#[test]
fn all_problems_of_all_files_are_reported_at_once() {
    let problems = loaded(&[
        ("scsi-2004", "amiga"),
        ("question = ", "question = 7 #"),
        ("label = \"I/O\"", ""),
        ("untestable", "untstable"),
    ])
    .unwrap_err();
    let about = |file: &str| problems.iter().filter(|problem| problem.starts_with(file)).count();
    assert_eq!((about("study.toml"), about("published.toml"), about("claims.toml")), (2, 1, 2));
    // A mistake in a contender or a workload is not reported again where it is named.
    let once = loaded(&[("ext3@2004", "ext5@2004"), ("maildir-write", "maildir")]).unwrap_err();
    assert_eq!(once.len(), 2, "{once:#?}");
    let broken = loaded(&[("[[table.row]]", "[[table.row]"), ("[[claim]]", "[claim")]).unwrap_err();
    assert!(broken.iter().filter(|problem| problem.contains("not TOML")).count() >= 2);
}

/// Thousands of assumptions, each with a digest of its own: what each rests on is read once.
#[test]
fn a_study_of_many_assumptions_is_read() {
    let own = "[[assumption]]\nid = \"slow-cpu\"";
    let mut text = String::new();
    for nth in 0..5_000 {
        text += &format!(
            "[[assumption]]\nid = 'a{nth}'\ntext = 'it is'\nchange = {{ instruction_ns = 2 }}\n"
        );
    }
    let study = loaded(&[(own, &(text + own))]).unwrap();
    let digests: std::collections::HashSet<&str> =
        study.assumptions.iter().map(|it| it.digest.as_str()).collect();
    assert_eq!(digests.len(), 5_001);
    let small = loaded(&[]).unwrap();
    assert_eq!(small.digest, study.digest);
    assert_eq!(small.assumptions[0].digest, study.assumptions[5_000].digest);
}

#[test]
fn numbers_of_a_study_have_a_range() {
    for (from, to) in [
        ("scale = 0.1", "scale = 1e308"),
        ("scale = 0.1", "scale = nan"),
        ("scale = 0.1", "scale = -1"),
        ("scale = 0.1", "scale = 0.1\nseeds = 1e300"),
        ("scale = 0.1", "scale = 0.1\nseeds = 2.5"),
        ("scale = 0.1", "scale = 0.1\nseeds = 0"),
        ("sizes = [0.1, 1]", "sizes = [0.1, inf]"),
        ("sizes = [0.1, 1]", "sizes = [0.1, 1e308]"),
    ] {
        assert!(loaded(&[(from, to)]).is_err(), "{to}");
    }
}
