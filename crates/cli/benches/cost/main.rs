//! `cargo bench -p cli --bench cost`: what fstrial itself costs as its work grows. Prints each
//! figure beside its limit and fails where one is above. A word leaves out all other figures:
//! `cargo bench -p cli --bench cost -- report`.

mod left;
mod spent;
mod stored;

use std::path::Path;
use std::process::{Command, ExitCode};

use spent::Spent;

/// Measures something, in an empty directory.
type Measure = fn(&mut Figures, &Path);

/// The figures by their words, in order.
const FIGURES: &[(&str, Measure)] = &[
    ("report", report),
    ("begin", begin),
    ("null", null),
    ("json", json),
    ("device", device),
    ("two", two_at_once),
    ("left", left::measure),
];

/// The word with which this program starts itself to write a store: what a process had once is
/// counted for those it starts too.
const WRITES: &str = "write-store";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path, contenders, workloads, repeats] = &words[..]
        && word == WRITES
    {
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let (contenders, workloads) = (number(contenders) as usize, number(workloads) as usize);
        stored::write(Path::new(path), contenders, workloads, number(repeats));
        return ExitCode::SUCCESS;
    }
    let asked: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let mut figures = Figures { within: true };
    for (word, measure) in FIGURES {
        if !asked.is_empty() && !asked.iter().any(|it| it == word) {
            continue;
        }
        let directory = match tempfile::tempdir() {
            Ok(directory) => directory,
            Err(error) => {
                eprintln!("a temporary directory: {error}");
                return ExitCode::FAILURE;
            }
        };
        measure(&mut figures, directory.path());
    }
    if figures.within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What was found against what is allowed.
struct Figures {
    within: bool,
}

impl Figures {
    fn show(&mut self, what: &str, found: f64, limit: f64, unit: &str) {
        let word = if found <= limit { "within" } else { "ABOVE" };
        self.within &= found <= limit;
        println!("{what:<58} {found:>9.3} of at most {limit:>8.3} {unit:<4} {word}");
    }

    fn left_out(&self, what: &str, why: &str) {
        println!("{what:<58} left out: {why}");
    }
}

const MIB: f64 = 1024.0 * 1024.0;

/// fstrial with a home of its own below `home`.
fn fstrial(home: &Path, words: &[&str]) -> Spent {
    Spent::of(command(home, words))
}

fn command(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fstrial"));
    command.args(words).current_dir(home).env("HOME", home).env("TERM", "dumb");
    for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
        command.env_remove(variable);
    }
    command
}

/// A store of so many contenders, workloads and repeats.
fn write(path: &Path, [contenders, workloads, repeats]: [u32; 3]) {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.arg(WRITES).arg(path);
    command.args([contenders, workloads, repeats].map(|number| number.to_string()));
    assert!(command.status().expect("itself").success(), "no store was written");
}

/// Reports of thousands of trials: time and memory, linear, and pages one can open.
fn report(figures: &mut Figures, home: &Path) {
    let mut seconds_of_4000 = 0.0;
    for (repeats, seconds, mib) in [(20, 4.0, 300.0), (50, 10.0, 750.0)] {
        let trials = 20 * 10 * repeats;
        let name = format!("{trials}.db");
        write(&home.join(&name), [20, 10, repeats]);
        let spent = fstrial(home, &["report", "latest", "--store", &name, "--html", "page.html"]);
        // Of the processor, since others may use it too.
        figures.show(&format!("report of {trials} trials"), spent.cpu, seconds, "s");
        figures.show(&format!("report of {trials} trials, memory"), spent.peak / MIB, mib, "MiB");
        if repeats == 20 {
            seconds_of_4000 = spent.cpu;
            let page = std::fs::metadata(home.join("page.html")).map_or(0, |it| it.len());
            figures.show("its HTML", page as f64 / 1e6, 2.0, "MB");
        } else {
            let growth = spent.cpu / seconds_of_4000;
            figures.show("time of 10,000 over time of 4,000", growth, 2.5 * 1.2, "");
        }
    }
}

