//! Runs one workload in a directory and prints each event as a line of JSON: for trying a
//! workload, tracing its system calls, or running it where fstrial's testbeds do not go.
//!
//! ```text
//! cargo run --release -p workload --bin run-workload -- \
//!     maildir-write DIRECTORY PACK seed=1 verify=on ops=1000 maildirs=200
//! ```
//!
//! PACK is a pack of mails or a corpus such as `synthetic:count=200` or `spamassassin`,
//! whose pack is kept in the directory for temporary files. The directory is used as it is
//! and left as it ends up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use units::DeviceNumber;
use workload::corpora::{CorpusChoice, CorpusError, MailCorpus};
use workload::{Cache, Context, Host, Inputs, Parameters, PhaseEvent, Seed, find};

/// A host that prints events and knows nothing about the target.
struct Printer;

impl Host for Printer {
    fn make_cold(&self) -> Cache {
        Cache::Warm { why: "this program cannot drop caches".to_owned() }
    }

    fn check_target(&self) -> Result<(), String> {
        Ok(())
    }

    fn devices(&self) -> Vec<DeviceNumber> {
        Vec::new()
    }

    fn emit(&self, event: PhaseEvent) {
        match serde_json::to_string(&event) {
            Ok(line) => println!("{line}"),
            Err(error) => eprintln!("an event cannot be shown: {error}"),
        }
    }
}

/// Directories of programs, for the originals.
fn programs() -> Vec<PathBuf> {
    std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect()
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [name, directory, pack, settings @ ..] = arguments else {
        return Err("arguments: WORKLOAD DIRECTORY PACK [seed=N] [verify=on] [NAME=VALUE]…".into());
    };
    let workload = find(name).ok_or_else(|| format!("no workload is called {name}"))?;
    let mut given = BTreeMap::new();
    for setting in settings {
        let (name, value) =
            setting.split_once('=').ok_or_else(|| format!("`{setting}` is not NAME=VALUE"))?;
        given.insert(name.to_owned(), value.to_owned());
    }
    let seed = match given.remove("seed") {
        None => 0,
        Some(seed) => seed.parse().map_err(|_| format!("seed={seed} is not a number"))?,
    };
    let verify = given.remove("verify").is_some_and(|value| value == "on");
    let parameters =
        Parameters::resolve(workload.describe(), &given, 1.0).map_err(|error| error.to_string())?;
    let pack = if Path::new(pack).exists() {
        pack.into()
    } else {
        let choice: CorpusChoice = pack.parse().map_err(|error: CorpusError| error.to_string())?;
        let cache = std::env::temp_dir().join("fstrial-run-workload");
        choice.ensure(&cache).map_err(|error| error.to_string())?
    };
    let mail = MailCorpus::open(&pack).map_err(|error| error.to_string())?;
    let inputs = Inputs { mail: Some(mail), programs: programs(), ..Inputs::default() };
    let mut context = Context::new(
        &Printer,
        workload.describe(),
        directory.into(),
        parameters,
        &inputs,
        Seed(seed),
        verify,
    );
    workload.run(&mut context).map_err(|failure| failure.to_string())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
