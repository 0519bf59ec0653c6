//! Whole trials on loop devices, in memory and in directories, each in a process and a mount
//! namespace of its own. Needs root; without it each test says that it was skipped.

mod after_failures;
mod cold;
mod disks;
mod failing;
mod inner;
mod outer;
mod pool;
mod several;
mod steps;
mod upkeep;
mod written;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(inner::FOLDER) {
        inner::act(Path::new(&folder));
        return ExitCode::SUCCESS;
    }
    skippable::run(skippable::tests![
        steps::a_trial_on_a_loop_file_takes_every_step,
        steps::what_was_made_is_reported_as_it_is,
        steps::memory_has_no_disks_no_check_and_no_cold_cache,
        steps::a_directory_is_used_as_it_is,
        cold::a_cold_cache_is_read_from_the_device,
        several::two_disks_of_one_filesystem_are_counted_and_forgotten,
        several::a_block_device_is_trimmed_as_well,
        several::a_disk_gets_the_scheduler_that_is_asked_for,
        upkeep::everything_is_done_to_the_filesystem,
        upkeep::a_guard_with_a_switch_cuts_the_power_around_the_unmount,
        upkeep::a_repair_that_repairs_nothing_is_a_failure,
        pool::a_pool_is_served_detached_and_removed,
        pool::a_service_that_ends_at_once_is_a_failure,
        failing::a_command_that_the_guard_refuses_is_not_run,
        failing::an_input_that_is_missing_ends_the_trial_before_anything_is_done,
        failing::a_busy_filesystem_is_not_taken_for_unmounted,
        failing::a_covered_target_is_lost,
        failing::a_panic_leaves_nothing_mounted,
        failing::what_follows_a_workload_that_failed_is_not_compared,
        failing::an_unknown_mount_option_is_explained,
        failing::an_unknown_kernel_type_is_explained,
        failing::damage_found_by_the_check_is_a_failure,
        after_failures::what_a_failed_workload_left_is_checked,
        after_failures::what_was_mounted_over_it_is_not_worked_on,
        after_failures::everything_is_taken_apart_that_can_be,
        after_failures::the_first_failure_is_the_one_that_is_told,
        after_failures::the_only_superblock_is_not_destroyed,
        written::everything_is_written_out_before_room_is_counted,
        written::what_was_not_synced_is_lost_with_the_power,
    ])
}