/// A run of one trial on a store of 10,000, beside one on an empty store.
fn begin(figures: &mut Figures, home: &Path) {
    write(&home.join("full.db"), [20, 10, 50]);
    let run = |store: &str| {
        let words = ["run", "null", "--testbed", "dir", "--dir", ".", "--repeats", "1"];
        let all = [&words[..], &["--store", store]].concat();
        let mut taken: Vec<Spent> = (0..5).map(|_| fstrial(home, &all)).collect();
        taken.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
        taken.swap_remove(2)
    };
    let (empty, full) = (run("empty.db"), run("full.db"));
    let what = "a run of one trial on a store of 10,000";
    figures.show(&format!("{what}, more"), full.cpu - empty.cpu, 0.2, "s");
    figures.show(&format!("{what}, more memory"), (full.peak - empty.peak) / MIB, 50.0, "MiB");
}

/// Null trials on `dir`: what each costs of the processor in a long run and in a short one.
fn null(figures: &mut Figures, home: &Path) {
    let each = |repeats: u32| {
        let (count, store) = (repeats.to_string(), format!("{repeats}.db"));
        let words = ["run", "null", "--testbed", "dir", "--dir", ".", "-q", "--repeats", &count];
        let spent = fstrial(home, &[&words[..], &["--store", &store]].concat());
        1e3 * spent.cpu / f64::from(repeats)
    };
    let (short, long) = (each(100), each(10_000));
    println!("{:<58} {short:>9.3} ms", "processor time of a null trial in a run of 100");
    let what = "processor time of a null trial in a run of 10,000";
    figures.show(what, long, short * 1.1, "ms");
}

/// JSON grows with contenders, not with their pairs.
fn json(figures: &mut Figures, home: &Path) {
    let length = |contenders: u32| {
        let (store, file) = (format!("{contenders}.db"), format!("{contenders}.json"));
        write(&home.join(&store), [contenders, 2, 5]);
        fstrial(home, &["report", "latest", "--store", &store, "--json", &file]);
        std::fs::metadata(home.join(&file)).map_or(0, |it| it.len()) as f64 / 1e6
    };
    let (forty, eighty) = (length(40), length(80));
    // The numbers of trials have a digit more where there are twice as many: a thousandth of the
    // file, which a limit of 2 (until 2026-11-25) did not allow for.
    figures.show("JSON of 80 contenders, by that of 40", eighty, 2.005 * forty, "MB");
}

/// A trial of nothing on a loop device.
fn device(figures: &mut Figures, home: &Path) {
    let what = "a null trial on device with ext4";
    if !rustix::process::geteuid().is_root() {
        return figures.left_out(what, "loop devices take root");
    }
    let words = ["run", "null", "--testbed", "device", "--fs", "ext4", "--loop-dir", "loops"];
    if let Err(error) = std::fs::create_dir(home.join("loops")) {
        return figures.left_out(what, &error.to_string());
    }
    let run = |repeats: &str| {
        fstrial(home, &[&words[..], &["--repeats", repeats, "--store", "d.db", "-q"]].concat()).wall
    };
    // What a run takes once is in both.
    let (one, six) = (run("1"), run("6"));
    figures.show(what, (six - one) / 5.0, 1.0, "s");
}

/// Two runs at once, by the same two one after the other.
fn two_at_once(figures: &mut Figures, home: &Path) {
    let words = |store| {
        let run = ["run", "null", "--testbed", "dir", "--dir", ".", "-q", "--repeats", "300"];
        [&run[..], &["--store", store]].concat()
    };
    let began = std::time::Instant::now();
    fstrial(home, &words("a.db"));
    fstrial(home, &words("b.db"));
    let after = began.elapsed().as_secs_f64();
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        for store in ["c.db", "d.db"] {
            scope.spawn(move || fstrial(home, &words(store)));
        }
    });
    let together = began.elapsed().as_secs_f64();
    figures.show("two runs at once, by one after the other", together, 1.1 * after, "s");
}
