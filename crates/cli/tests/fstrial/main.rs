//! fstrial as its users run it: the built binary, real directories, real loop devices.

mod bad_input;
mod binary;
mod device;
mod directory;
mod documentation;
mod interrupted;
mod lab;
mod sandbox;
mod study;
