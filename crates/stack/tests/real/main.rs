//! Plans carried out on loop devices: made, mounted, written to, checked, inspected. Needs
//! root and the tools of every filesystem; says so where it cannot run.

mod assembled;
mod contender;
mod machine;
mod made;
mod mounted;
mod mounted_elsewhere;
mod repeatable;
