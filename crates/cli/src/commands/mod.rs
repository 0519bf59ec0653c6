//! One file a command.

pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod corpus;
pub(crate) mod crash;
pub(crate) mod crosscheck;
pub(crate) mod disk;
pub(crate) mod doctor;
pub(crate) mod guide;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod slurm_task;
pub(crate) mod study;
