use report::Options;

use crate::synthetic::{Synthetic, phase, planted};
use crate::{odd_runs, rendered};

fn page(run: &store::StoredRun) -> String {
    rendered("html", run, Options::default())
}

/// Walks the tags as an XML reader would: every element is closed in order, attributes are
/// quoted and not given twice, and text holds no bare `<` or `&`.
fn check_well_formed(text: &str) -> Result<Vec<String>, String> {
    let mut open: Vec<String> = Vec::new();
    let mut elements = Vec::new();
    let mut rest = text.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    while let Some(at) = rest.find('<') {
        check_entities(&rest[..at])?;
        rest = &rest[at + 1..];
        let mut quoted = false;
        let end = rest
            .find(|c| {
                quoted ^= c == '"';
                c == '>' && !quoted
            })
            .ok_or("an open tag")?;
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            continue;
        }
        let name: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        if name.is_empty() {
            return Err(format!("<{tag}> is no element"));
        }
        check_attributes(tag[name.len()..].trim_end_matches('/'))?;
        elements.push(name.clone());
        if name == "style" {
            rest = &rest[rest.find("</style>").ok_or("an open style")?..];
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    check_entities(rest)?;
    if open.is_empty() { Ok(elements) } else { Err(format!("still open: {open:?}")) }
}

fn check_attributes(mut rest: &str) -> Result<(), String> {
    let mut seen = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(());
        }
        let (name, value) = rest.split_once("=\"").ok_or_else(|| format!("attribute {rest}"))?;
        if seen.contains(&name) || !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
            return Err(format!("attribute {name}"));
        }
        seen.push(name);
        let (value, after) = value.split_once('"').ok_or("an open attribute")?;
        if value.contains('<') {
            return Err(format!("< in attribute {name}"));
        }
        check_entities(value)?;
        rest = after;
    }
}

fn check_entities(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        let known = ["lt;", "gt;", "amp;", "quot;", "#39;", "#x27;", "#x2f;"];
        if !known.iter().any(|entity| part.starts_with(entity)) {
            let shown: String = part.chars().take(20).collect();
            return Err(format!("bare & before {shown}"));
        }
    }
    Ok(())
}

#[test]
fn every_page_is_well_formed_and_needs_nothing_else() {
    let mut runs = odd_runs();
    runs.push(("quickstart", Synthetic::quickstart().run()));
    for (what, run) in runs {
        let text = page(&run);
        let elements = check_well_formed(&text).unwrap_or_else(|why| panic!("{what}: {why}"));
        for foreign in ["script", "link", "img", "iframe", "object", "form"] {
            assert!(!elements.iter().any(|name| name == foreign), "{what}: <{foreign}>");
        }
        for outside in ["http:", "https:", "url(", "@import", "src="] {
            assert!(!text.contains(outside), "{what}: {outside}");
        }
        assert!(!text.contains("NaN"), "{what}");
    }
}

