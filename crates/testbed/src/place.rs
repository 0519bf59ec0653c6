//! The directory of one trial of testbed `dir`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty directory below the one under test; removed with all its contents when dropped.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Place {
    pub(crate) fn make(parent: &Path) -> io::Result<Place> {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("fstrial-{}-{count}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Place { path })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
