//! Compiles a kernel for the lab, from Debian's source of a version or from the user's own tree,
//! with the user's patches and settings. It needs no root. The result is kept in the cache under a
//! key of everything it depends on. An interrupted build is continued.
//!
//! The work is done in `built/kernel-KEY.begun`, of which there is at most one. It holds the
//! patched tree, in which `make` runs, so that no path of this machine gets into the kernel.

mod compile;
mod patches;
mod settings;
#[cfg(test)]
mod tests;
mod tree;

use std::path::{Path, PathBuf};

use units::Bytes;

use crate::apt::{Archives, Package};
use crate::building;
use crate::cache::{key, link_tree};
use crate::error::LabError;
use crate::lock::Lock;
use crate::packages::Source;
use crate::progress::BuildProgress;
use patches::Patch;
use settings::Setting;
pub use tree::SourceTree;

/// To be changed whenever a change in this module makes a different kernel from the same sources.
const RECIPE: &[u8] = b"1";
/// The kernel's directory, relative to the lab's.
const PLACE: &str = "kernel-built";
/// Disk space that a build needs until it is done: 1.6 GB for the sources, and for the largest
/// versions as much again for compiled files.
const ROOM: Bytes = Bytes::from_gib(4);

/// A kernel to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource {
    /// Its sources.
    pub tree: SourceTree,
    /// Unified diffs for `patch -p1`, or directories of them, in the order in which they apply.
    pub patches: Vec<PathBuf>,
    /// Files of settings (`CONFIG_EXT4_FS=m`), applied after the shipped ones; the last value of an
    /// option counts.
    pub settings: Vec<PathBuf>,
}

/// A kernel to compile, after its inputs have been read and checked. Nothing was made yet.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    tree: SourceTree,
    patches: Vec<Patch>,
    /// The shipped settings and the user's own, as `make` reads them.
    configuration: String,
    /// The user's own settings, every one of which has to take effect.
    wanted: Vec<Setting>,
    setting_files: Vec<String>,
    compiler: String,
}

/// A kernel that was compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compiled {
    /// The kernel, relative to the lab's directory.
    pub(crate) kernel: PathBuf,
    /// Its modules, likewise.
    pub(crate) modules: PathBuf,
    /// Distinguishes it from other kernels of the same version.
    pub(crate) key: String,
    /// What it was made of, one line.
    pub(crate) made_of: String,
    /// Debian's package of its source.
    pub(crate) package: Option<Package>,
}

