//! The devices that are shipped: one line for each parameter file.

use crate::description::{DescriptionError, DiskDescription};

/// A shipped device: its name and its file.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// The name, as the file has it.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../parameters/", $name, ".toml")),
        }),*]
    };
}

/// All shipped devices, oldest first.
pub const DISKS: &[Shipped] = shipped![
    "ideal",
    "seagate-st32171w",
    "maxtor-atlas-10k-v",
];

/// The shipped device of that name.
///
/// # Errors
/// When there is none; the message lists those there are.
pub(crate) fn find(name: &str) -> Result<DiskDescription, DescriptionError> {
    match DISKS.iter().find(|shipped| shipped.name == name) {
        Some(shipped) => {
            DiskDescription::parse(&format!("{}.toml", shipped.name), shipped.text)
        }
        None => Err(DescriptionError::Unknown {
            name: name.to_owned(),
            known: DISKS.iter().map(|shipped| shipped.name).collect::<Vec<_>>().join(", "),
        }),
    }
}
