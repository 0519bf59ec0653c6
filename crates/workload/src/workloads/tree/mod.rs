//! Work on a source tree: unpack, copy, pack, find, remove.

mod archive;
mod description;
mod passes;
mod plan;
#[cfg(test)]
mod tests;
mod untar;
mod verify;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use units::Bytes;

use self::archive::{Archive, Facts};
use self::description::{
    BYTES, COLD, COPY, COPY_ARCHIVE, DESCRIPTION, FILES, FIND, PHASES, REMOVE, REMOVE_PARAMETER,
    SOURCE, Source, TAR, UNTAR,
};
use self::passes::Seen;
use self::plan::Plan;
use crate::corpora::{TreeFacts, source_tree};
use crate::engine::file_io::{open_target, read, write_all};
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::walk;
use crate::{
    Context, Description, Failure, InputFacts, NotComparable, Op, OpError, Parameters,
    PhaseDescription, PhaseResult, Recorder,
};
use crate::{Space, Workload};

pub(super) struct Tree;

const DIRECTORY: &str = "tree";
const ARCHIVE: &str = "tree/source.tar";
const UNTARRED: &str = "tree/untarred";
const COPIED: &str = "tree/copied";
const PACKED: &str = "tree/packed.tar";

/// Modification time of everything synthetic: the day 2.6.22 came out, 8 July 2007.
const RELEASED: i64 = 1_183_852_800;

impl Workload for Tree {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, inputs: &InputFacts) -> Space {
        let given = match parameters.get(&SOURCE) {
            Source::Synthetic => None,
            Source::Auto | Source::Archive => inputs.source_tree,
        };
        let tree = given.unwrap_or_else(|| statistics(parameters));
        let asked = |phase: &str| u64::from(parameters.get(&PHASES).have(phase));
        // Each file of a tree wastes half a block, and an archive has headers.
        let contents = Bytes(tree.bytes);
        let a_tree = contents + Bytes(2048) * tree.files + Bytes(4096) * tree.entries;
        let an_archive = contents + Bytes(768) * tree.entries;
        let (trees, archives) =
            (asked("untar") + asked("copy"), asked("copy-archive") + asked("tar"));
        Space {
            bytes: a_tree * trees + an_archive * archives,
            // A directory for each tree, and that of them all.
            inodes: trees * (tree.entries + 1) + archives + 1,
        }
    }

    fn of_invented_tree(&self) -> &'static [&'static str] {
        &["files", "bytes"]
    }

    fn lacks(&self, parameters: &Parameters, earlier: &[&Parameters]) -> Option<String> {
        let mut left = Left::default();
        for parameters in earlier {
            left.after(parameters);
        }
        left.after(parameters).map(|(phase, before)| {
            let (phase, before) = (phase.name, before.name);
            format!("phases: {phase} needs what {before} leaves; {BEFORE}")
        })
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let parameters = context.parameters();
        let asked: Vec<_> = DESCRIPTION
            .phases
            .iter()
            .copied()
            .filter(|phase| parameters.get(&PHASES).have(phase.name))
            .collect();
        run(context).inspect_err(|_| context.skip_rest_of(&asked, "a phase before it failed"))
    }
}

/// What to do where a phase needs what an earlier one leaves.
const BEFORE: &str = "put tree:phases=copy-archive+untar before it in a --sequence";

/// What is there between two parts of a sequence.
#[derive(Debug, Default)]
struct Left {
    archive: bool,
    tree: bool,
}

impl Left {
    /// Takes what a run leaves; the first of its phases that needs what is not there, and the phase
    /// that leaves it.
    fn after(
        &mut self,
        parameters: &Parameters,
    ) -> Option<(&'static PhaseDescription, &'static PhaseDescription)> {
        let asked = |phase: &PhaseDescription| parameters.get(&PHASES).have(phase.name);
        self.archive |= asked(&COPY_ARCHIVE);
        if asked(&UNTAR) && !self.archive {
            return Some((&UNTAR, &COPY_ARCHIVE));
        }
        self.tree |= asked(&UNTAR);
        if let Some(phase) = [&COPY, &TAR, &FIND].into_iter().find(|phase| asked(phase))
            && !self.tree
        {
            return Some((phase, &UNTAR));
        }
        if removes(parameters) {
            *self = Left::default();
        }
        None
    }
}

/// Whether everything is removed at the end.
fn removes(parameters: &Parameters) -> bool {
    let asked = parameters.get(&PHASES);
    asked.have(REMOVE.name) && (!asked.are_all() || parameters.get(&REMOVE_PARAMETER))
}

