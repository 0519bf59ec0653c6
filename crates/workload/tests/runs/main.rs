//! Workloads run for real, in temporary directories and on filesystems that fill up.

mod full;
mod maildir;
mod support;
