//! What may differ between two runs beside what they are compared for.

use serde::Serialize;

/// Something that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    #[serde(flatten)]
    pub what: What,
    /// How it was.
    pub before: String,
    /// How it is.
    pub after: String,
    /// What follows.
    pub effect: Effect,
}

/// What can differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// One of them has trials left.
    Unfinished,
    /// Where the trials ran: `lab`, `device`, `dir`.
    Testbed,
    /// How the lab's kernel reaches its simulated disks: ublk or nbd.
    FrontEnd,
    /// The lab's machine: processor, memory, disks.
    Profile,
    /// The processors of a real machine.
    Processors,
    /// The scale of the workloads.
    Scale,
    /// The size of a contender's devices.
    Size {
        /// The contender.
        contender: String,
    },
    /// The mails or the source tree.
    Input,
    /// What a workload did, although parameters and seed are the same.
    Work {
        /// The workload.
        workload: String,
        /// The phase.
        phase: String,
    },
    /// The user's own program, or what it brings along.
    Program,
    /// The kernel that served the contenders.
    Kernel,
    /// How a contender was mounted.
    MountOptions {
        /// The contender.
        contender: String,
        /// Whether the runs asked for different options. If not, it got them by itself.
        asked: bool,
    },
    /// A filesystem's features.
    Features {
        /// The contender.
        contender: String,
        /// As for mount options.
        asked: bool,
    },
    /// What is under a contender.
    Device {
        /// The contender.
        contender: String,
    },
    /// Versions of the tools that made a contender.
    Tools {
        /// The contender.
        contender: String,
    },
    /// The seed: trials are no pairs then.
    Seed,
    /// The version of fstrial.
    Version,
    /// The software of the lab.
    Lab,
    /// Another fact about where it ran.
    Fact {
        /// Its name in the store.
        name: String,
    },
}

/// What a difference does to a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The figures would be taken for what they are not: no comparison.
    Refuses,
    /// It may be what the comparison is about, or the cause of what it finds: always said.
    Marks,
    /// It changes no figure that is known of.
    Noted,
}

impl Difference {
    /// Whether it forbids a comparison.
    pub fn refuses(&self) -> bool {
        self.effect == Effect::Refuses
    }

    /// In a line: `front end: ublk → nbd`.
    pub fn words(&self) -> String {
        let by_itself = |asked: bool| if asked { "" } else { ", which nobody asked for" };
        let what = match &self.what {
            What::Unfinished => "trials done".to_owned(),
            What::Testbed => "testbed".to_owned(),
            What::FrontEnd => "front end of the lab's disks".to_owned(),
            What::Profile => "machine".to_owned(),
            What::Processors => "processors".to_owned(),
            What::Scale => "scale".to_owned(),
            What::Size { contender } => format!("device size of {contender}"),
            What::Input => "input".to_owned(),
            What::Work { workload, phase } => format!("what {workload} did in {phase}"),
            What::Program => "program".to_owned(),
            What::Kernel => "kernel".to_owned(),
            What::MountOptions { contender, asked } => {
                format!("mount options of {contender}{}", by_itself(*asked))
            }
            What::Features { contender, asked } => {
                format!("features of {contender}{}", by_itself(*asked))
            }
            What::Device { contender } => format!("device of {contender}"),
            What::Tools { contender } => format!("tools of {contender}"),
            What::Seed => "seed".to_owned(),
            What::Version => "fstrial".to_owned(),
            What::Lab => "lab".to_owned(),
            What::Fact { name } => name.replace('_', " "),
        };
        let said = |text: &String| if text.is_empty() { "none".to_owned() } else { text.clone() };
        format!("{what}: {} → {}", said(&self.before), said(&self.after))
    }

    /// Why it forbids a comparison, and what to do; `None` where it does not.
    pub fn reason(&self) -> Option<&'static str> {
        if !self.refuses() {
            return None;
        }
        Some(match &self.what {
            What::Unfinished => "go on with `fstrial run --resume RUN`",
            What::FrontEnd => {
                "nbd costs far more than ublk, and that would be taken for the filesystem's; \
                 `--set front_end=nbd` gives both nbd"
            }
            What::Size { .. } | What::Scale => "`fstrial run --like RUN` keeps the size",
            What::Testbed | What::Profile | What::Processors | What::Input => {
                "the figures of each speak for themselves alone"
            }
            _ => "it decides the figures",
        })
    }
}
