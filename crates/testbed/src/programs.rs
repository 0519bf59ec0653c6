//! Programs that workloads run: looked up before anything is made.

use std::path::PathBuf;

use stack::Refusal;
use trial::TrialSpec;

/// Refuses a trial with a workload whose program is in none of these directories.
pub(crate) fn missing_program(spec: &TrialSpec, tool_path: &[PathBuf]) -> Option<Refusal> {
    let needs = spec.workloads.iter().filter_map(|choice| {
        let description = workload::find(&choice.name)?.describe();
        Some(description.programs().map(|program| (description.name, program)))
    });
    let missing = needs
        .flatten()
        .find(|(_, program)| !tool_path.iter().any(|place| place.join(program.name).is_file()));
    missing.map(|(name, program)| {
        let rule = format!("it runs {}, which is not installed", program.name);
        Refusal::new(name, rule).with_next(format!("install Debian's package {}", program.package))
    })
}