/// What a synthetic tree of these parameters holds.
fn statistics(parameters: &Parameters) -> TreeFacts {
    let (files, bytes) = (parameters.get(&FILES), parameters.get(&BYTES).0);
    TreeFacts { entries: files + plan::directory_count(files), files, bytes }
}

/// FNV-1a of nothing.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, for digests of names and contents.
fn fnv(bytes: &[u8]) -> u64 {
    fnv_on(EMPTY, bytes)
}

/// The digest of what has this `digest`, with `bytes` behind it.
fn fnv_on(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let root = context.target().to_owned();
    let parameters = context.parameters().clone();
    let asked = |phase: &PhaseDescription| parameters.get(&PHASES).have(phase.name);
    let whole = parameters.get(&PHASES).are_all();
    let (given, tree) = source(context)?;
    if asked(&COPY_ARCHIVE) {
        place(context, given)?;
    }
    let archive = root.join(ARCHIVE);
    let links_left_out = asked(&UNTAR) && untarred(context, &archive, tree.entries)? > 0;

    let mut sequence = KeepGoing::default();
    let mut pass =
        |context: &mut Context<'_>, phase: &'static PhaseDescription, body: &mut Pass<'_>| {
            if !asked(phase) {
                return Ok(false);
            }
            needs(open_target(&root)?.as_fd(), phase, UNTARRED, "untar")?;
            if parameters.get(&COLD) {
                context.make_cold();
            }
            let target = open_target(&root)?;
            let after = after_failure(context);
            let ended = context.phase_with(
                phase,
                tree.entries,
                |recorder| body(target.as_fd(), recorder),
                |seen, result| {
                    note_left_out(seen.left_out, result);
                    not_comparable(result, after);
                },
            );
            sequence.take(ended).map(|seen| seen.is_some())
        };
    let both = (Op(0), Op(1));
    let copied =
        pass(context, &COPY, &mut |target, r| passes::copy(target, UNTARRED, COPIED, r, both))?;
    let packed =
        pass(context, &TAR, &mut |target, r| passes::pack(target, UNTARRED, PACKED, r, both))?;
    pass(context, &FIND, &mut |target, r| passes::find(target, UNTARRED, r, Op(0)))?;

    let target = open_target(&root)?;
    if context.verify() && archive.exists() {
        let made = root.join(PACKED);
        let trees: Vec<&str> = [(asked(&UNTAR), UNTARRED), (copied, COPIED)]
            .into_iter()
            .filter_map(|(made, tree)| made.then_some(tree))
            .collect();
        let archives = [made.as_path()];
        verify::verify(
            target.as_fd(),
            &archive,
            &trees,
            &archives[..packed.into()],
            links_left_out,
        )?;
    }
    if removes(&parameters) {
        remove(context, &mut sequence, target.as_fd(), tree)?;
    } else if whole {
        context.skip(&REMOVE, "not asked for");
    }
    sequence.end()
}

/// The archive that the tree comes from, unless it is synthetic, and what the tree holds.
fn source<'h>(context: &Context<'h>) -> Result<(Option<&'h Path>, TreeFacts), Failure> {
    let parameters = context.parameters();
    let given = match parameters.get(&SOURCE) {
        Source::Synthetic => None,
        Source::Archive => Some(context.source_tree()?),
        Source::Auto => context.source_tree().ok(),
    };
    let tree = match given {
        None => statistics(parameters),
        Some(given) => {
            source_tree::facts(given).map_err(|error| Failure::Input(error.to_string()))?
        }
    };
    Ok((given, tree))
}

/// Phase `untar`; how many links were left out.
fn untarred(context: &mut Context<'_>, archive: &Path, entries: u64) -> Result<u64, Failure> {
    let target = open_target(context.target())?;
    needs(target.as_fd(), &UNTAR, ARCHIVE, "copy-archive")?;
    make_directory(target.as_fd(), UNTARRED)?;
    let kinds = untar::Kinds { file: Op(0), directory: Op(1), link: Op(2) };
    context.phase_with(
        &UNTAR,
        entries,
        |recorder| untar::untar(target.as_fd(), archive, UNTARRED, recorder, &kinds),
        |left_out, result| note_left_out(*left_out, result),
    )
}

/// Checks that what an earlier part leaves is there.
fn needs(
    target: BorrowedFd<'_>,
    phase: &PhaseDescription,
    path: &str,
    part: &str,
) -> Result<(), Failure> {
    match rustix::fs::statat(target, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Input(format!(
            "{} needs {path}, which {part} leaves: {error}; {BEFORE}",
            phase.name
        ))),
    }
}

