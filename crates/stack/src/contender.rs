//! A contender as data: filesystem, options and layout.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::layouts::LayoutChoice;

/// One column of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// Name in tables; unique within a run.
    pub name: String,
    /// The filesystem's name in [`crate::FILESYSTEMS`].
    pub filesystem: String,
    /// A preset of that filesystem, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Options by meaning, beyond the preset's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Arguments passed to mkfs as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
    /// Mount options passed to the kernel as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount: Vec<String>,
    /// What it sits on.
    #[serde(default)]
    pub layout: LayoutChoice,
}

impl Contender {
    /// A filesystem with its defaults on a single disk.
    pub fn plain(filesystem: &str) -> Contender {
        Contender {
            name: filesystem.to_owned(),
            filesystem: filesystem.to_owned(),
            preset: None,
            options: BTreeMap::new(),
            mkfs: Vec::new(),
            mount: Vec::new(),
            layout: LayoutChoice::default(),
        }
    }
}
