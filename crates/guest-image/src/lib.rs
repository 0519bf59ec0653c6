//! The program that runs in the lab's guest, as bytes.
//!
//! The build script builds it with a profile of its own and from nothing but the crates it is
//! made of, so that the same commit gives the same bytes in any directory, for any user,
//! whatever the profile of the program around it: a lab's id depends on these bytes.

/// The guest's program: an ELF executable, static, stripped.
pub static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fstrial-guest"));

#[cfg(test)]
mod tests {
    use super::PROGRAM;

    #[test]
    fn it_is_an_executable_that_names_no_directory_of_this_machine() {
        assert_eq!(&PROGRAM[..4], b"\x7fELF");
        let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let workspace = std::fs::canonicalize(workspace).unwrap();
        let mut foreign = vec![workspace.to_str().unwrap().to_owned()];
        foreign.extend(["HOME", "CARGO_HOME"].iter().filter_map(|name| std::env::var(name).ok()));
        // A home of `/` would be found in every path.
        for directory in foreign.iter().filter(|directory| directory.len() > 2) {
            let directory = format!("{directory}/");
            let found = PROGRAM.windows(directory.len()).position(|at| at == directory.as_bytes());
            assert_eq!(found, None, "{directory}");
        }
    }
}
