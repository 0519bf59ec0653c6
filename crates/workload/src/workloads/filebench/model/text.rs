//! From a model's text to its sets and threads.

use std::collections::BTreeMap;

use super::attributes::{Attributes, Value};
use super::definitions::{file_set, flowop};
use super::kinds::Does;
use super::lexer::{Kind, Token, tokens};
use super::variables::{cvar, given as given_value, randvar};
use super::{Model, Problem, Quit, Thread};

/// Reads a text; flowops still name their sets and targets.
pub(super) fn read(text: &str, given: &BTreeMap<String, String>) -> Result<Named, Problem> {
    let mut reader = Reader {
        tokens: tokens(text)?,
        at: 0,
        given,
        used: Vec::new(),
        variables: BTreeMap::new(),
        model: Model {
            sets: Vec::new(),
            threads: Vec::new(),
            rate: None,
            seconds: None,
            quit: Quit::Timeout,
        },
        set_names: Vec::new(),
        has_run: false,
    };
    while reader.at < reader.tokens.len() {
        if reader.command()? {
            break;
        }
    }
    if let Some(unused) = given.keys().find(|name| !reader.used.contains(name)) {
        let meant = text::meant(unused, reader.variables.keys().map(String::as_str));
        let meant = meant.unwrap_or_else(|| "it sets none".to_owned());
        return Err(Problem::at(1, format!("the model sets no variable ${unused}; {meant}")));
    }
    Ok(Named { model: reader.model, set_names: reader.set_names })
}

/// A model whose flowops still name their sets.
pub(super) struct Named {
    pub(super) model: Model,
    /// For each thread and flowop, the set's name.
    pub(super) set_names: Vec<Vec<Option<String>>>,
}

pub(super) struct Reader<'a> {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    given: &'a BTreeMap<String, String>,
    /// Those of `given` that the text sets.
    used: Vec<&'a String>,
    pub(super) variables: BTreeMap<String, Value>,
    model: Model,
    set_names: Vec<Vec<Option<String>>>,
    has_run: bool,
}

