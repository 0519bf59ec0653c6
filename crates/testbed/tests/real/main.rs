//! Whole trials by the testbeds `dir` and `device`: in directories and on loop devices, each in a
//! process of its own, which is this program started again. Those that need root say `ignored`
//! without.

mod devices;
mod directories;
mod guarded;
mod scene;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(testbed::CHILD_COMMAND) {
        return testbed::child_main();
    }
    skippable::run(skippable::tests![
        directories::a_trial_leaves_nothing_in_its_directory,
        directories::each_contender_has_its_own_directory,
        directories::what_cannot_run_in_a_directory_says_why,
        directories::a_trial_ends_when_its_time_is_up,
        directories::a_trial_that_is_stopped_has_no_end,
        directories::a_trial_that_is_killed_is_lost,
        directories::root_works_through_a_mount,
        directories::a_directory_is_held_for_the_whole_run,
        directories::what_is_no_directory_is_refused,
        devices::all_trials_of_a_run_have_the_same_loop_file,
        devices::a_journal_of_its_own_has_a_second_loop_file,
        devices::a_directory_for_loop_files_that_others_can_change_is_refused_first,
        devices::memory_needs_no_device,
        devices::a_device_with_contents_is_destroyed_only_where_that_is_said,
        devices::what_cannot_run_on_a_device_says_why,
        guarded::a_device_that_changed_since_it_was_claimed_is_left,
        guarded::a_device_that_became_another_during_a_trial_is_told,
        guarded::a_disks_queue_is_as_before,
        guarded::devices_too_many_and_too_small_are_refused,
        guarded::a_trials_mounts_are_its_own,
        guarded::a_filesystem_that_counts_no_inodes_has_enough,
        guarded::without_a_mount_root_works_only_where_nobody_else_can_change_names,
    ])
}
