//! Programs that workloads run: found before anything is made.

use std::path::PathBuf;

use stack::Refusal;
use trial::TrialSpec;
use workload::InputKind;

/// Refuses a trial with a workload whose program is in none of these directories.
pub(crate) fn missing_program(spec: &TrialSpec, tool_path: &[PathBuf]) -> Option<Refusal> {
    let needs = spec.workloads.iter().filter_map(|choice| {
        let description = workload::find(&choice.name)?.describe();
        Some(description.inputs.iter().map(|input| (description.name, input)))
    });
    needs.flatten().find_map(|(name, input)| match input {
        InputKind::Program(program)
            if !tool_path.iter().any(|place| place.join(program.name).is_file()) =>
        {
            let rule = format!("it runs {}, which is not installed", program.name);
            let next = format!("install Debian's package {}", program.package);
            Some(Refusal::new(name, rule).with_next(next))
        }
        _ => None,
    })
}
