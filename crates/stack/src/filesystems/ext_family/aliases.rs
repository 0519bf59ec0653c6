//! What the manual pages of the family call its options. Each member has those that it takes.

use super::super::aliases::{Alias, is, items, mount, value, value_in};

macro_rules! aliases {
    ($($constant:ident [$($own:expr),* $(,)?] [$($flag:expr),* $(,)?];)*) => {
        $(pub(in crate::filesystems) static $constant: &[Alias] = &[
            $($own,)*
            is("nobarrier", &[("barrier", "off")]),
            is("barrier=0", &[("barrier", "off")]),
            is("barrier", &[("barrier", "on")]),
            is("barrier=1", &[("barrier", "on")]),
            mount("inode_readahead_blks="),
            mount("nouid32"),
            mount("oldalloc"),
            mount("orlov"),
            mount("stripe="),
            value("-b ", "block_size"),
            value("-I ", "inode_size"),
            value("-i ", "inode_ratio"),
            value("-m ", "reserved_percent"),
            items("-O ", &[
                $($flag,)*
                is("dir_index", &[("dir_index", "on")]),
                is("^dir_index", &[("dir_index", "off")]),
                is("resize_inode", &[("resize_inode", "on")]),
                is("^resize_inode", &[("resize_inode", "off")]),
            ]),
        ];)*
    };
}

aliases! {
    EXT2_ALIASES [] [];
    EXT3_ALIASES [
        value("commit=", "commit_interval"),
        items("-J ", &[value_in("size=", "journal_size", "M")]),
    ] [is("has_journal", &[])];
    EXT4_ALIASES [
        value("commit=", "commit_interval"),
        items("-J ", &[value_in("size=", "journal_size", "M")]),
        is("delalloc", &[("delalloc", "on")]),
        is("nodelalloc", &[("delalloc", "off")]),
        mount("auto_da_alloc"),
        mount("noauto_da_alloc"),
        mount("dioread_lock"),
        mount("dioread_nolock"),
        mount("journal_async_commit"),
        mount("journal_checksum"),
        mount("journal_ioprio="),
        mount("max_batch_time="),
        mount("min_batch_time="),
        mount("nombcache"),
    ] [
        is("has_journal", &[]),
        is("^has_journal", &[("journal", "none")]),
        is("extent", &[("extents", "on")]),
        is("extents", &[("extents", "on")]),
        is("^extent", &[("extents", "off")]),
        is("^extents", &[("extents", "off")]),
        is("inline_data", &[("inline_data", "on")]),
        is("^inline_data", &[("inline_data", "off")]),
        is("metadata_csum", &[("metadata_checksum", "on")]),
        is("^metadata_csum", &[("metadata_checksum", "off")]),
    ];
}
