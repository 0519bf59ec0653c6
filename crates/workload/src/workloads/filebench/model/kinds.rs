//! The flowops that are known.

/// What a flowop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Does {
    Open,
    Create,
    Close,
    Delete,
    Stat,
    ReadWhole,
    WriteWhole,
    Append,
    AppendRandom,
    Fsync,
    FsyncSet,
    Read,
    Write,
    AioWrite,
    AioWait,
    List,
    Hog,
    Delay,
    EventLimit,
    BandwidthLimit,
    IopsLimit,
    OpsLimit,
    SemBlock,
    SemPost,
    FinishOnCount,
    FinishOnBytes,
    Print,
}

/// A flowop as it is called here.
pub(in super::super) struct Kind {
    pub(in super::super) does: Does,
    /// Its word in the language.
    pub(in super::super) word: &'static str,
    /// What the clock of one covers; `None` where it does nothing to a file.
    pub(in super::super) span: Option<&'static str>,
}

const fn kind(does: Does, word: &'static str, span: Option<&'static str>) -> Kind {
    Kind { does, word, span }
}

/// All of them.
pub(in super::super) const KINDS: [Kind; 27] = [
    kind(Does::Open, "openfile", Some("one open")),
    kind(Does::Create, "createfile", Some("one open that makes the file")),
    kind(Does::Close, "closefile", Some("one close")),
    kind(Does::Delete, "deletefile", Some("one unlink")),
    kind(Does::Stat, "statfile", Some("one stat, or fstat of the open file")),
    kind(Does::ReadWhole, "readwholefile", Some("lseek and reads to the end")),
    kind(Does::WriteWhole, "writewholefile", Some("writes of the file's size")),
    kind(Does::Append, "appendfile", Some("one write at the end")),
    kind(Does::AppendRandom, "appendfilerand", Some("one write at the end, of a drawn size")),
    kind(Does::Fsync, "fsync", Some("one fsync")),
    kind(Does::FsyncSet, "fsyncset", Some("one fsync")),
    kind(Does::Read, "read", Some("one read or pread")),
    kind(Does::Write, "write", Some("one write or pwrite")),
    kind(Does::AioWrite, "aiowrite", Some("handing one write to a thread behind")),
    kind(Does::AioWait, "aiowait", Some("waiting for half of the writes behind")),
    kind(Does::List, "listdir", Some("open, getdents, close of a directory")),
    kind(Does::Hog, "hog", None),
    kind(Does::Delay, "delay", None),
    kind(Does::EventLimit, "eventlimit", None),
    kind(Does::BandwidthLimit, "bwlimit", None),
    kind(Does::IopsLimit, "iopslimit", None),
    kind(Does::OpsLimit, "opslimit", None),
    kind(Does::SemBlock, "semblock", None),
    kind(Does::SemPost, "sempost", None),
    kind(Does::FinishOnCount, "finishoncount", None),
    kind(Does::FinishOnBytes, "finishonbytes", None),
    kind(Does::Print, "print", None),
];

/// Flowops that Filebench has and that are not done here, and why.
const NOT_DONE: [(&str, &str); 5] = [
    ("makedir", "directories that threads make and remove are not known here"),
    ("removedir", "directories that threads make and remove are not known here"),
    ("block", "waiting for `wakeup` is not known here; semblock and sempost are"),
    ("wakeup", "waking `block` is not known here; semblock and sempost are"),
    ("testrandvar", "it tests Filebench's own random numbers and does nothing to a file"),
];

impl Does {
    /// Its word in the language.
    pub(in super::super) fn word(self) -> &'static str {
        KINDS.iter().find(|kind| kind.does == self).map_or("", |kind| kind.word)
    }

    /// The flowop of this word.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn of(word: &str) -> Result<Does, String> {
        if let Some(kind) = KINDS.iter().find(|kind| kind.word == word) {
            return Ok(kind.does);
        }
        if let Some((_, why)) = NOT_DONE.iter().find(|(name, _)| *name == word) {
            return Err(format!("flowop {word}: {why}; take it out of the list"));
        }
        let known = KINDS.iter().map(|kind| kind.word);
        let meant = text::meant(word, known).unwrap_or_default();
        Err(format!("flowop {word} is not known (a composite flowop neither); {meant}"))
    }

    /// Whether it reads or writes an open file, which it opens if none is open.
    pub(in super::super) fn moves_data(self) -> bool {
        use Does::*;
        matches!(self, ReadWhole | WriteWhole | Append | AppendRandom | Read | Write | AioWrite)
    }
}
