//! The workspace's sources, read and parsed once for all checks.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A crate's own folder and its Rust files.
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) files: Vec<SourceFile>,
}

/// A Rust file.
pub(crate) struct SourceFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
}

impl SourceFile {
    pub(crate) fn parse(path: &Path, text: String) -> Result<SourceFile> {
        let syntax = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        Ok(SourceFile { path: path.to_owned(), text, syntax })
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// Every crate of the workspace, this one included, in order of their names.
pub(crate) fn workspace() -> Result<Vec<Crate>> {
    let mut folders = vec![PathBuf::from("xtask")];
    for entry in std::fs::read_dir("crates")? {
        folders.push(entry?.path());
    }
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders.sort();
    folders.iter().map(|folder| read_crate(folder)).collect()
}

fn read_crate(folder: &Path) -> Result<Crate> {
    let files = paths(folder)?.into_iter().map(|path| {
        let text = std::fs::read_to_string(&path)?;
        SourceFile::parse(&path, text)
    });
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Crate { name, folder: folder.to_owned(), files: files.collect::<Result<_>>()? })
}

/// The Rust files below a folder.
fn paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(paths(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether an item is there for tests alone: `#[test]`, `#[cfg(test)]`.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().trim() == "test"
        }
        syn::Meta::NameValue(_) => false,
    })
}
