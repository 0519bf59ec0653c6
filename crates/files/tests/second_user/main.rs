//! Another user of the machine swaps, plants and renames while root works. Needs root, to
//! become that user; says `ignored` otherwise.

mod caches;
mod directories;
mod outputs;
mod scene;

use std::process::ExitCode;

use skippable::{Ending, needs_program, needs_root};

use crate::scene::Attempt;

fn main() -> ExitCode {
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
        ("an_inherited_acl_lets_nobody_write", || with_other_user(outputs::inherited_lists)),
        ("a_cache_of_another_user_is_not_believed", || attempt(caches::another_users_cache)),
        ("a_cache_that_another_user_swaps_is_ours_or_refused", || attempt(caches::swapped_cache)),
        ("a_cache_is_not_led_elsewhere_by_a_symlink", || attempt(caches::led_cache)),
        ("a_path_that_another_user_can_change_is_told", || attempt(caches::path_in_reach)),
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
