//! What the Maildir workloads share: where things lie and what they are called
//! ([`names`]), the mails to copy from ([`sources`]), the directories ([`setup`]), the
//! sequence of ops ([`plan`]), delivering ([`deliver`]), reading ([`retrieve`]) and
//! reading everything back ([`verify`]).

pub(super) mod deliver;
pub(super) mod inventory;
pub(super) mod names;
pub(super) mod parameters;
pub(super) mod plan;
pub(super) mod retrieve;
pub(super) mod run;
pub(super) mod setup;
pub(super) mod sources;
pub(super) mod verify;
