//! Kernel modules: found in a tree, decompressed, stripped of what the guest does not need, and
//! ordered so that each module comes after those it depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::elf::Elf;
use crate::error::LabError;

/// A module ready to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    /// Name, with underscores.
    pub(crate) name: String,
    /// The decompressed file.
    pub(crate) image: Vec<u8>,
}

/// The modules of one kernel.
#[derive(Debug)]
pub(crate) struct ModuleTree {
    files: BTreeMap<String, PathBuf>,
    /// Modules built into the kernel, as `modules.builtin` lists them; `None` where no list is.
    built_in: Option<BTreeSet<String>>,
}

impl ModuleTree {
    /// Lists the modules below `directories`: `lib/modules/RELEASE`, and those of modules that were
    /// built for that kernel.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(crate) fn read(directories: Vec<PathBuf>) -> Result<ModuleTree, LabError> {
        let mut files = BTreeMap::new();
        let lists = directories.iter().map(|directory| directory.join("modules.builtin"));
        // The list is missing in directories of separately built modules and in old trees.
        let lists = lists.filter_map(|list| std::fs::read_to_string(list).ok());
        let lists: Vec<String> = lists.collect();
        let lines = lists.iter().flat_map(|list| list.lines());
        let built_in = lines.filter_map(|line| module_name(Path::new(line))).collect();
        let built_in = (!lists.is_empty()).then_some(built_in);
        let mut left = directories;
        while let Some(directory) = left.pop() {
            let entries =
                std::fs::read_dir(&directory).map_err(LabError::at("read", &directory))?;
            for entry in entries {
                let entry = entry.map_err(LabError::at("read", &directory))?;
                let kind = entry.file_type().map_err(LabError::at("stat", &entry.path()))?;
                if kind.is_dir() {
                    left.push(entry.path());
                } else if let Some(name) = module_name(&entry.path()) {
                    files.insert(name, entry.path());
                }
            }
        }
        Ok(ModuleTree { files, built_in })
    }

    /// Whether there is such a module, to be loaded.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.contains_key(&name.replace('-', "_"))
    }

    /// Whether the kernel has this, as a module or built in; `None` where it is no module and the
    /// kernel does not list what is built in.
    pub(crate) fn offers(&self, name: &str) -> Option<bool> {
        if self.has(name) {
            return Some(true);
        }
        Some(self.built_in.as_ref()?.contains(&name.replace('-', "_")))
    }

    /// The modules `wanted` and all they depend on, dependencies first. A module that is not in the
    /// tree is skipped: it may be built in or missing. The guest finds out which; the caller can
    /// ask [`ModuleTree::has`].
    ///
    /// # Errors
    /// When one cannot be read or is no module.
    pub(crate) fn collect(&self, wanted: &[&str]) -> Result<Vec<Module>, LabError> {
        let mut ordered = Vec::new();
        let mut seen = BTreeSet::new();
        for name in wanted {
            self.visit(name, &mut seen, &mut ordered)?;
        }
        Ok(ordered)
    }

    fn visit(
        &self,
        name: &str,
        seen: &mut BTreeSet<String>,
        ordered: &mut Vec<Module>,
    ) -> Result<(), LabError> {
        let name = name.replace('-', "_");
        let Some(path) = self.files.get(&name) else { return Ok(()) };
        if !seen.insert(name.clone()) {
            return Ok(());
        }
        let mut image = read_module(path)?;
        let elf = Elf::parse(&image)
            .ok_or_else(|| LabError::damaged(path, "it is not a kernel module"))?;
        let depends = elf.module_info("depends");
        let hidden = elf.name_of_section(b".BTF");
        for dependency in depends.iter().flat_map(|list| list.split(',')) {
            if !dependency.is_empty() {
                self.visit(dependency, seen, ordered)?;
            }
        }
        // Checking type information takes a third of a module's loading time.
        if let Some(name) = hidden.and_then(|at| image.get_mut(at + 1)) {
            *name = b'-';
        }
        ordered.push(Module { name, image });
        Ok(())
    }
}

