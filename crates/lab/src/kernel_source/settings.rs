//! Settings of a kernel's configuration: read from files, and compared with the configuration that
//! the kernel's build makes from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::LabError;

/// The settings that a lab needs, as input of `make allnoconfig`.
pub(super) const SHIPPED: &str = include_str!("lab.config");

/// One setting, `CONFIG_EXT4_FS=m`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// Its option, without `CONFIG_`.
    pub(super) option: String,
    /// `y`, `m`, `n`, a number, or a text in quotation marks.
    pub(super) value: String,
}

/// Reads a file of settings.
///
/// # Errors
/// When a line is neither a setting nor a comment.
pub(super) fn read(file: &Path, text: &str) -> Result<Vec<Setting>, LabError> {
    let mut settings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let unset =
            line.strip_prefix("# CONFIG_").and_then(|line| line.strip_suffix(" is not set"));
        if let Some(option) = unset {
            settings.push(Setting { option: option.to_owned(), value: "n".to_owned() });
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match line.strip_prefix("CONFIG_").and_then(|line| line.split_once('=')) {
            Some((option, value)) if plain(option) && !value.is_empty() => {
                settings.push(Setting { option: option.to_owned(), value: value.to_owned() });
            }
            _ => {
                return Err(LabError::value(
                    format!("{}, line {}", file.display(), index + 1),
                    format!("`{line}` is no setting; one looks like CONFIG_EXT4_FS=m"),
                ));
            }
        }
    }
    Ok(settings)
}

/// A setting that did not take effect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Untaken<'a> {
    pub(super) setting: &'a Setting,
    /// Its actual value.
    pub(super) found: String,
}

/// The settings that did not take effect in a configuration. If an option is set twice, the later
/// value counts. An option that was to be a module may be built in.
pub(super) fn untaken<'a>(wanted: &'a [Setting], configuration: &[Setting]) -> Vec<Untaken<'a>> {
    let found: BTreeMap<&str, &str> =
        configuration.iter().map(|one| (one.option.as_str(), one.value.as_str())).collect();
    let last: BTreeMap<&str, &Setting> =
        wanted.iter().map(|one| (one.option.as_str(), one)).collect();
    let mut missing = Vec::new();
    for setting in last.into_values() {
        let found = found.get(setting.option.as_str()).copied().unwrap_or("n");
        if found != setting.value && (setting.value.as_str(), found) != ("m", "y") {
            missing.push(Untaken { setting, found: found.to_owned() });
        }
    }
    missing
}

/// Why an option may not have taken effect: where the tree declares it and what it depends on.
///
/// # Errors
/// When the tree cannot be read.
pub(super) fn explain(tree: &Path, untaken: &Untaken<'_>) -> Result<String, LabError> {
    let Setting { option, value } = untaken.setting;
    let outcome = format!("CONFIG_{option}={value} did not take effect: it is {}", untaken.found);
    let Some((file, conditions)) = declaration(tree, option)? else {
        return Ok(format!(
            "{outcome}. This tree has no such option: check its spelling, and whether the patch \
             that adds it was given"
        ));
    };
    let file = file.strip_prefix(tree).unwrap_or(&file).display().to_string();
    Ok(match conditions.is_empty() {
        true => format!("{outcome}. See {file}, where it is declared"),
        false => {
            format!("{outcome}. According to {file} it {}; set these too", conditions.join(", "))
        }
    })
}

/// The file that declares an option, and the option's `depends on` lines there.
fn declaration(tree: &Path, option: &str) -> Result<Option<(PathBuf, Vec<String>)>, LabError> {
    let mut left = vec![tree.to_owned()];
    while let Some(directory) = left.pop() {
        let entries = std::fs::read_dir(&directory).map_err(LabError::at("read", &directory))?;
        for entry in entries {
            let entry = entry.map_err(LabError::at("read", &directory))?;
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) {
                left.push(path);
            } else if entry.file_name().to_string_lossy().starts_with("Kconfig") {
                let text = files::read_file(&path, files::TEXT_MAX)?;
                let text = String::from_utf8_lossy(&text);
                if let Some(conditions) = conditions(&text, option) {
                    return Ok(Some((path, conditions)));
                }
            }
        }
    }
    Ok(None)
}

/// The `depends on` of an option that this text declares.
fn conditions(text: &str, option: &str) -> Option<Vec<String>> {
    let declares = |line: &str| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("config" | "menuconfig")) && words.next() == Some(option)
    };
    let mut lines = text.lines().skip_while(|line| !declares(line));
    lines.next()?;
    let ends = |line: &str| !line.is_empty() && !line.starts_with([' ', '\t', '#']);
    let own = lines.take_while(|line| !ends(line)).map(str::trim);
    Some(own.filter(|line| line.starts_with("depends on")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Vec<Setting> {
        read(Path::new("own.config"), text).unwrap()
    }

    #[test]
    fn a_line_that_is_no_setting_is_named() {
        let text = "# a comment\n\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"\"\n";
        let values: Vec<_> = settings(text).into_iter().map(|one| one.value).collect();
        assert_eq!(values, ["y", "n", "\"\""]);
        for bad in ["REISER4_FS=m", "CONFIG_A", "CONFIG_A=", "CONFIG_A B=y", "set -e"] {
            let text = format!("CONFIG_A=y\n{bad}\n");
            let error = read(Path::new("own.config"), &text).unwrap_err().to_string();
            assert!(error.contains("own.config, line 2") && error.contains(bad), "{error}");
        }
    }

    #[test]
    fn what_did_not_take_is_found() {
        let wanted = settings(
            "CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=m\n# CONFIG_D is not set\nCONFIG_E=1\nCONFIG_E=2\n",
        );
        let configuration = settings("CONFIG_A=y\nCONFIG_B=y\nCONFIG_D=y\nCONFIG_E=2\n");
        let missing = untaken(&wanted, &configuration);
        let missing: Vec<_> =
            missing.iter().map(|one| (one.setting.option.as_str(), one.found.as_str())).collect();
        assert_eq!(missing, [("C", "n"), ("D", "y")]);
    }

    #[test]
    fn what_an_option_depends_on_is_told() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("fs/x")).unwrap();
        let text = "config OTHER\n\tdepends on NOT_THIS\n\nconfig X_FS\n\ttristate \"X\"\n\
                    \tdepends on BLOCK && NET\n\n\tselect Y\n\thelp\n\t  A text.\n\nconfig Z\n\
                    \tdepends on NOT_THAT\n";
        std::fs::write(tree.path().join("fs/x/Kconfig"), text).unwrap();
        let explained = |line: &str| {
            let wanted = settings(line);
            explain(tree.path(), &untaken(&wanted, &[])[0]).unwrap()
        };
        let said = explained("CONFIG_X_FS=m\n");
        assert!(said.contains("CONFIG_X_FS=m did not take effect: it is n"), "{said}");
        assert!(said.contains("fs/x/Kconfig it depends on BLOCK && NET;"), "{said}");
        assert!(explained("CONFIG_NONE=m\n").contains("no such option"));
    }

    #[test]
    fn the_shipped_settings_are_settings() {
        let shipped = read(Path::new("lab.config"), SHIPPED).unwrap();
        for option in ["BLK_DEV_UBLK", "BLK_DEV_NBD", "BLK_DEV_INITRD", "EXT4_FS"] {
            assert!(shipped.iter().any(|one| one.option == option), "{option}");
        }
    }
}
