//! Makes the guide: runs what `guide/` asks for, keeps what was found below `guide/results`, writes
//! the file that the program carries and the page.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use guide::{Cell, Guide, Machine, Use};

const FOLDER: &str = "guide";
const RESULTS: &str = "guide/results";
/// Stores and reports of the runs, which are not kept with the sources.
const SCRATCH: &str = "target/guide";

/// Exit codes of a run with results, and of one that was refused.
const COMPLETE: [i32; 2] = [0, 1];
const REFUSED: i32 = 3;

/// What the command line asks for.
struct Asked {
    program: PathBuf,
    uses: Vec<String>,
    machines: Vec<String>,
    /// Nothing is run; what the stores of earlier runs have is read again.
    reread: bool,
}

impl Asked {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Asked> {
        let (mut program, mut uses, mut machines) = (None, Vec::new(), Vec::new());
        let mut reread = false;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--program" => {
                    program = Some(words.next().context("--program names a file")?.into())
                }
                "--on" => machines.push(words.next().context("--on names a machine")?),
                "--reread" => reread = true,
                option if option.starts_with('-') => bail!("there is no option {option}"),
                _ => uses.push(word),
            }
        }
        Ok(Asked {
            program: program.context("--program names the fstrial to run")?,
            uses,
            machines,
            reread,
        })
    }

    /// The uses and machines that it names, in its order, or all.
    fn of<'g>(&self, guide: &'g Guide) -> Result<(Vec<&'g Use>, Vec<&'g Machine>)> {
        let named = |id: &String| {
            let found = guide.uses.iter().find(|used| used.id == *id);
            found.with_context(|| format!("there is no guide/uses/{id}.toml"))
        };
        let uses = self.uses.iter().map(named).collect::<Result<Vec<_>>>()?;
        let named = |id: &String| {
            let found = guide.machines.iter().find(|machine| machine.id == *id);
            found.with_context(|| format!("guide/machines.toml has no machine {id}"))
        };
        let machines = self.machines.iter().map(named).collect::<Result<Vec<_>>>()?;
        Ok((
            if uses.is_empty() { guide.uses.iter().collect() } else { uses },
            if machines.is_empty() { guide.machines.iter().collect() } else { machines },
        ))
    }
}

/// Runs what has no result of the same command yet.
pub(crate) fn make(words: impl Iterator<Item = String>) -> Result<()> {
    let asked = Asked::read(words)?;
    let guide = read()?;
    let (uses, machines) = asked.of(&guide)?;
    std::fs::create_dir_all(RESULTS)?;
    std::fs::create_dir_all(SCRATCH)?;
    for used in uses {
        for machine in &machines {
            let known = guide.cell(used, machine).filter(|cell| cell.failed.is_none());
            let is_known = known.is_some_and(|it| it.command == used.command(machine, &guide.lab));
            // Only a cell of today's command has a store that answers it.
            if is_known != asked.reread {
                continue;
            }
            let scratch = Scratch::of(used, machine);
            let cell = match asked.reread {
                true => scratch.reread(&asked.program, &guide, used, machine)?,
                false => scratch.run(&asked.program, &guide, used, machine)?,
            };
            eprintln!("{} on {}: {}", used.id, machine.id, said(&cell));
            let path = Path::new(RESULTS).join(Cell::file_name(used, machine));
            std::fs::write(&path, serde_json::to_string_pretty(&cell)? + "\n")?;
        }
    }
    Ok(())
}

fn said(cell: &Cell) -> &str {
    cell.failed.as_deref().unwrap_or(&cell.verdict)
}

/// Where one cell's run leaves its store and its report.
struct Scratch {
    name: String,
    store: String,
    report: String,
}

impl Scratch {
    fn of(used: &Use, machine: &Machine) -> Scratch {
        let name = format!("{}.{}", used.id, machine.id);
        let (store, report) = (format!("{SCRATCH}/{name}.db"), format!("{SCRATCH}/{name}.json"));
        Scratch { name, store, report }
    }

    /// Runs the cell's command, with a store of its own.
    fn run(&self, program: &Path, guide: &Guide, used: &Use, machine: &Machine) -> Result<Cell> {
        for old in [&self.store, &self.report] {
            match std::fs::remove_file(old) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        let mut words = used.arguments_on(machine, &guide.lab);
        words.push("--quiet".to_owned());
        let (code, said) = self.started(program, &words)?;
        match code {
            Some(code) if COMPLETE.contains(&code) => self.kept(guide, used, machine),
            Some(REFUSED) => {
                let last = said.lines().last().unwrap_or_default();
                Ok(Cell::that_failed(used, machine, &guide.lab, last))
            }
            code => bail!("{}: exit code {code:?}: {said}", self.name),
        }
    }

    /// Keeps what the store of the earlier run has.
    fn reread(&self, program: &Path, guide: &Guide, used: &Use, machine: &Machine) -> Result<Cell> {
        let words = ["report", "latest"].map(str::to_owned);
        let (code, said) = self.started(program, &words)?;
        ensure!(code == Some(0), "{}: exit code {code:?}: {said}", self.name);
        self.kept(guide, used, machine)
    }

    /// Exit code and standard error of fstrial, which writes its report to the file.
    fn started(&self, program: &Path, words: &[String]) -> Result<(Option<i32>, String)> {
        let done = Command::new(program)
            .args(words)
            .args(["--store", &self.store, "--json", &self.report])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        Ok((done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned()))
    }

    fn kept(&self, guide: &Guide, used: &Use, machine: &Machine) -> Result<Cell> {
        let document = serde_json::from_str(&std::fs::read_to_string(&self.report)?)?;
        let cell = Cell::of_report(used, machine, &guide.lab, &document);
        cell.map_err(|error| anyhow::anyhow!("{}: {error}", self.name))
    }
}

fn read() -> Result<Guide> {
    Guide::of_folder(Path::new(FOLDER)).map_err(anyhow::Error::msg)
}

/// The largest file of figures that the program carries.
const CARRIED_MAX: usize = 300 * 1024;

/// What is generated from `guide/`: the program's file, the page and its picture.
pub(crate) fn pages() -> Result<Vec<(String, String)>> {
    let guide = read()?;
    let carried = guide.carried();
    ensure!(carried.len() <= CARRIED_MAX, "guide/guide.json has more than {CARRIED_MAX} bytes");
    Ok(vec![
        ("guide/guide.json".to_owned(), carried),
        ("docs/guide.md".to_owned(), guide.page("guide.svg")),
        ("docs/guide.svg".to_owned(), guide.picture()),
    ])
}
