//! What the tools report about what was made, as it is recorded.

use stack::Command;

use super::Programs;

/// Versions that the filesystem's tools report: program and first line.
pub(crate) fn tool_versions(
    programs: &Programs,
    filesystem: &dyn stack::Filesystem,
) -> Vec<(String, String)> {
    let wanted = filesystem.describe().programs.iter().take(1);
    wanted
        .filter_map(|program| {
            let command = Command::new(program, ["-V"]).succeeding_with(&[0, 1]);
            let output = programs.run(&command).ok()?;
            let first = output.lines().find(|line| !line.trim().is_empty())?.trim();
            Some(((*program).to_owned(), first.to_owned()))
        })
        .collect()
}

/// The lines of a listing that give the state: `State : clean, degraded, recovering`.
pub(super) fn states(said: &str) -> String {
    let lines = said.lines().map(str::trim);
    let telling: Vec<String> = lines
        .filter(|line| line.starts_with("State :") || line.contains("Status :"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    if telling.is_empty() { said.trim().to_owned() } else { telling.join("; ") }
}
