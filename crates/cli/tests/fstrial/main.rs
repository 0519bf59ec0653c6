//! fstrial as its users run it: the built binary, real directories, real loop devices.

mod archive;
mod bad_input;
mod binary;
mod claims;
mod device;
mod directory;
mod documentation;
mod foreign_text;
mod guests;
mod interrupted;
mod lab;
mod sandbox;
mod second_user;
mod study;
mod study_pages;