impl Reader<'_> {
    /// Reads one command; whether it is the last.
    fn command(&mut self) -> Result<bool, Problem> {
        let line = self.line();
        let command = self.word("a command")?;
        let wrong = |what: &str| Err(Problem::at(line, format!("{command}: {what}")));
        match command.as_str() {
            "set" => self.set(line)?,
            "define" => self.define(line)?,
            "eventgen" => {
                let mut of = self.attributes()?;
                let rate = of.number("rate")?;
                of.end("eventgen")?;
                self.model.rate = rate.filter(|rate| *rate > 0);
            }
            "run" | "psrun" => {
                if self.has_run {
                    return wrong("Filebench ends after the first run; leave only one");
                }
                self.has_run = true;
                self.model.seconds = self.run(&command)?;
            }
            "echo" | "usage" | "version" | "list" | "create" | "debug" | "sleep" | "log"
            | "stats" => self.skip_arguments(line)?,
            "enable" => match self.word("what is enabled")?.as_str() {
                "lathist" => {}
                other => return wrong(&format!("{other}: one machine is measured; leave it out")),
            },
            "quit" | "shutdown" => return Ok(true),
            "system" => return wrong("it runs a program, which a model may not do here"),
            "load" => return wrong("it reads another file; put what stands there in its place"),
            "domultisync" => return wrong("one machine is measured; leave it out"),
            _ => {
                let known = ["set", "define", "eventgen", "run", "psrun", "echo", "create", "quit"];
                let meant = text::meant(&command, known).unwrap_or_default();
                return Err(Problem::at(line, format!("`{command}` is no command; {meant}")));
            }
        }
        Ok(false)
    }

    /// The seconds of `run`, and of `psrun` behind the interval of its reports.
    fn run(&mut self, command: &str) -> Result<Option<u64>, Problem> {
        let is_interval = |kind: &Kind| matches!(kind, Kind::Word(word) if word.starts_with('-'));
        let has_interval = self.peek().is_some_and(|it| is_interval(&it.kind))
            || matches!(self.tokens.get(self.at + 1), Some(Token { kind: Kind::Number(_), .. }));
        if command == "psrun" && has_interval {
            self.at += 1;
        }
        match self.peek().map(|it| it.kind.clone()) {
            Some(Kind::Number(_) | Kind::Variable(_)) => {
                let line = self.line();
                match self.value()? {
                    Value::Law(law) => match law.fixed() {
                        Some(0) => Ok(None),
                        seconds => Ok(seconds),
                    },
                    _ => Err(Problem::at(line, "run needs a number of seconds")),
                }
            }
            _ => Ok(None),
        }
    }

    /// `set $name=value` and `set mode …`.
    fn set(&mut self, line: usize) -> Result<(), Problem> {
        let Some(Token { kind: Kind::Variable(name), .. }) = self.peek().cloned() else {
            return self.mode(line);
        };
        self.at += 1;
        if let Some(Token { kind: Kind::Word(part), .. }) = self.peek().cloned() {
            let what = format!(
                "set ${name}{part}: parts of a random variable are set where it is \
                                made, randvar(…)"
            );
            return Err(Problem::at(line, what));
        }
        self.sign('=')?;
        let value = match self.peek().map(|it| it.kind.clone()) {
            Some(Kind::Word(word)) if word == "randvar" || word == "cvar" => {
                self.at += 1;
                self.sign('(')?;
                let of = self.attributes()?;
                self.sign(')')?;
                let law = if word == "cvar" { cvar(line, of)? } else { randvar(line, of)? };
                Value::Law(law)
            }
            _ => self.value()?,
        };
        let given = self.given.get_key_value(&name);
        let value = match given {
            Some((name, text)) => {
                self.used.push(name);
                given_value(text)
            }
            None => value,
        };
        self.variables.insert(name, value);
        Ok(())
    }

    fn mode(&mut self, line: usize) -> Result<(), Problem> {
        let words = [self.word("a variable or `mode`")?, self.word("a mode")?];
        match [words[0].as_str(), words[1].as_str()] {
            ["mode", "quit"] => {
                self.model.quit = match self.word("timeout, alldone or firstdone")?.as_str() {
                    "timeout" => Quit::Timeout,
                    "alldone" => Quit::AllDone,
                    "firstdone" => Quit::FirstDone,
                    other => {
                        let what = format!(
                            "set mode quit {other}: timeout, alldone and firstdone \
                                            are known"
                        );
                        return Err(Problem::at(line, what));
                    }
                };
                Ok(())
            }
            ["mode", "nousestats" | "noreset"] => Ok(()),
            [set, what] => Err(Problem::at(line, format!("set {set} {what} is not known"))),
        }
    }

    fn define(&mut self, line: usize) -> Result<(), Problem> {
        match self.word("what is defined")?.as_str() {
            kind @ ("fileset" | "filesets" | "file") => {
                let is_single = kind == "file";
                let of = self.attributes()?;
                let set = file_set(line, is_single, of)?;
                if self.model.sets.iter().any(|other| other.name == set.name) {
                    return Err(Problem::at(line, format!("two filesets are called {}", set.name)));
                }
                self.model.sets.push(set);
                Ok(())
            }
            "process" | "processes" => self.process(line),
            "randvar" => {
                let mut of = self.attributes()?;
                let name = of.text("name")?.ok_or_else(|| Problem::at(line, "no name is given"))?;
                let law = randvar(line, of)?;
                self.variables.insert(name.trim_start_matches('$').to_owned(), Value::Law(law));
                Ok(())
            }
            "flowop" => {
                let what = "define flowop: composite flowops are not known here; write their list \
                            where they are used";
                Err(Problem::at(line, what))
            }
            other => {
                let what = format!("define {other}: fileset, file, process and randvar are known");
                Err(Problem::at(line, what))
            }
        }
    }

    fn process(&mut self, line: usize) -> Result<(), Problem> {
        let mut of = self.attributes()?;
        let name = of.text("name")?.unwrap_or_default();
        let instances = of.number("instances")?.unwrap_or(1);
        if of.number("nice")?.is_some_and(|nice| nice != 0) {
            return Err(Problem::at(
                line,
                "nice: all threads have one priority here; leave it out",
            ));
        }
        of.end("define process")?;
        self.sign('{')?;
        while !self.is_sign('}') {
            let line = self.line();
            match self.word("`thread` or `}`")?.as_str() {
                "thread" => {}
                other => {
                    return Err(Problem::at(line, format!("a thread is expected, not {other}")));
                }
            }
            self.thread(line, &name, instances)?;
        }
        self.sign('}')
    }

    fn thread(&mut self, line: usize, process: &str, processes: u64) -> Result<(), Problem> {
        let mut of = self.attributes()?;
        let name = of.text("name")?.unwrap_or_else(|| process.to_owned());
        let instances = of.number("instances")?.unwrap_or(1);
        // Where its buffers lie is no matter of the filesystem.
        for ignored in ["memsize", "useism"] {
            of.take(ignored);
        }
        if of.take("ioprio").is_some() {
            let what = "ioprio: all threads have one priority here; leave it out";
            return Err(Problem::at(line, what));
        }
        of.end("thread")?;
        self.sign('{')?;
        let (mut list, mut names) = (Vec::new(), Vec::new());
        while !self.is_sign('}') {
            let line = self.line();
            match self.word("`flowop` or `}`")?.as_str() {
                "flowop" => {}
                other => {
                    return Err(Problem::at(line, format!("a flowop is expected, not {other}")));
                }
            }
            let does = Does::of(&self.word("a flowop")?).map_err(|it| Problem::at(line, it))?;
            let of = if self.is_word() && !self.is_word_of(&["flowop"]) {
                self.attributes()?
            } else {
                Attributes::default()
            };
            let (flowop, set) = flowop(line, does, of)?;
            list.push(flowop);
            names.push(set);
        }
        self.sign('}')?;
        if list.is_empty() {
            return Err(Problem::at(line, format!("thread {name} does nothing")));
        }
        let instances = instances.saturating_mul(processes);
        self.model.threads.push(Thread { line, name, instances, list });
        self.set_names.push(names);
        Ok(())
    }
}
