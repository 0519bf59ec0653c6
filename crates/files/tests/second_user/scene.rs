//! A directory of the other user beside one of root's, and the other user at work in it.

use std::error::Error;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{XattrFlags, setxattr};
use skippable::{Skipped, skip};

/// `nobody`.
pub(crate) const OTHER_USER: u32 = 65534;
/// How often root works while the other user is at it.
pub(crate) const ROUNDS: u64 = 10_000;

pub(crate) type Attempt = Result<(), Box<dyn Error>>;

/// A directory of the other user with a precious one of root's beside it and one inside.
pub(crate) struct Scene {
    _room: tempfile::TempDir,
    pub(crate) theirs: PathBuf,
    pub(crate) precious: PathBuf,
}

impl Scene {
    pub(crate) fn new() -> io::Result<Scene> {
        let room = tempfile::tempdir()?;
        fs::set_permissions(room.path(), fs::Permissions::from_mode(0o755))?;
        let (theirs, precious) = (room.path().join("theirs"), room.path().join("precious"));
        fs::create_dir(&theirs)?;
        std::os::unix::fs::chown(&theirs, Some(OTHER_USER), Some(OTHER_USER))?;
        for directory in [&precious, &theirs.join("root-kept")] {
            fs::create_dir(directory)?;
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
            fs::write(directory.join("file"), "precious")?;
        }
        Ok(Scene { _room: room, theirs, precious })
    }

    /// The other user at work: a loop of perl .
    pub(crate) fn attack(&self, round: &str) -> io::Result<Attack> {
        let script = format!(
            "$| = 1; my ($dir, $precious) = @ARGV; chdir $dir or die; my $n = 0; \
             sub exchange {{ my ($one, $other) = @_; \
             syscall({}, -100, $one, -100, $other, 2) == 0 or die $! }} \
             while (1) {{ {round}; $n++; print \"at it\\n\" if $n == 1 }}",
            libc::SYS_renameat2
        );
        let mut child = Command::new("perl")
            .arg("-e")
            .arg(script)
            .args([&self.theirs, &self.precious])
            .uid(OTHER_USER)
            .gid(OTHER_USER)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut said = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        said.read_exact(&mut [0; 6])?;
        Ok(Attack(child))
    }

    /// The other user once, with a script of perl; whether it ended well.
    pub(crate) fn once(&self, script: &str) -> io::Result<bool> {
        let script = format!("my ($dir, $precious) = @ARGV; chdir $dir or die; {script}; exit 0");
        let mut other = Command::new("perl");
        other.arg("-e").arg(script).args([&self.theirs, &self.precious]).stderr(Stdio::null());
        Ok(other.uid(OTHER_USER).gid(OTHER_USER).status()?.success())
    }

    /// A directory of root's beside the other user's, with this mode.
    pub(crate) fn beside(&self, name: &str, mode: u32) -> io::Result<PathBuf> {
        let path = self.theirs.with_file_name(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        Ok(path)
    }

    /// That what is root's is what it was, wherever the other user moved it.
    pub(crate) fn check(&self) -> Attempt {
        let kept = |path: &Path| fs::read(path.join("file")).is_ok_and(|text| text == b"precious");
        let count = |path: &Path| fs::read_dir(path).map(Iterator::count).unwrap_or(0);
        if !kept(&self.precious) || count(&self.precious) != 1 {
            return Err("a directory outside was changed".into());
        }
        let mut inside = fs::read_dir(&self.theirs)?.flatten().map(|entry| entry.path());
        match inside.find(|path| kept(path)) {
            Some(path) if count(&path) == 1 => Ok(()),
            _ => Err("root's directory in the other user's was changed".into()),
        }
    }
}

pub(crate) struct Attack(Child);

impl Attack {
    /// The number of the other user's process.
    pub(crate) fn process(&self) -> u32 {
        self.0.id()
    }

    /// That the other user has been at work all the time.
    pub(crate) fn end(mut self) -> Attempt {
        match self.0.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the other user stopped: {status}").into()),
        }
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lets the other user do everything in a directory: `access` or `default`, as setfacl -m does.
///
/// # Errors
/// Skips the test where the filesystem has no ACLs.
pub(crate) fn let_other_user(path: &Path, list: &str) -> Result<(), Skipped> {
    // Owner, the other user, group, mask, others (acl(5)).
    let entries =
        [(0x01, 7, !0), (0x02, 7, OTHER_USER), (0x04, 0, !0), (0x10, 7, !0), (0x20, 0, !0)];
    let mut value = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        value.extend(u16::to_le_bytes(tag));
        value.extend(u16::to_le_bytes(permissions));
        value.extend(u32::to_le_bytes(id));
    }
    let name = format!("system.posix_acl_{list}");
    match setxattr(path, name.as_str(), &value, XattrFlags::empty()) {
        Err(rustix::io::Errno::OPNOTSUPP) => skip("the filesystem of $TMPDIR has no ACLs"),
        done => {
            done.unwrap();
            Ok(())
        }
    }
}
