//! The words for options by meaning: one word, one meaning, one value syntax, whichever
//! filesystem takes it. A driver lists the words it takes; it never invents one of its own.
//!
//! Value syntax is data too: `SIZE` (`256M`), `NUMBER`, or the words themselves between bars
//! (`on|off`). A driver may take fewer of the words, never others.

use super::OptionDescription;

/// A word of the vocabulary.
#[derive(Debug)]
pub struct Word {
    /// The name: `journal_size`.
    pub name: &'static str,
    /// The value syntax.
    pub values: &'static str,
    /// What it means, for every filesystem.
    pub meaning: &'static str,
}

impl Word {
    /// A driver's entry for this word.
    pub(super) const fn here(&'static self, help: &'static str) -> OptionDescription {
        OptionDescription { name: self.name, values: self.values, help }
    }

    /// A driver's entry for this word, with the values it takes.
    pub(super) const fn only(
        &'static self,
        values: &'static str,
        help: &'static str,
    ) -> OptionDescription {
        OptionDescription { name: self.name, values, help }
    }
}

macro_rules! vocabulary {
    ($($constant:ident $name:literal $values:literal $meaning:literal;)*) => {
        $(pub(super) static $constant: Word =
            Word { name: $name, values: $values, meaning: $meaning };)*

        /// Every word, in the order `fstrial list filesystems` explains them.
        pub static VOCABULARY: &[&Word] = &[$(&$constant),*];
    };
}

vocabulary! {
    ATIME "atime" "noatime|relatime|strict"
        "whether reading updates the access time; default noatime for every filesystem";
    SYNC "sync" "on|off"
        "on: every write is synchronous, as with `mount -o sync`";
    FSYNC "fsync" "honoured|ignored"
        "ignored: fsync returns at once and promises nothing; the filesystem stays consistent";
    BARRIER "barrier" "on|off"
        "off: no cache flush is sent to the disk, and synced data can be lost";
    JOURNAL "journal" "internal|external|none"
        "where the journal or log lies; external needs a layout with a journal disk";
    JOURNAL_SIZE "journal_size" "SIZE"
        "size of the journal or log";
    DATA "data" "journal|ordered|writeback"
        "how file content relates to the journal";
    COMMIT_INTERVAL "commit_interval" "NUMBER"
        "seconds after which unsynced data is written anyway";
    BLOCK_SIZE "block_size" "SIZE"
        "unit of allocation";
    RECORD_SIZE "record_size" "SIZE"
        "the largest piece of a file that is written, checksummed and compressed as a unit";
    SECTOR_SIZE "sector_size" "SIZE"
        "the smallest piece that is ever written to a disk";
    INODE_SIZE "inode_size" "SIZE"
        "size of an inode on disk";
    INODE_RATIO "inode_ratio" "SIZE"
        "one inode per this many bytes of the device";
    NODE_SIZE "node_size" "SIZE"
        "size of a node of the metadata trees";
    RESERVED_PERCENT "reserved_percent" "NUMBER"
        "share of the blocks kept for root, in percent";
    FEATURE_SET "feature_set" "today|2004|2007|2011"
        "the feature flags that mkfs set by default at a given time";
    FORMAT "format" "v4|v5"
        "version of the format on disk";
    DIR_INDEX "dir_index" "on|off"
        "on: directories are hashed trees";
    DIRECTORY_HASH "directory_hash" "half_md4|tea|legacy|r5|rupasov"
        "hash function of directory entries";
    EXTENTS "extents" "on|off"
        "on: files are mapped by extents, off: by indirect blocks";
    INLINE_DATA "inline_data" "on|off"
        "on: the smallest files lie in their inodes";
    DELALLOC "delalloc" "on|off"
        "on: blocks are chosen when data is written back, not when it is written";
    RESIZE_INODE "resize_inode" "on|off"
        "on: room is kept for growing while mounted";
    METADATA_CHECKSUM "metadata_checksum" "on|off"
        "on: metadata carries checksums";
    CHECKSUM "checksum" "crc32c|xxhash|sha256|blake2|off"
        "checksum of file content";
    LAZY_INIT "lazy_init" "on|off"
        "on: mkfs leaves inode tables to a kernel thread after the first mount";
    SCHEDULER "scheduler" "none|mq-deadline|bfq|kyber"
        "the kernel's I/O scheduler: the order in which requests go to a disk";
    READ_AHEAD "read_ahead" "SIZE"
        "how far the kernel reads ahead in a file that is read in sequence";
    STRIPE_UNIT "stripe_unit" "SIZE"
        "bytes written to one disk of an array before the next disk";
    STRIPE_WIDTH "stripe_width" "NUMBER"
        "disks of an array that hold data in one stripe";
    ALLOCATION_GROUPS "allocation_groups" "NUMBER"
        "parts of the device that allocate independently";
    REFLINK "reflink" "on|off"
        "on: files can share extents";
    METADATA_COPIES "metadata_copies" "1|2"
        "copies of metadata on one device";
    COPY_ON_WRITE "copy_on_write" "on|off"
        "off: file content is overwritten in place, without checksums";
    TAIL_PACKING "tail_packing" "on|off"
        "on: the ends of files share blocks";
    COMPRESSION "compression" "off|lz4|lzo|zlib|zstd|on"
        "compression of file content";
    COMPRESSION_LEVEL "compression_level" "NUMBER"
        "effort of the compression";
}

/// The word of this name.
pub fn word(name: &str) -> Option<&'static Word> {
    VOCABULARY.iter().copied().find(|word| word.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FILESYSTEMS;
    use crate::filesystems::QUEUE_OPTIONS;

    #[test]
    fn every_word_is_used_and_every_option_is_a_word() {
        let mut used = std::collections::BTreeSet::new();
        for filesystem in FILESYSTEMS {
            let description = filesystem.describe();
            for option in description.options.iter().chain(QUEUE_OPTIONS) {
                let word = word(option.name)
                    .unwrap_or_else(|| panic!("{}: {}", description.name, option.name));
                used.insert(word.name);
                let all: Vec<_> = word.values.split('|').collect();
                for value in option.values.split('|') {
                    assert!(all.contains(&value), "{} {}={value}", description.name, word.name);
                }
            }
        }
        let known: std::collections::BTreeSet<_> =
            VOCABULARY.iter().map(|word| word.name).collect();
        assert_eq!(used, known);
        assert_eq!(known.len(), VOCABULARY.len(), "a word is there twice");
    }
}
