//! Workloads run for real, in temporary directories and on filesystems that fill up, and
//! traced.

mod age;
mod archives;
mod bigfile;
mod bonnie;
mod custom;
mod digests;
mod ffsb;
mod filebench;
mod fsync_append;
mod full;
mod maildir;
mod mix;
mod model;
mod mongo;
mod originals;
mod postmark;
mod program;
mod programs;
mod randomio;
mod scale;
mod support;
mod tmpfs;
mod trace;
mod tree;
mod upkeep;
mod video;
mod watching;

use std::process::ExitCode;

const TESTS: &[skippable::Test] = skippable::tests![
    age::files_are_replaced_and_the_fullness_stays,
    age::a_seed_is_a_history,
    age::a_phase_ends_with_a_sync_and_plans_its_ops_by_the_mean_size,
    age::a_filesystem_that_is_half_full_is_filled_as_far_as_asked_for,
    age::a_filesystem_that_is_more_than_half_full_is_not_touched,
    archives::what_gnu_tar_packs_is_unpacked_as_by_gnu_tar,
    archives::what_was_appended_replaces_what_was_there,
    archives::compressed_archives_are_read_for_what_they_are,
    archives::what_bsdtar_packs_is_unpacked_as_by_gnu_tar,
    archives::a_share_keeps_names_links_and_times_as_they_are,
    bigfile::every_stream_moves_every_byte,
    bigfile::parts_can_be_left_out_and_the_file_of_zeros_kept,
    bigfile::the_file_of_zeros_is_waited_for_where_that_is_asked_for,
    bigfile::a_stream_is_rated_over_its_own_time,
    bigfile::the_ops_announced_are_those_of_both_streams,
    bigfile::all_three_files_need_room,
    bonnie::both_manners_do_what_their_version_does,
    bonnie::files_have_sizes_directories_and_links_as_asked_for,
    bonnie::cold_reads_begin_with_an_empty_cache_and_cold_writes_wait,
    bonnie::phases_of_the_large_file_announce_their_ops_and_tell_kib_a_second,
    bonnie::without_verification_nobody_looks_for_the_file_that_seekers_have_removed,
    bonnie::small_files_are_links_of_the_kind_that_is_asked_for,
    bonnie::chunks_and_sizes_that_it_cannot_have_are_refused,
    bonnie::file_tests_make_the_calls_of_the_original,
    bonnie::the_large_file_sees_the_calls_of_the_original,
    custom::every_kind_of_op_does_what_it_says_whatever_the_threads_do,
    custom::repeat_is_scaled_and_ops_without_a_file_are_counted,
    custom::a_read_makes_no_call_when_nothing_is_left_to_read,
    digests::every_workload_does_what_it_always_did,
    ffsb::profiles_count_ops_and_calls_for_blocks,
    ffsb::a_seed_and_a_number_of_ops_are_a_sequence,
    ffsb::every_kind_of_op_by_weights_leaves_the_files_it_should,
    ffsb::a_run_whose_files_are_all_gone_ends_at_its_time,
    ffsb::groups_of_ones_own_profile_do_each_their_part,
    ffsb::settings_that_make_no_sense_are_refused,
    ffsb::files_that_are_kept_are_the_next_ones,
    ffsb::the_ops_begin_cold_where_that_is_asked_for,
    filebench::each_personality_goes_through_its_list,
    filebench::a_set_without_free_files_leaves_ops_out_and_says_so,
    filebench::an_append_is_at_most_one_write,
    filebench::the_ops_planned_are_those_of_all_rounds_of_all_threads,
    filebench::whole_files_are_read_through_a_buffer_of_at_most_64_mib,
    fsync_append::every_record_is_there_however_it_was_made_durable,
    fsync_append::a_segment_holds_whole_records,
    fsync_append::room_is_reserved_or_written_as_it_was_asked_for,
    fsync_append::the_ops_announced_are_those_of_all_writers,
    fsync_append::a_log_holds_each_record_once_and_in_order,
    fsync_append::a_record_has_at_most_64_mib_and_a_segment_at_least_one_record,
    fsync_append::what_another_left_under_the_name_of_its_directory_stays,
    fsync_append::whole_segments_of_all_writers_need_room,
    fsync_append::segments_are_made_or_found_and_the_name_of_a_new_one_is_made_durable,
    full::no_room_in_the_middle_of_io_fails_the_phase_with_its_reason,
    full::no_inodes_during_setup_skips_what_depends_on_it,
    full::no_room_while_unpacking,
    full::a_large_file_that_does_not_fit_fails_its_phase_and_the_next_ones_say_so,
    full::bonnie_goes_on_with_its_files_when_the_large_one_does_not_fit,
    full::mongo_without_inodes_for_its_copy_goes_on_with_the_first_trees,
    full::scale_goes_on_where_files_do_not_fit,
    maildir::every_manner_of_delivery_keeps_every_mail,
    maildir::every_pool_and_listing_works_for_writes_and_reads,
    maildir::a_seed_fixes_the_ops_and_another_changes_them,
    maildir::listing_and_manner_do_not_change_which_ops_are_done,
    maildir::phases_count_what_they_did,
    maildir::a_sequence_uses_what_is_there,
    maildir::another_number_of_mails_in_a_sequence_is_refused,
    maildir::a_trial_without_mail_says_so,
    maildir::mails_of_an_earlier_workload_are_read_whether_or_not_they_are_verified,
    maildir::maildirs_that_no_op_reads_from_are_not_listed,
    maildir::what_was_read_is_compared_only_where_that_is_asked_for,
    maildir::empty_maildirs_of_an_earlier_workload_are_populated,
    maildir::where_nothing_is_read_no_mails_to_read_are_unpacked,
    maildir::mails_and_directories_need_room,
    maildir::every_file_is_opened_with_the_flags_for_its_use,
    maildir::what_was_prepared_is_made_durable_before_the_ops_unless_that_is_switched_off,
    mix::bonnie_makes_as_many_calls_as_the_original,
    model::a_model_does_what_its_lists_say,
    model::what_finishes_on_a_count_ends_there,
    model::writers_wait_for_the_posts_of_readers_and_write_behind,
    model::events_limit_the_rate_of_a_flowop,
    model::what_is_wrong_is_refused_with_its_line,
    mongo::every_phase_touches_every_file_of_its_trees,
    mongo::fragments_are_counted_where_the_filesystem_tells,
    mongo::the_ops_planned_are_those_of_the_trees_and_no_file_is_left_to_a_child,
    originals::every_original_runs_and_leaves_nothing,
    originals::dbench_starts_where_no_semaphore_was_ever_made,
    originals::postmark_and_ours_count_the_same,
    originals::postmark_that_goes_on_after_errors_has_failed,
    originals::postmark_that_dies_of_an_empty_pool_says_why,
    originals::what_the_others_say_when_the_filesystem_is_full,
    originals::another_version_or_none_is_named,
    originals::what_bonnie_shows_as_pluses_is_missing_with_a_note,
    postmark::counts_bytes_and_figures_of_a_run,
    postmark::the_seed_of_the_trial_counts_only_when_asked_for,
    postmark::a_pool_that_empties_says_so,
    postmark::sizes_that_make_no_sense_are_refused,
    postmark::files_may_all_be_of_one_size,
    postmark::the_originals_rates_are_of_all_bytes_read_and_written,
    postmark::what_is_left_is_read_back_where_that_is_asked_for,
    program::one_that_succeeds_is_timed_checked_and_its_figures_are_read,
    program::one_that_fails_says_how_and_its_last_words,
    program::a_metric_that_is_not_printed_is_missing,
    program::what_it_leaves_running_is_killed_and_said,
    programs::sqlite_keeps_its_rows_with_every_journal,
    programs::git_clones_what_it_was_given,
    programs::rsync_copies_and_backs_up_with_hard_links,
    programs::one_that_is_not_installed_says_which_package_has_it,
    randomio::ios_of_all_threads_are_those_of_the_sequence,
    randomio::it_takes_the_file_that_bigfile_left_and_a_time_ends_it,
    randomio::the_file_is_cold_where_that_is_asked_for,
    randomio::a_file_without_room_for_two_ios_is_refused,
    randomio::an_io_is_of_whole_sectors_up_to_64_mib,
    randomio::its_own_file_is_removed_however_it_ends,
    randomio::an_io_has_at_most_64_mib_and_the_file_room_for_two,
    randomio::a_file_of_that_name_in_another_directory_at_its_path_stays,
    randomio::the_file_is_read_back_only_where_that_is_asked_for,
    randomio::its_own_file_needs_room,
    randomio::its_own_file_ends_where_it_should_within_a_mib,
    scale::every_thread_makes_looks_at_and_removes_its_entries,
    scale::entries_take_whole_blocks_and_directories_count_as_inodes,
    scale::each_phase_announces_the_entries_of_all_threads,
    scale::a_file_has_at_most_64_mib,
    scale::what_was_there_before_is_not_removed,
    scale::more_threads_than_processors_are_noted,
    scale::what_a_failed_phase_left_is_not_met_by_the_next_ones,
    trace::a_delivery_of_each_style_makes_the_calls_it_promises,
    trace::flags_and_paths_are_those_of_the_description,
    trace::flushing_per_line_writes_each_line_and_buffering_writes_4096_bytes,
    trace::unpacking_makes_the_calls_of_gnu_tar,
    trace::postmark_makes_the_calls_of_the_original,
    trace::each_record_is_made_durable_once_and_as_it_was_asked_for,
    tree::a_synthetic_tree_goes_through_every_phase,
    tree::an_archive_of_gnu_tar_with_links_and_long_names_comes_back,
    tree::parts_of_one_tree_leave_it_for_the_next,
    tree::an_archive_is_needed_only_when_asked_for,
    tree::a_synthetic_tree_is_drawn_though_the_trial_has_another,
    tree::a_removal_announces_both_trees_and_both_archives,
    tree::the_copy_makes_the_calls_of_cpio,
    upkeep::on_a_filesystem_of_others_nothing_is_touched_and_each_phase_says_why,
    upkeep::a_filesystem_much_larger_than_was_meant_is_not_filled,
    video::every_phase_moves_the_bytes_it_should,
    video::real_media_go_through_real_tools,
    video::without_the_real_tool_nothing_is_emulated_in_its_name,
    video::a_recording_has_a_mebibyte_at_least,
    video::the_real_tool_is_asked_for_a_clip_its_repetition_a_remux_and_a_cut,
];

fn main() -> ExitCode {
    skippable::run(TESTS)
}
