//! Plans carried out on loop devices: made, mounted, written to, checked, inspected. Needs
//! root and the tools of every filesystem; says so where it cannot run.

mod assembled;
mod contender;
mod machine;
mod made;
mod mounted;
mod mounted_elsewhere;
mod repeatable;

use std::process::ExitCode;

fn main() -> ExitCode {
    skippable::run(skippable::tests![
        assembled::mkfs_finds_the_geometry_of_an_array,
        assembled::far_copies_and_small_chunks,
        assembled::mapped_disks,
        made::every_filesystem_is_made_checked_and_inspected,
        made::each_can_be_made_on_its_minimum,
        mounted::ext2_today_and_in_2004,
        mounted::ext3_as_the_study_of_2004_made_it,
        mounted::ext3_barriers_off_and_data_modes,
        mounted::ext4_options_reach_the_superblock,
        mounted::ext4_mount_options_reach_the_kernel,
        mounted::ext4_of_2007_and_2011,
        mounted::ext_journals_on_a_disk_of_their_own,
        mounted::xfs_options_reach_the_superblock,
        mounted::xfs_log_on_a_disk_of_its_own,
        mounted::btrfs_options_reach_the_kernel,
        mounted::btrfs_of_2011,
        mounted::btrfs_over_several_disks,
        mounted::tmpfs_needs_nothing,
        mounted_elsewhere::reiserfs_mounts_with_its_options,
        mounted_elsewhere::jfs_mounts_with_its_journal_inside_and_outside,
        mounted_elsewhere::f2fs_mounts_with_its_options,
        mounted_elsewhere::nilfs2_mounts_without_its_cleaner,
        mounted_elsewhere::exfat_and_ntfs3_mount,
        mounted_elsewhere::xfs_of_a_time_mounts_where_the_kernel_takes_v4,
        repeatable::a_filesystem_is_made_again_over_itself,
        repeatable::the_same_request_makes_the_same_image,
        repeatable::options_do_not_bring_chance_back,
    ])
}
