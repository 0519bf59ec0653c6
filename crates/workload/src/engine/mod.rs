//! What workloads are made of: system calls on files, threads that start together, contents,
//! cold caches, mail. Nothing here is a workload by itself; those are in `workloads`.

pub(crate) mod cold_cache;
pub(crate) mod contents;
pub(crate) mod direct_io;
pub(crate) mod extents;
pub(crate) mod file_io;
pub(crate) mod keep_going;
pub(crate) mod maildir;
pub(crate) mod path_buffer;
pub(crate) mod thread_group;
pub(crate) mod unsupported;
pub(crate) mod walk;