#[test]
fn names_are_text() {
    let run = odd_runs().into_iter().find(|(what, _)| *what == "hostile names").unwrap().1;
    let text = page(&run);
    assert!(!text.contains("<script"));
    assert!(text.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn ten_contenders_and_eight_phases_stay_far_below_two_megabytes() {
    let contenders = (0..10).map(|at| planted(&format!("fs{at}"), "ext4", 1.1, 0.03)).collect();
    let names = ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"];
    let phases = names
        .map(|name| phase("many", name, 1.4, &[("create", 800), ("read", 800), ("remove", 800)]))
        .to_vec();
    let run =
        Synthetic { contenders, phases, repeats: 4, latencies: 300, ..Synthetic::small() }.run();
    let text = page(&run);
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    for name in names {
        assert!(text.contains(&format!("<h3>{name}</h3>")), "{name}");
    }
}

#[test]
fn a_large_run_shows_the_trials_that_went_wrong_and_says_where_the_others_are() {
    let contenders = (0..20).map(|at| planted(&format!("fs{at}"), "ext4", 1.1, 0.03)).collect();
    let mut run = Synthetic { contenders, repeats: 20, latencies: 10, ..Synthetic::small() }.run();
    run.trials[7].outcome =
        Some(trial::Outcome::Failed { step: trial::Step::Mkfs, reason: "no room".to_owned() });
    let text = page(&run);
    check_well_formed(&text).unwrap();
    assert_eq!(text.matches("<details class=\"trial\">").count(), 1);
    assert!(text.contains("no room") && text.contains("--json FILE"));
}

#[test]
fn the_sections_stand_in_the_order_of_a_reader() {
    let text = page(&Synthetic::quickstart().run());
    let places: Vec<usize> =
        ["verdict", "asked", "w0", "w1", "contenders", "trials", "again", "method"]
            .map(|id| text.find(&format!("<section id=\"{id}\">")).unwrap())
            .to_vec();
    assert!(places.is_sorted());
    assert!(text.contains("prefers-color-scheme: dark"));
    // Every fragment that is linked exists once.
    let links = text.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next());
    let links: Vec<&str> = links.collect();
    assert!(links.contains(&"trials"), "{links:?}");
    for link in links {
        assert_eq!(text.matches(&format!(" id=\"{link}\"")).count(), 1, "#{link}");
    }
}

#[test]
fn charts_say_their_figures_to_those_who_do_not_see_them() {
    let text = page(&Synthetic::small().run());
    assert_eq!(text.matches("class=\"strip ").count(), 3);
    assert!(text.contains("aria-label=\"xfs: 1."));
    assert!(text.contains("<title>xfs, trial "), "each single trial can be pointed at");
    assert!(text.contains("<title>ext4 p99: "));
    assert!(text.contains("aria-label=\"Latency of deliver in io by percentile\""));
    assert!(text.contains("fstrial run maildir-write maildir-read --testbed device"));
}

/// 4,000 trials: 20 contenders, 10 workloads, 20 repeats.
#[test]
fn a_page_of_thousands_of_trials_stays_below_two_megabytes() {
    let contenders = (0..20).map(|at| {
        let name = format!("ext4-{at:02}");
        planted(&name, "ext4", 1.0 + f64::from(at) / 20.0, 0.02)
    });
    let names = [
        "maildir-write",
        "maildir-read",
        "tree",
        "bigfile",
        "randomio",
        "postmark",
        "bonnie",
        "mongo",
        "scale",
        "ffsb",
    ];
    let phases = names.into_iter().flat_map(|name| {
        [phase(name, "setup", 0.5, &[("mkdir", 30)]), phase(name, "io", 1.4, &[("read", 600)])]
    });
    let run = Synthetic {
        contenders: contenders.collect(),
        phases: phases.collect(),
        repeats: 20,
        latencies: 20,
        ..Synthetic::small()
    }
    .run();
    assert_eq!(run.trials.len(), 4000);
    let page = page(&run);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains(r#"<g class="singles"><circle"#), "each trial has its ring");
}

/// Names are broken before an option only, and sentences keep their colons.
#[test]
fn names_break_before_their_options() {
    let contenders = ["btrfs:copy_on_write=off", "xfs"].map(|it| planted(it, "xfs", 1.0, 0.02));
    let text = page(&Synthetic { contenders: contenders.to_vec(), ..Synthetic::small() }.run());
    let row = "<th class=\"name\" scope=\"row\">btrfs:<wbr/>copy_on_write=off</th>";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("on this machine: "), "{text}");
}

/// Ten ops have a curve, one has its figures alone: its curve would be an empty field.
#[test]
fn a_single_op_has_no_empty_chart() {
    let curves = |ops: u64| {
        let phases = vec![phase("maildir-write", "io", 1.4, &[("deliver", ops)])];
        let text = page(&Synthetic { phases, repeats: 2, ..Synthetic::small() }.run());
        assert!(text.contains("Latency of deliver"), "{text}");
        text.matches("<svg class=\"curves\"").count()
    };
    assert_eq!((curves(1), curves(10)), (0, 1));
}

/// Every bar of the answer has its interval, and every cell its head, for narrow windows.
#[test]
fn the_answer_has_intervals_and_heads() {
    let text = page(&Synthetic::small().run());
    let table = text.split_once("<table class=\"answer stacks\">").unwrap().1;
    let table = table.split_once("</table>").unwrap().0;
    assert_eq!(table.matches("<i title=\"interval\"").count(), 3, "{table}");
    let headless = table.split("<td").skip(1).filter(|cell| !cell.starts_with(" data-head="));
    assert!(headless.into_iter().all(|cell| cell.starts_with(" class=\"bar\"")), "{table}");
    assert!(text.contains("● mean and its interval, ○ single trials"), "{text}");
}

/// What the lab itself spends stands there as shares of the time, not as bare nanoseconds.
#[test]
fn no_bare_nanoseconds_are_shown() {
    let mut run = Synthetic::small().run();
    for result in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        for name in ["transport_cpu_ns", "transport_latency_ns", "requests_of_mine"] {
            result.figures.insert(name.to_owned(), 68_719.0);
        }
    }
    let text = page(&run);
    assert!(text.contains("requests of mine") && !text.contains("transport cpu"), "{text}");
    assert!(!text.contains("transport latency"), "{text}");
}
