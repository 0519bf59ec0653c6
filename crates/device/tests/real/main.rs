//! The guard, loop files and the ledger on real loop devices. Needs root and the tools of
//! the filesystems; without root each test says that it was skipped.

mod changes;
mod emptiness;
mod fixtures;
mod in_use;
mod leftovers;
mod loop_files;
mod names;
mod proofs;
mod queues;
mod scratch;
mod signatures;
mod victim;

use std::process::ExitCode;

use skippable::Test;

fn main() -> ExitCode {
    if let Ok(part) = std::env::var(victim::VICTIM) {
        return victim::act(&part);
    }
    skippable::run(&[of_claims(), of_what_is_made()].concat())
}

fn of_claims() -> Vec<Test> {
    let tests: &[Test] = skippable::tests![
        changes::our_own_mkfs_is_noted_and_a_strangers_is_not,
        changes::a_single_byte_in_a_sampled_area_is_noticed,
        changes::another_size,
        changes::another_disk_under_the_same_number,
        changes::held_exclusively_after_the_claim,
        changes::put_to_use_after_the_claim,
        emptiness::copies_of_what_is_gone,
        emptiness::filesystems_whose_head_is_gone,
        emptiness::data_anywhere,
        emptiness::a_terabyte_of_holes_is_empty_without_reading,
        emptiness::the_map_is_that_of_the_very_file,
        emptiness::part_of_a_file,
        emptiness::without_a_map_it_is_read,
        in_use::mounted,
        in_use::mounted_in_another_namespace,
        in_use::active_swap,
        in_use::held_exclusively,
        in_use::open_for_writing_elsewhere,
        in_use::mounted_btrfs_of_two,
        in_use::under_a_loop_device,
        in_use::on_a_device_that_is_mounted,
        in_use::a_file_attached_twice,
        in_use::partitions_and_their_disk,
        in_use::a_symlink_is_resolved_and_shown,
        in_use::the_disk_under_the_root_filesystem,
        in_use::claimed_twice,
        in_use::read_only_small_and_not_a_device,
    ];
    tests.to_vec()
}

fn of_what_is_made() -> Vec<Test> {
    let tests: &[Test] = skippable::tests![
        leftovers::killed_with_a_directory_of_an_ordinary_user,
        leftovers::killed_while_mounted_in_a_private_namespace,
        leftovers::killed_while_mounted_for_everyone,
        leftovers::killed_with_a_loop_file,
        leftovers::a_loop_file_that_someone_still_uses_waits_for_the_next_time,
        leftovers::a_zombie_is_gone_and_a_living_neighbour_is_not,
        leftovers::what_does_not_prove_to_be_ours_is_left,
        leftovers::a_directory_that_was_renamed_is_found,
        leftovers::what_is_left_is_told_once_and_can_be_given_up,
        leftovers::another_file_under_the_images_name_is_left,
        leftovers::a_strangers_mount_inside_stops_the_removal,
        leftovers::dropping_removes_what_was_made_and_its_entries,
        leftovers::a_recorded_mount_is_unmounted_and_one_from_elsewhere_is_not,
        leftovers::a_ledger_that_others_can_write_is_not_believed,
        leftovers::entries_that_cannot_be_read_are_left_and_named,
        loop_files::made_claimed_and_gone,
        loop_files::larger_blocks,
        loop_files::neither_discard_nor_zeroing_punches_it,
        loop_files::a_punched_file_is_found_and_filled,
        loop_files::its_loop_device_goes_with_it,
        loop_files::what_took_its_name_stays,
        loop_files::too_little_room_says_how_much,
        loop_files::a_directory_that_others_write_to_and_a_name_that_is_taken,
        loop_files::a_directory_that_another_user_swaps,
        loop_files::a_mounted_one_goes_when_it_is_unmounted,
        names::nobody_else_can_lead_root_to_a_device,
        names::the_same_name_is_resolved_once,
        proofs::an_image_is_known_by_its_name,
        proofs::a_directory_under_another_name_needs_its_marker,
        proofs::settings_of_another_disk_stay,
        proofs::a_process_that_dies_keeps_no_loop_device,
        proofs::what_is_left_keeps_the_lock_of_its_owner,
        queues::settings_are_put_back_when_the_trial_is_over,
        queues::settings_are_put_back_after_a_process_that_was_killed,
        signatures::blank,
        signatures::filesystems_and_swap,
        signatures::members_of_sets,
        signatures::encryption,
        signatures::partition_tables,
        signatures::signatures_that_contradict,
        signatures::put_to_use_while_it_is_claimed,
        signatures::blkid_missing_failing_or_unsure,
    ];
    tests.to_vec()
}
