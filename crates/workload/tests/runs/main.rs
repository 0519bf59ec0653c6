//! Workloads run for real, in temporary directories and on filesystems that fill up, and
//! traced.

mod age;
mod bigfile;
mod bonnie;
mod custom;
mod digests;
mod ffsb;
mod filebench;
mod fsync_append;
mod full;
mod maildir;
mod mix;
mod mongo;
mod originals;
mod postmark;
mod program;
mod programs;
mod randomio;
mod scale;
mod support;
mod trace;
mod tree;
mod upkeep;
mod video;
mod watching;
