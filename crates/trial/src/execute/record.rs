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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::process::Stdio;

    use super::*;

    /// Another process writes the script: while this one has a file open for writing, a process
    /// that another test starts may have it too, and then nobody can execute it.
    fn write_script(path: &Path, text: &str) {
        let mut install = std::process::Command::new("install")
            .args(["-m", "755", "/dev/stdin"])
            .arg(path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(install.wait().unwrap().success());
    }

    #[test]
    fn a_tools_version_is_the_first_line_that_it_prints() {
        let directory = tempfile::tempdir().unwrap();
        let programs = Programs::new(&[directory.path().to_owned()]);
        let ext2 = stack::filesystems::find("ext2").unwrap();
        assert!(tool_versions(&programs, ext2).is_empty(), "it is not installed");
        let script = "#!/bin/sh\necho\necho \"  mke2fs 1.2 $1 \"\necho more\nexit 1\n";
        write_script(&directory.path().join("mke2fs"), script);
        let expected = ("mke2fs".to_owned(), "mke2fs 1.2 -V".to_owned());
        assert_eq!(tool_versions(&programs, ext2), [expected]);
    }

    #[test]
    fn the_state_is_in_the_lines_that_say_so() {
        let detail = "/dev/md0:\n  Raid Level : raid5\n   State :  clean,   degraded \n\
                      Rebuild Status : 12% complete\n";
        assert_eq!(states(detail), "State : clean, degraded; Rebuild Status : 12% complete");
        assert_eq!(states("Raid Level : raid5\n State : clean\n"), "State : clean");
        assert_eq!(states(" mdadm is not installed\n"), "mdadm is not installed");
    }
}
