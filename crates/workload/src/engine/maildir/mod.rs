//! What the Maildir workloads share: paths and names ([`names`]), the mails to copy from
//! ([`sources`]), the directories ([`setup`]), the sequence of ops ([`plan`]), delivering
//! ([`deliver`]), reading ([`retrieve`]) and reading everything back ([`verify`]).

pub(crate) mod deliver;
pub(crate) mod inventory;
pub(crate) mod names;
pub(crate) mod parameters;
pub(crate) mod plan;
pub(crate) mod retrieve;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod sources;
pub(crate) mod verify;
