//! Which of the programs and kernel modules that a filesystem needs a lab has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use stack::filesystems::Description;
use stack::{Contender, Refusal};
use workload::InputKind;

use crate::error::LabError;
use crate::modules::ModuleTree;
use crate::optional::{self, OptionalPart, PartDescription, part_with};
use crate::parts::Parts;
use crate::tools::{PROGRAM_DIRECTORIES, find};

/// The programs and modules in the trees of a lab.
#[derive(Debug)]
pub struct Offer {
    modules: ModuleTree,
    trees: Vec<PathBuf>,
    /// Whether there is a system to boot.
    system: bool,
}

impl Offer {
    /// Looks through a lab's trees.
    ///
    /// # Errors
    /// When the modules cannot be read.
    pub fn of(parts: &Parts) -> Result<Offer, LabError> {
        let optional = |what: &str| -> Vec<PathBuf> {
            let places = parts.optional.iter().map(|part| part.join(what));
            places.filter(|place| place.is_dir()).collect()
        };
        let mut modules = vec![parts.modules.clone()];
        modules.extend(optional("modules"));
        let mut trees = vec![parts.tools.clone()];
        trees.extend(optional("tools"));
        let system = parts.system().is_some();
        Ok(Offer { modules: ModuleTree::read(modules)?, trees, system })
    }

    /// Names of the optional parts that contain what this lab does not have and these contenders
    /// and workloads (given by name) need. [`Offer::refusal`] covers what no part contains.
    pub fn parts_for<'a>(
        &self,
        contenders: impl IntoIterator<Item = &'a Contender>,
        workloads: impl IntoIterator<Item = &'a str>,
    ) -> BTreeMap<&'static str, &'static PartDescription> {
        let mut programs = BTreeSet::new();
        for contender in contenders {
            let filesystem = stack::filesystems::find(&contender.filesystem);
            if let Some(filesystem) = filesystem.map(|it| it.describe())
                && !filesystem.in_user_space()
            {
                programs.extend(filesystem.programs.iter().copied());
            }
            if let Some(layout) = stack::layouts::find(&contender.layout.name) {
                programs.extend(layout.describe().programs.iter().copied());
            }
        }
        let mut boots = false;
        for workload in workloads.into_iter().filter_map(workload::find) {
            let description = workload.describe();
            programs.extend(description.programs().map(|program| program.name));
            boots |= description.inputs.contains(&InputKind::System);
        }
        let lacking = programs.into_iter().filter(|program| !self.has(program));
        let system = (boots && !self.system).then_some(optional::SYSTEM_PART);
        let parts = lacking.filter_map(part_with).chain(system).map(|part| part.describe());
        parts.map(|part| (part.name, part)).collect()
    }

    /// Whether a program is in one of its trees.
    pub(crate) fn has(&self, program: &str) -> bool {
        self.trees.iter().any(|tree| find(tree, &PROGRAM_DIRECTORIES, program).is_some())
    }

    /// Why the contender `name` on this filesystem cannot run in the lab, and what to do; `None`
    /// where nothing is missing.
    pub fn refusal(&self, name: &str, filesystem: &Description) -> Option<Refusal> {
        // The serving process would share the guest's only processor with the work it serves.
        if filesystem.in_user_space() {
            let rule = "it is served in user space, and the lab has the kernel's driver instead";
            return Some(
                Refusal::new(name, rule)
                    .with_next("`fstrial lab build --with zfs`, or run it with --testbed device"),
            );
        }
        if let Some(program) = filesystem.programs.iter().find(|program| !self.has(program)) {
            return Some(lacking(name, program));
        }
        let module = filesystem.module;
        let absent = filesystem.needs_device && self.modules.offers(module) == Some(false);
        absent.then(|| {
            Refusal::new(name, format!("this lab's kernel has no {module}")).with_next(
                "make one that has, beside this one: `fstrial lab build --name NAME`, with --kernel or \
                 --kernel-source (docs/howto/kernel.md), and `--lab NAME`",
            )
        })
    }
}

