//! The shipped devices: one line for each parameter file.

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

/// All shipped devices: the ideal one, then by age.
pub const DISKS: &[Shipped] = shipped![
    "ideal",
    "seagate-st32171w",
    "seagate-st32171w-disksim",
    "seagate-st32171w-validation",
    "ide-2gb-1998",
    "ibm-travelstar-20gn",
    "maxtor-atlas-10k-v",
    "adaptec-2010s",
    "hitachi-7k500-400gb",
    "hitachi-travelstar-5k160",
    "areca-arc-1220",
    "hitachi-7k1000c-1tb",
    "seagate-st2000dm006",
    "seagate-st2000dm006-fitted",
    "samsung-970-pro",
    "samsung-pm883",
    "samsung-870-evo",
    "samsung-pm9a3",
    "virtual-machine",
    "seagate-ironwolf-8tb",
    "seagate-exos-x20-20tb",
];
