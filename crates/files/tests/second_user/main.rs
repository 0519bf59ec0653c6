//! Another user of the machine swaps, plants and renames while root works. Needs root, to
//! become that user; says `ignored` otherwise.

mod caches;
mod directories;
mod outputs;
mod scene;
mod served;

use std::path::Path;
use std::process::ExitCode;

use skippable::{Ending, needs_program, needs_root};

use crate::scene::Attempt;

fn main() -> ExitCode {
    if let Some(directory) = std::env::var_os(caches::AS_OTHER_USER) {
        return caches::is_private(Path::new(&directory));
    }
    skippable::run(&[
        ("a_directory_that_is_swapped_stays_the_one_that_was_made", || {
            attempt(directories::swapped_directory)
        }),
        ("a_directory_exchanged_for_a_symlink_is_judged_as_it_is_held", || {
            attempt(directories::exchanged_directory)
        }),
        ("an_output_is_never_led_elsewhere", || attempt(outputs::planted_outputs)),
        ("symlinks_that_are_exchanged_lead_nowhere", || attempt(outputs::exchanged_symlinks)),
        ("symlinks_and_pipes_of_another_user_are_refused", || attempt(outputs::refused_outputs)),
        ("what_replaces_a_file_of_the_other_user_is_roots", || attempt(outputs::replaced_file)),
        ("an_inherited_acl_lets_nobody_write", || with_other_user(outputs::inherited_lists)),
        ("a_cache_of_another_user_is_not_believed", || attempt(caches::another_users_cache)),
        ("a_cache_that_another_user_swaps_is_ours_or_refused", || attempt(caches::swapped_cache)),
        ("a_cache_is_not_led_elsewhere_by_a_symlink", || attempt(caches::led_cache)),
        ("a_path_that_another_user_can_change_is_told", || attempt(caches::path_in_reach)),
        ("a_filesystem_that_the_other_user_serves_is_his", || with_other_user(served::by_him)),
        ("without_root_only_ones_own_directory_is_private", || attempt(caches::as_other_user)),
        ("an_acl_is_read_where_the_mode_is_its_mask", || with_other_user(caches::access_lists)),
    ])
}

fn attempt(test: fn() -> Attempt) -> Ending {
    with_other_user(|| {
        test().unwrap();
        Ok(())
    })
}

fn with_other_user(test: impl FnOnce() -> Ending) -> Ending {
    needs_root()?;
    needs_program("perl", "perl")?;
    test()
}