/// The refusal of a contender or workload that needs a program which the lab does not have, with
/// the command that gets it.
pub(crate) fn lacking(name: &str, program: &str) -> Refusal {
    match part_with(program) {
        Some(part) => needs_part(name, part),
        None => Refusal::new(name, format!("this lab has no {program}")).with_next(
            "`fstrial lab build --refresh` gets it where this machine's archives have it",
        ),
    }
}

/// The refusal of a contender or workload that needs an optional part which is not built.
pub(crate) fn needs_part(name: &str, part: &dyn OptionalPart) -> Refusal {
    let part = part.describe();
    let rule = format!("it needs the lab's optional part `{}`", part.name);
    let next = format!("`fstrial lab build --with {}` ({})", part.name, part.summary);
    Refusal::new(name, rule).with_next(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Emulator;

    fn offer(root: &std::path::Path, module: Option<&str>, program: Option<&str>) -> Offer {
        let place = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
        };
        place("modules/modules.order");
        place("tools/sbin/other");
        place("part/modules/other.ko");
        std::fs::write(root.join("modules/modules.builtin"), "kernel/fs/ext4/ext4.ko\n").unwrap();
        if let Some(module) = module {
            place(&format!("part/modules/{module}.ko"));
        }
        if let Some(program) = program {
            place(&format!("part/tools/sbin/{program}"));
        }
        let parts = Parts {
            kernel: root.join("kernel"),
            modules: root.join("modules"),
            tools: root.join("tools"),
            emulator: Emulator::at("emulator".into()),
            optional: vec![root.join("part")],
        };
        Offer::of(&parts).unwrap()
    }

    fn refused(module: Option<&str>, programs: &[&str], filesystem: &str) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let mut offered = offer(root.path(), module, None);
        for program in programs {
            offered = offer(root.path(), module, Some(program));
        }
        let filesystem = stack::filesystems::find(filesystem).unwrap().describe();
        offered.refusal("it", filesystem).map(|refusal| refusal.to_string())
    }

    #[test]
    fn what_is_missing_is_named_with_what_gets_it() {
        let zfs = refused(None, &[], "zfs").unwrap();
        assert!(zfs.contains("fstrial lab build --with zfs"), "{zfs}");
        assert_eq!(refused(Some("zfs"), &["zpool", "zfs"], "zfs"), None);
        let tools = ["mkfs.reiser4", "fsck.reiser4", "debugfs.reiser4"];
        let reiser4 = refused(None, &tools, "reiser4").unwrap();
        assert!(reiser4.contains("no reiser4") && reiser4.contains("--kernel"), "{reiser4}");
        assert_eq!(refused(Some("reiser4"), &tools, "reiser4"), None);
        let refresh = refused(None, &[], "reiser4").unwrap();
        assert!(refresh.contains("no mkfs.reiser4") && refresh.contains("--refresh"), "{refresh}");
        assert_eq!(refused(None, &[], "tmpfs"), None);
        let served = refused(Some("fuse"), &["zfs-fuse", "zpool", "zfs"], "zfs-fuse").unwrap();
        assert!(served.contains("in user space") && served.contains("--with zfs"), "{served}");
    }

    #[test]
    fn optional_parts_are_found_by_what_is_lacking() {
        let root = tempfile::tempdir().unwrap();
        let parts = |offered: &Offer, filesystems: &[&str], workloads: &[&str]| {
            let contenders: Vec<_> = filesystems.iter().map(|it| Contender::plain(it)).collect();
            let parts = offered.parts_for(&contenders, workloads.iter().copied());
            parts.into_keys().collect::<Vec<_>>()
        };
        let bare = offer(root.path(), None, None);
        assert_eq!(parts(&bare, &["ext4", "zfs-fuse"], &["maildir-write"]), [""; 0]);
        assert_eq!(parts(&bare, &["zfs", "ext4"], &["boot"]), ["boot", "zfs"]);
        std::fs::write(root.path().join("part/system.tar"), "").unwrap();
        offer(root.path(), None, Some("zpool"));
        let complete = offer(root.path(), None, Some("zfs"));
        assert_eq!(parts(&complete, &["zfs"], &["boot"]), [""; 0]);
    }

    #[test]
    fn a_module_that_is_part_of_the_kernel_is_there() {
        let programs = stack::filesystems::find("ext4").unwrap().describe().programs;
        assert_eq!(refused(None, programs, "ext4"), None);
    }
}
