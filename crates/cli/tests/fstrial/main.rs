//! fstrial as its users run it: the built binary, real directories, real loop devices.

mod archive;
mod bad_input;
mod binary;
mod bisect;
mod brought_files;
mod claims;
mod crash;
mod device;
mod directory;
mod documentation;
mod fio_jobs;
mod foreign_text;
mod guests;
mod interrupted;
mod lab;
mod outputs;
mod own_programs;
mod sandbox;
mod second_user;
mod study;
mod study_pages;
mod surroundings;

use std::process::ExitCode;

/// Those that take longest come first, so that nothing waits for them at the end.
const TESTS: &[skippable::Test] = skippable::tests![
    claims::what_was_planted_is_found_and_nothing_else,
    documentation::every_command_shown_works,
    crash::a_power_cut_loses_what_was_planted_and_nothing_else,
    crash::states_that_are_alike_show_the_same_as_each_by_itself,
    crash::a_program_of_ones_own_is_judged_by_its_own_check,
    crash::a_power_cut_that_does_not_exist_is_refused_with_what_there_is,
    bad_input::a_command_line_that_asks_for_what_does_not_exist,
    bad_input::a_study_that_allows_to_destroy_what_it_does_not_use,
    bad_input::a_corpus_that_is_empty_or_unreadable,
    bad_input::a_directory_that_is_missing_or_read_only,
    bad_input::a_store_that_is_newer_foreign_or_locked,
    bad_input::an_output_that_cannot_be_written_is_found_before_the_work,
    bad_input::a_missing_mkfs_leaves_out_its_filesystem_alone,
    bad_input::a_reader_that_has_seen_enough_is_no_panic,
    bad_input::a_corpus_that_was_changed_is_noticed_before_a_run_uses_it,
    bad_input::what_never_ends_is_refused_at_once,
    bad_input::what_no_guest_takes_is_refused_before_it_is_made,
    bad_input::running_out_of_memory_is_a_message,
    binary::it_runs_in_an_empty_root,
    binary::it_asks_for_no_newer_library_than_it_carries,
    device::every_filesystem_is_made_worked_on_and_checked,
    device::a_filesystem_is_looked_after_and_whole_at_the_end,
    device::two_users_with_the_same_seed_are_not_in_each_others_way,
    device::a_filesystem_that_is_too_small_fails_alone_with_its_reason,
    bisect::the_first_slow_one_of_sixteen_versions_is_found,
    bad_input::an_archive_that_gnu_tar_would_not_unpack,
    bad_input::a_directory_without_inodes,
    bad_input::a_size_that_does_not_hold_the_work,
    device::a_full_filesystem_fails_the_phase_and_not_the_run,
    device::an_mkfs_that_does_nothing_and_exits_0_is_found_out,
    device::a_real_device_is_refused_when_it_carries_something_and_used_when_it_may_be_destroyed,
    device::a_device_that_disappears_ends_its_trials_and_not_the_run,
    device::scheduler_and_read_ahead_are_the_contenders_and_then_the_machines_again,
    directory::one_document_on_standard_output_and_nothing_left_behind,
    directory::read_phases_of_a_directory_are_labelled_warm,
    directory::the_same_seed_does_the_same_work,
    directory::a_dry_run_shows_the_plan_and_runs_nothing,
    directory::a_stored_run_is_shown_again_and_redacted,
    directory::own_mail_leaves_no_readable_word_on_the_target_or_in_a_report,
    directory::a_workload_that_fails_does_not_stop_a_sequence_and_marks_what_follows,
    directory::resuming_without_a_name_takes_the_newest_that_is_open_and_says_when_none_is,
    directory::a_program_that_became_slower_fails_a_script,
    directory::bonnies_own_programs_read_our_lines,
    directory::a_document_that_has_nothing_to_show_is_not_written,
    documentation::a_shell_completes_options_and_names,
    documentation::man_pages_come_from_the_help,
    documentation::workloads_are_listed_a_line_each_and_one_whole,
    documentation::a_dry_run_shows_the_parameters_of_every_workload,
    documentation::a_list_of_runs_says_what_was_compared,
    documentation::a_reader_that_has_seen_enough_is_no_error,
    outputs::a_pipe_gets_the_whole_document_once,
    outputs::a_pipe_that_nobody_reads_is_waited_for_and_a_signal_ends_that,
    outputs::a_reader_that_does_not_read_on_does_not_hold_the_program,
    outputs::standard_output_by_its_name_carries_the_document_alone,
    outputs::a_comparison_goes_to_a_pipe_of_the_shell,
    own_programs::what_a_command_names_is_carried_in_and_what_cannot_be_is_refused_first,
    own_programs::a_program_that_fails_at_once_stops_the_run_and_resuming_goes_on,
    own_programs::phases_have_their_own_figures_on_the_first_screen,
    brought_files::a_file_is_known_by_its_contents_and_its_counts_are_those_of_its_text,
    brought_files::what_is_not_known_is_refused_with_its_line_before_anything_is_made,
    fio_jobs::a_job_file_is_run_group_by_group_with_fios_own_figures,
    fio_jobs::what_a_job_may_not_do_is_refused_with_its_line_before_anything_is_made,
    surroundings::what_is_missing_is_said_once,
    foreign_text::a_directorys_name_is_nothing_but_text_in_progress_and_in_every_report,
    foreign_text::a_disks_title_is_nothing_but_text,
    guests::disks_of_16_gib_in_guests_of_256_mib_two_at_once_and_one_alone,
    guests::request_logs_that_cannot_be_written_are_refused_before_anything_runs,
    guests::a_plan_that_does_not_fit_the_machine_is_refused_before_anything_runs,
    guests::too_little_memory_for_the_guest_is_refused_with_what_is_enough,
    guests::a_lab_from_elsewhere_gives_the_same_figures_and_so_does_one_whose_checkpoint_is_damaged,
    guests::a_program_of_ones_own_repeats_in_the_lab_and_what_went_wrong_is_said,
    guests::loop_files_and_a_guest_are_measured_in_turn_and_held_against_each_other,
    interrupted::killed_while_the_device_is_examined,
    interrupted::killed_in_mkfs,
    interrupted::killed_when_just_mounted,
    interrupted::killed_in_the_check_after_unmounting,
    interrupted::killed_at_work,
    interrupted::killed_while_a_daemon_serves_the_filesystem,
    interrupted::killed_while_the_report_is_written,
    interrupted::ctrl_c_stops_cleanly_and_says_how_to_go_on,
    interrupted::ctrl_c_ends_the_reading_of_a_device,
    interrupted::a_second_signal_is_told_what_is_waited_for,
    interrupted::a_third_signal_leaves_the_rest_to_the_next_start,
    interrupted::a_trial_whose_process_was_killed_runs_again_on_resume,
    interrupted::two_at_once_take_turns_and_say_so,
    lab::a_cache_that_is_full_leaves_no_lab_and_says_what_to_do,
    lab::a_build_that_is_killed_while_it_downloads_leaves_no_lab,
    lab::a_build_that_is_killed_while_it_unpacks_leaves_no_lab,
    lab::a_package_that_does_not_come_whole_or_is_another_is_refused,
    lab::a_package_of_another_version_than_the_lists_say_is_refused,
    lab::what_is_no_kernel_for_the_lab_leaves_the_lab_as_it_was,
    lab::sources_of_a_kernel_that_are_none_are_told_before_anything_is_made,
    second_user::a_trial_in_another_users_directory_stays_where_it_began,
    second_user::a_trial_in_a_directory_that_is_exchanged_stays_in_one,
    second_user::a_cache_in_another_users_directory_runs_nothing,
    second_user::outputs_in_another_users_directory_are_written_there_or_refused,
    second_user::a_store_in_another_users_directory_is_refused_to_root,
    second_user::man_pages_are_not_led_elsewhere,
    second_user::an_ordinary_user_works_in_a_directory_shared_by_a_group,
    second_user::outputs_go_into_devices_and_pipes,
    study::what_is_wrong_with_a_study_is_told_at_once,
    study::a_study_is_run_and_every_claim_judged,
    study::what_is_exported_gives_the_same_page_and_does_not_name_this_machine,
    study::too_few_seeds_decide_nothing_and_until_goes_on,
    study::a_budget_that_is_spent_leaves_trials_and_resume_runs_them,
    study::only_names_parts_contenders_and_workloads,
    study::a_dry_run_of_a_study_that_goes_on_shows_what_is_then_run,
    study::a_report_at_another_scale_says_that_its_reasons_are_not_of_that_scale,
    study_pages::a_page_is_what_this_program_makes_of_its_results,
    study_pages::every_page_is_in_the_list_of_pages,
    study_pages::a_script_without_this_program_finds_the_verdicts_of_the_pages,
];

fn main() -> ExitCode {
    skippable::run(TESTS)
}
