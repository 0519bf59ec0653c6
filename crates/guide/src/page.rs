//! The guide as a page: the picture, then for each use the answers by machine and what stands behind
//! them.

use crate::{Cell, Guide, Machine, Use, features};

impl Guide {
    /// The page, which shows the picture beside it by this name.
    pub fn page(&self, picture: &str) -> String {
        let mut out = String::from(
            "# Which filesystem for which use\n\n\
             Measured in the lab beforehand; `fstrial guide` shows the same in a terminal, \
             `fstrial guide mail --on ssd` one answer with its figures. [How to read it, and how to \
             add a use](howto/guide.md).\n\n",
        );
        out += &format!("![Uses by machines, each with the fastest filesystem.]({picture})\n\n");
        out += "Machines:\n\n| machine | profile of the lab | disks |\n|---|---|---|\n";
        for machine in &self.machines {
            let disks = match machine.layout.as_str() {
                "" => machine.title.clone(),
                layout => {
                    let own = machine.layouts.iter().map(|(name, own)| format!(", {name}: {own}"));
                    format!("{} ({layout}{})", machine.title, own.collect::<String>())
                }
            };
            out += &format!("| {} | {} | {disks} |\n", machine.id, machine.profile);
        }
        for used in &self.uses {
            out += &self.section(used);
        }
        out += &self.missing();
        out
    }

    fn section(&self, used: &Use) -> String {
        let mut out = format!("\n## {}: {}\n\n", used.id, used.title);
        out += &format!("For {}.\n\n| machine | answer | why |\n|---|---|---|\n", used.question);
        for machine in &self.machines {
            let (answer, why) = match self.cell(used, machine) {
                None => ("not run yet".to_owned(), String::new()),
                Some(Cell { failed: Some(_), .. }) => {
                    ("no figures: see below".to_owned(), String::new())
                }
                Some(cell) => (cell.verdict.clone(), cell.why.clone().unwrap_or_default()),
            };
            let escaped = |text: &str| text::markdown(text);
            out += &format!("| {} | {} | {} |\n", machine.id, escaped(&answer), escaped(&why));
        }
        out += &format!("\n* Measured: {}.\n", used.size);
        let costs = used.contenders.iter().map(|it| it.cost()).filter(|cost| !cost.is_empty());
        let costs: Vec<String> =
            features::of(used).into_iter().chain(costs.map(str::to_owned)).collect();
        out += &format!("* What speed does not say: {}.\n", costs.join("; "));
        out += &format!("* What would change it: {}\n", used.changes);
        if let Some(machine) = self.machines.first() {
            let command = used.command(machine, &self.lab);
            out += &format!("* The same again, here on {}: `{command}`\n", machine.id);
        }
        out
    }

    /// Cells and contenders without figures, each with the reason.
    fn missing(&self) -> String {
        let mut said: Vec<String> = Vec::new();
        let mut add = |used: &Use, machine: &Machine, who: &str, why: &str| {
            said.push(format!("* {} on {}{who}: {}", used.id, machine.id, text::markdown(why)));
        };
        for used in &self.uses {
            for machine in &self.machines {
                match self.cell(used, machine) {
                    None => add(used, machine, "", "not run yet"),
                    Some(Cell { failed: Some(why), .. }) => add(used, machine, "", why),
                    Some(cell) => {
                        for (name, why) in cell.missing() {
                            add(used, machine, &format!(", {name}"), why);
                        }
                    }
                }
            }
        }
        match said.is_empty() {
            true => String::new(),
            false => format!("\n## What is missing\n\n{}\n", said.join("\n")),
        }
    }
}