/// Suffixes of module files, uncompressed and compressed.
const SUFFIXES: [&str; 4] = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"];

fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let stem = SUFFIXES.iter().find_map(|suffix| file.strip_suffix(suffix))?;
    Some(stem.replace('-', "_"))
}

/// The largest module, compressed or not. The largest of Debian's has 20 MB.
const MODULE_MAX: u64 = 512 << 20;

/// Decompresses xz; a file that asks for more memory than `xz -9` does is refused.
pub(crate) fn xz(file: &[u8]) -> impl Read {
    lzma_rust2::XzReader::new_mem_limit(file, true, 128 << 10)
}

fn read_module(path: &Path) -> Result<Vec<u8>, LabError> {
    let file = files::read_file(path, MODULE_MAX)?;
    let compressed = path.extension().and_then(|extension| extension.to_str());
    let decompressed = match compressed {
        Some("xz") => files::read_at_most(xz(&file), MODULE_MAX),
        Some("gz") => files::read_at_most(flate2::read::MultiGzDecoder::new(&file[..]), MODULE_MAX),
        Some("zst") => ruzstd::decoding::StreamingDecoder::new(&file[..])
            .map_err(std::io::Error::other)
            .and_then(|reader| files::read_at_most(reader, MODULE_MAX)),
        _ => Ok(file),
    };
    let mut image = decompressed.map_err(LabError::at("decompress", path))?;
    strip_signature(&mut image);
    Ok(image)
}

/// Cuts off the signature that a distribution appends: the guest does not check it.
/// Linux, `include/linux/module_signature.h`: the signature, twelve bytes of which the last
/// four are its length, then a marker.
fn strip_signature(image: &mut Vec<u8>) {
    const MARKER: &[u8] = b"~Module signature appended~\n";
    let Some(rest) = image.strip_suffix(MARKER) else { return };
    let Some(length) = rest.last_chunk::<4>().copied().map(u32::from_be_bytes) else { return };
    if let Some(end) = rest.len().checked_sub(12 + length as usize) {
        image.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn signatures_go_and_nothing_else() {
        let mut signed = b"\x7fELF module".to_vec();
        let plain = signed.clone();
        signed.extend([9; 20]);
        signed.extend([0, 0, 2, 0, 0, 0, 0, 0]);
        signed.extend(20u32.to_be_bytes());
        signed.extend(b"~Module signature appended~\n");
        strip_signature(&mut signed);
        assert_eq!(signed, plain);
        strip_signature(&mut signed);
        assert_eq!(signed, plain);
    }

    #[test]
    fn names_are_as_the_kernel_writes_them() {
        let name = |path: &str| module_name(Path::new(path));
        assert_eq!(name("kernel/crypto/crc32c-intel.ko.xz").as_deref(), Some("crc32c_intel"));
        assert_eq!(name("kernel/fs/ext4/ext4.ko").as_deref(), Some("ext4"));
        assert_eq!(name("modules.order"), None);
    }

    #[test]
    fn a_module_is_the_same_however_it_is_compressed() {
        let directory = tempfile::tempdir().unwrap();
        let read = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(module_name(&path).as_deref(), Some("ext4"));
            read_module(&path)
        };
        let module = b"\x7fELF a module".repeat(50);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&module).unwrap();
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zst = ruzstd::encoding::compress_to_vec(&module[..], level);
        assert_eq!(read("ext4.ko", &module).unwrap(), module);
        assert_eq!(read("ext4.ko.gz", &gz.finish().unwrap()).unwrap(), module);
        assert_eq!(read("ext4.ko.zst", &zst).unwrap(), module);
        for cut in ["ext4.ko.gz", "ext4.ko.zst", "ext4.ko.xz"] {
            let error = read(cut, &zst[..3]).unwrap_err().to_string();
            assert!(error.contains("cannot decompress") && error.contains(cut), "{error}");
        }
    }
}