impl KernelSource {
    /// Reads and checks all inputs, and looks for the programs that compile a kernel.
    ///
    /// # Errors
    /// When a file or a program is missing, or a file is not what it should be.
    pub(crate) fn plan(&self) -> Result<Plan, LabError> {
        self.tree.check()?;
        let patches = self.patches.iter().map(|path| patches::read(path));
        let patches = patches.collect::<Result<Vec<_>, _>>()?.concat();
        let mut configuration = settings::SHIPPED.to_owned();
        let (mut wanted, mut setting_files) = (Vec::new(), Vec::new());
        for path in &self.settings {
            let text = files::read_text(path)?;
            wanted.extend(settings::read(path, &text)?);
            configuration.push('\n');
            configuration.push_str(&text);
            setting_files.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        configuration.push('\n');
        let compiler = compile::compiler()?;
        Ok(Plan {
            tree: self.tree.clone(),
            patches,
            configuration,
            wanted,
            setting_files,
            compiler,
        })
    }
}

/// Puts the kernel of this plan into `work`, an unfinished lab: a kept one, or else a newly
/// compiled one.
///
/// # Errors
/// Each step's own: which hunk, which option, which file of the sources, and what to do.
pub(crate) fn build(
    plan: &Plan,
    cache: &Path,
    name: &str,
    work: &Path,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Compiled, LabError> {
    let archives = Archives { security: plan.tree.archives(), ..Archives::default() };
    // Of interrupted builds only the newest is kept.
    let lock = cache.join("kernel.lock");
    let _lock = Lock::take_for(&lock, "the kernel that is compiled", progress)?;
    let mut source = Source::new(cache, name, work, archives, Vec::new(), progress);
    let origin = plan.tree.look_up(&mut source)?;
    let built = cache.join("built");
    std::fs::create_dir_all(&built).map_err(LabError::at("create", &built))?;
    let key = plan.key(&origin.identity);
    let kept = built.join(format!("kernel-{key}"));
    if !kept.is_dir() {
        let begun = built.join(format!("kernel-{key}.begun"));
        forget_others(&built, &begun)?;
        let mut site = Site { plan, origin: &origin, source: &mut source, begun, tree_made: false };
        for (step, goes_on) in STEPS {
            if let Err(error) = step(&mut site) {
                if !goes_on {
                    let _ = std::fs::remove_dir_all(&site.begun);
                }
                return Err(error);
            }
        }
        std::fs::rename(site.result(), &kept).map_err(LabError::at("rename", &kept))?;
        std::fs::remove_dir_all(&site.begun).map_err(LabError::at("remove", &site.begun))?;
    }
    link_tree(&kept, &work.join(PLACE))?;
    let release = compile::only_entry(&kept.join("lib/modules"))?;
    Ok(Compiled {
        kernel: Path::new(PLACE).join(compile::IMAGE),
        modules: Path::new(PLACE).join("lib/modules").join(release),
        made_of: plan.made_of(&origin),
        key,
        package: origin.package,
    })
}

type Step = fn(&mut Site<'_, '_>) -> Result<(), LabError>;

/// The steps, in order. Each step finds out by itself what an earlier build has already done. The
/// flag says whether to keep the partial result if the step fails: after a patch that does not fit
/// it is useless, since the same patch will never fit.
const STEPS: [(Step, bool); 4] = [
    (unpack_and_patch, false),
    (configure, false),
    (compile::compile, true),
    (compile::install, true),
];

/// Where a kernel is compiled.
struct Site<'a, 's> {
    plan: &'a Plan,
    origin: &'a tree::Origin,
    source: &'a mut Source<'s>,
    begun: PathBuf,
    /// Whether this build unpacked the tree, rather than an interrupted one before it.
    tree_made: bool,
}

impl Site<'_, '_> {
    fn tree(&self) -> PathBuf {
        self.begun.join("tree")
    }

    fn result(&self) -> PathBuf {
        self.begun.join("result")
    }

    fn tell(&mut self, doing: impl Into<String>) {
        (self.source.progress)(BuildProgress::Part { part: "kernel", doing: doing.into() });
    }
}

fn unpack_and_patch(site: &mut Site<'_, '_>) -> Result<(), LabError> {
    if site.tree().is_dir() {
        site.tell("continuing an interrupted build");
        return Ok(());
    }
    let begun = site.begun.clone();
    std::fs::create_dir_all(&begun).map_err(LabError::at("create", &begun))?;
    let room = rustix::fs::statvfs(&begun);
    let room = room.map_err(|error| LabError::at("look at", &begun)(error.into()))?;
    let free = Bytes(room.f_bavail.saturating_mul(room.f_frsize));
    if free < ROOM {
        let problem = format!(
            "{free} are free, but compiling a kernel needs {ROOM} until it is done; free some \
             space, or set XDG_CACHE_HOME to a place that has some"
        );
        return Err(LabError::value(begun.display().to_string(), problem));
    }
    // The tree appears under its name only when it is complete, with all patches.
    let half = begun.join("half");
    if half.exists() {
        std::fs::remove_dir_all(&half).map_err(LabError::at("remove", &half))?;
    }
    site.tell(format!("unpacking {}", site.origin.name));
    site.plan.tree.fill(&half, site.source)?;
    for patch in &site.plan.patches {
        site.tell(format!("applying {}", patch.name));
        let scratch = begun.join("patch");
        patches::apply(std::slice::from_ref(patch), &half, &scratch, &site.origin.name)?;
    }
    std::fs::rename(&half, site.tree()).map_err(LabError::at("rename", &half))?;
    site.tree_made = true;
    Ok(())
}

fn configure(site: &mut Site<'_, '_>) -> Result<(), LabError> {
    let asked = site.begun.join("configuration");
    std::fs::write(&asked, &site.plan.configuration).map_err(LabError::at("write", &asked))?;
    let tree = site.tree();
    let mut make = compile::make(&tree);
    building::run(make.env("KCONFIG_ALLCONFIG", &asked).arg("allnoconfig"), |_| {})?;
    let path = tree.join(".config");
    let text = std::fs::read_to_string(&path).map_err(LabError::at("read", &path))?;
    let configuration = settings::read(&path, &text)?;
    let untaken = settings::untaken(&site.plan.wanted, &configuration);
    if !untaken.is_empty() {
        let explained = untaken.iter().map(|one| settings::explain(&tree, one));
        let explained = explained.collect::<Result<Vec<_>, _>>()?;
        let files = site.plan.setting_files.join(", ");
        return Err(LabError::value(format!("--config {files}"), explained.join("; ")));
    }
    let has =
        |option: &str| configuration.iter().any(|one| one.option == option && one.value != "n");
    if !has("BLK_DEV_UBLK") && !has("BLK_DEV_NBD") {
        let problem = "neither CONFIG_BLK_DEV_UBLK nor CONFIG_BLK_DEV_NBD took effect, and one of \
                       them is how a guest reaches its disks; leave them, and NET, as the lab sets \
                       them";
        return Err(LabError::value("the kernel's configuration", problem));
    }
    Ok(())
}

/// Removes the work of all interrupted builds but `begun`, which is being continued.
fn forget_others(built: &Path, begun: &Path) -> Result<(), LabError> {
    for entry in std::fs::read_dir(built).map_err(LabError::at("read", built))?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "begun") && path != begun {
            std::fs::remove_dir_all(&path).map_err(LabError::at("remove", &path))?;
        }
    }
    Ok(())
}

/// Removes interrupted builds, and all compiled kernels but those with these keys.
///
/// # Errors
/// When one cannot be removed.
pub(crate) fn forget_all_but(cache: &Path, keys: &[String]) -> Result<(), LabError> {
    for entry in std::fs::read_dir(cache.join("built")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let key = name.to_str().and_then(|name| name.strip_prefix("kernel-"));
        if key.is_some_and(|key| !keys.iter().any(|kept| kept == key)) {
            let path = entry.path();
            std::fs::remove_dir_all(&path).map_err(LabError::at("remove", &path))?;
        }
    }
    Ok(())
}

impl Plan {
    /// A key of everything that the kernel depends on.
    fn key(&self, origin: &str) -> String {
        let mut parts = vec![RECIPE, self.compiler.as_bytes(), origin.as_bytes()];
        parts.push(self.configuration.as_bytes());
        parts.extend(self.patches.iter().map(|patch| patch.text.as_slice()));
        key(&parts)
    }

    fn made_of(&self, origin: &tree::Origin) -> String {
        let mut words = vec![origin.name.clone()];
        words.extend(self.patches.iter().map(|patch| format!("with {}", patch.name)));
        words.extend(self.setting_files.iter().map(|file| format!("configured by {file}")));
        words.join(", ")
    }
}
