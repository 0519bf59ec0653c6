//! Ops that do nothing: what remains is the overhead of fstrial itself. Also the annotated
//! template for a new workload.

use crate::typed::CountParameter;
use crate::{
    Context, Description, Failure, Headline, InputFacts, Op, OpDescription, Parameters,
    PhaseDescription,
};
use crate::{Space, Workload};

pub(super) struct Null;

// A phase: its name in tables, what its clock covers, and its kinds of op. An `Op` is the
// place in `ops`.
static SPIN: PhaseDescription = PhaseDescription {
    name: "spin",
    summary: "counts ops without doing anything",
    clock: "the op loop alone: one clock read and one histogram entry an op",
    ops: &[OpDescription { name: "nothing", span: "no system call" }],
    disk_bound: false,
};
const NOTHING: Op = Op(0);

const OPS: CountParameter =
    CountParameter::new("ops", "How many ops to count.", 1, u64::MAX, "1000000").scaled();

static DESCRIPTION: Description = Description {
    name: "null",
    summary: "ops that do nothing: the overhead of fstrial itself",
    origin: "Our own. Compare with any phase's time per op to see the harness's share.",
    headline: Headline {
        question: "no work at all",
        phase: "spin",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &[OPS.row],
    phases: &[&SPIN],
};

impl Workload for Null {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, _: &Parameters, _: &InputFacts) -> Space {
        Space::default()
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let ops = context.parameters().get(&OPS);
        context.phase(&SPIN, ops, |recorder| {
            for op in 0..ops {
                recorder.digest(op);
                recorder.done(NOTHING);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