/// A phase over the whole tree.
type Pass<'a> = dyn FnMut(BorrowedFd<'_>, &mut Recorder<'_>) -> Result<Seen, OpError> + 'a;

fn note_left_out(left_out: u64, result: &mut PhaseResult) {
    if left_out > 0 {
        let why = format!("this filesystem has no such links: {left_out} were left out");
        not_comparable(result, Some(NotComparable::Other { why }));
    }
}

fn make_directory(target: BorrowedFd<'_>, path: &'static str) -> Result<(), Failure> {
    rustix::fs::mkdirat(target, path, Mode::from_raw_mode(0o755))
        .map_err(|error| Failure::before(OpError::new("mkdir", path, error)))
}

/// Phase `copy-archive`.
fn place(context: &mut Context<'_>, given: Option<&Path>) -> Result<(), Failure> {
    let target = open_target(context.target())?;
    make_directory(target.as_fd(), DIRECTORY)?;
    if let Some(given) = given {
        return context
            .phase(&COPY_ARCHIVE, 1, |recorder| copy_file(given, target.as_fd(), recorder));
    }
    let TreeFacts { files, bytes, .. } = statistics(context.parameters());
    let plan = Plan::draw(context.seed(), files, bytes);
    context.phase_with(
        &COPY_ARCHIVE,
        1,
        |recorder| write_synthetic(&plan, target.as_fd(), recorder),
        |(), result| result.notes.push("the source tree is synthetic".to_owned()),
    )
}

fn copy_file(
    from: &Path,
    target: BorrowedFd<'_>,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let source = File::open(from).map_err(OpError::at("open", from))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = rustix::fs::openat(target, ARCHIVE, flags, Mode::from_raw_mode(0o644))
        .map_err(|error| OpError::new("create", ARCHIVE, error))?;
    // The read size of `cp` since 2012.
    let mut buffer = vec![1; 128 << 10];
    recorder.restart();
    loop {
        let got = read(&source, &mut buffer).map_err(OpError::at("read", from))?;
        if got == 0 {
            break;
        }
        write_all(&made, &buffer[..got]).map_err(|e| OpError::new("write", ARCHIVE, e))?;
        recorder.wrote(got as u64);
    }
    drop(made);
    recorder.done(Op(0));
    Ok(())
}

fn write_synthetic(
    plan: &Plan,
    target: BorrowedFd<'_>,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut facts =
        Facts { kind: tar::EntryType::Directory, bytes: 0, mode: 0o755, owner, mtime: RELEASED };
    recorder.restart();
    let mut archive = Archive::create(target, ARCHIVE)?;
    let mut path = String::new();
    let mut files = plan.files.iter().peekable();
    for (number, directory) in plan.directories.iter().enumerate() {
        path.clear();
        path.push_str(directory);
        path.push('/');
        archive.entry(path.as_bytes(), b"", facts)?;
        while let Some(file) = files.next_if(|file| file.directory as usize == number) {
            plan.path(file, &mut path);
            facts.kind = tar::EntryType::Regular;
            facts.mode = 0o644;
            facts.bytes = file.bytes;
            archive.entry(path.as_bytes(), b"", facts)?;
            plan.contents(file, |piece| archive.add(piece))?;
            archive.pad()?;
            recorder.digest(file.bytes);
        }
        (facts.kind, facts.mode, facts.bytes) = (tar::EntryType::Directory, 0o755, 0);
    }
    recorder.wrote(archive.finish()?);
    recorder.done(Op(0));
    Ok(())
}

fn remove(
    context: &mut Context<'_>,
    sequence: &mut KeepGoing,
    target: BorrowedFd<'_>,
    tree: TreeFacts,
) -> Result<(), Failure> {
    let after = after_failure(context);
    let ended = context.phase_with(
        &REMOVE,
        2 * tree.entries + 4,
        |recorder| {
            for path in [UNTARRED, COPIED, PACKED, ARCHIVE] {
                walk::remove(target, path, || recorder.done(Op(0)))?;
            }
            Ok(())
        },
        |(), result| not_comparable(result, after),
    );
    if sequence.take(ended)?.is_some() {
        // An entry that is left over shows as a directory that cannot be removed.
        rustix::fs::unlinkat(target, DIRECTORY, rustix::fs::AtFlags::REMOVEDIR).map_err(|e| {
            Failure::Verify(format!("{DIRECTORY} should be empty after remove: {e}"))
        })?;
    }
    Ok(())
}
