//! `fstrial guide`: which filesystem for which use, from figures that the program carries.

use guide::{Cell, Found, Guide, Here, Machine, NotFound, Use};
use serde::Serialize;

use crate::arguments::GuideArguments;
use crate::exit::{Ended, Exit, Failure};
use crate::output::print;

/// Prints the table, or one answer.
pub(crate) fn guide(arguments: &GuideArguments) -> Ended {
    let guide = Guide::shipped().map_err(Failure::from(Exit::Output))?;
    let no_name = |NotFound(words)| Failure::new(Exit::Usage, words);
    let uses = match &arguments.used {
        None => guide.uses.iter().collect(),
        Some(word) => match guide.find(word).map_err(no_name)? {
            Found::One(used) => vec![used],
            Found::Several(uses) => uses,
        },
    };
    let machine = arguments.on.as_deref().map(|word| guide.machine(word)).transpose();
    let machine = machine.map_err(no_name)?;
    match arguments.json {
        true => print(&json(&guide, &uses, machine)?)?,
        false => print(&screen(&guide, arguments, &uses, machine))?,
    }
    Ok(Exit::Done)
}

fn screen(
    guide: &Guide,
    arguments: &GuideArguments,
    uses: &[&Use],
    machine: Option<&Machine>,
) -> String {
    match (uses, machine) {
        ([used], Some(machine)) => guide.screen(used, machine, &here()),
        ([used], None) => guide.on_all_machines(used),
        (_, Some(machine)) => guide.on_machine(uses, machine),
        (_, None) if arguments.used.is_none() => guide.overview(None),
        (_, None) => guide.overview(Some(uses)),
    }
}

fn here() -> Here {
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    Here { kernel: Some(kernel) }
}

/// The cells that were asked for, with what they are about.
#[derive(Serialize)]
struct Document<'g> {
    uses: Vec<&'g Use>,
    machines: Vec<&'g Machine>,
    cells: Vec<&'g Cell>,
}

fn json(guide: &Guide, uses: &[&Use], machine: Option<&Machine>) -> Result<String, Failure> {
    let machines: Vec<&Machine> = match machine {
        Some(machine) => vec![machine],
        None => guide.machines.iter().collect(),
    };
    let pairs = uses.iter().flat_map(|used| machines.iter().map(move |machine| (used, machine)));
    let cells = pairs.filter_map(|(used, machine)| guide.cell(used, machine)).collect();
    let document = Document { uses: uses.to_vec(), machines, cells };
    let mut text = serde_json::to_string_pretty(&document).map_err(Failure::from(Exit::Output))?;
    text.push('\n');
    Ok(text::json(&text))
}
