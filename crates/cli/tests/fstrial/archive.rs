//! A small archive of Debian packages on this machine: what a download meets is arranged, the
//! network takes no part.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::sandbox::Sandbox;

/// How a file is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// As it is.
    Whole,
    /// Half of it, then the connection is closed.
    Cut,
    /// Half of it, then nothing more comes.
    Stalled,
    /// One byte is another.
    Changed,
}

type Files = Arc<Mutex<BTreeMap<String, (Served, Vec<u8>)>>>;

/// The kernel's package and release.
pub(crate) const RELEASE: &str = "6.12.1+deb12-amd64";
/// What the archive's kernel consists of.
pub(crate) const KERNEL: &str = "a kernel, as it were";
/// The file of the kernel's package.
pub(crate) const KERNEL_FILE: &str = "kernel.deb";

/// The archive, served until its test's process ends.
pub(crate) struct Archive {
    files: Files,
    stalled: Receiver<()>,
}

impl Archive {
    /// A kernel and one tool, and a sandbox whose fstrial gets its packages from here.
    pub(crate) fn of(sandbox: &Sandbox) -> Archive {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let list = sandbox.path("sources.list");
        fs::write(&list, format!("deb [trusted=yes] http://127.0.0.1:{port}/ ./\n")).unwrap();
        let settings = format!(
            "Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"/dev/null\";\n\
             Acquire::http::Proxy::127.0.0.1 \"DIRECT\";\n",
            list.display()
        );
        fs::write(sandbox.path("apt.conf"), settings).unwrap();
        // It is looked for and not run.
        program(sandbox, "qemu-system-x86_64", "exit 1");
        let modules = format!("lib/modules/{RELEASE}/ublk_drv.ko");
        let image = format!("boot/vmlinuz-{RELEASE}");
        let kernel = format!("linux-image-{RELEASE}");
        let (files, (told, stalled)) = (Files::default(), channel());
        let archive = Archive { files: files.clone(), stalled };
        archive.add(sandbox, KERNEL_FILE, &kernel, &[(&image, KERNEL), (&modules, "module")]);
        archive.add(sandbox, "tools.deb", "util-linux", &[("usr/sbin/wipefs", "a tool")]);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (files, told) = (files.clone(), told.clone());
                std::thread::spawn(move || serve(connection, &files, &told));
            }
        });
        archive
    }

    /// Makes a package and lists it.
    fn add(&self, sandbox: &Sandbox, file: &str, name: &str, contents: &[(&str, &str)]) {
        let bytes = package(sandbox, file, name, "1.0", contents);
        let text = format!(
            "Package: {name}\nVersion: 1.0\nArchitecture: amd64\nMaintainer: nobody\n\
             Filename: ./{file}\nSize: {}\nSHA256: {}\nDescription: a package\n\n",
            bytes.len(),
            digest(&sandbox.path(file))
        );
        let mut files = self.files.lock().unwrap();
        files
            .entry("Packages".to_owned())
            .or_insert((Served::Whole, Vec::new()))
            .1
            .extend(text.bytes());
        files.insert(file.to_owned(), (Served::Whole, bytes));
    }

    /// From now on the file is served so.
    pub(crate) fn serve(&self, file: &str, how: Served) {
        self.files.lock().unwrap().get_mut(file).unwrap().0 = how;
    }

    /// Puts another version's package in the place of the kernel's, and its digest in the
    /// list, but not its version.
    pub(crate) fn mislabel_kernel(&self, sandbox: &Sandbox) {
        let old = digest(&sandbox.path(KERNEL_FILE));
        let image = format!("boot/vmlinuz-{RELEASE}");
        let name = format!("linux-image-{RELEASE}");
        let bytes = package(sandbox, KERNEL_FILE, &name, "1.1", &[(&image, "another kernel")]);
        let new = digest(&sandbox.path(KERNEL_FILE));
        let mut files = self.files.lock().unwrap();
        let length = files[KERNEL_FILE].1.len();
        let list = String::from_utf8(files["Packages"].1.clone()).unwrap();
        let list = list
            .replace(&old, &new)
            .replace(&format!("Size: {length}"), &format!("Size: {}", bytes.len()));
        files.insert("Packages".to_owned(), (Served::Whole, list.into_bytes()));
        files.insert(KERNEL_FILE.to_owned(), (Served::Whole, bytes));
    }

    /// Returns when a file has stalled.
    pub(crate) fn wait_until_stalled(&self) {
        self.stalled.recv().unwrap();
    }
}

/// A program that goes before the machine's own.
pub(crate) fn program(sandbox: &Sandbox, name: &str, script: &str) {
    let directory = sandbox.path("bin");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// fstrial with the archive for its packages and the sandbox's programs before others.
pub(crate) fn command(sandbox: &Sandbox, words: &str) -> Command {
    // No emulator is compiled of this archive's packages.
    let words = words.replacen("lab build", "lab build --emulator bin", 1);
    let mut command = sandbox.command(&words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("APT_CONFIG", sandbox.path("apt.conf"));
    command.env("PATH", format!("{}:{path}", sandbox.path("bin").display()));
    command
}

/// Makes a package in the sandbox; returns its bytes.
pub(crate) fn package(
    sandbox: &Sandbox,
    file: &str,
    name: &str,
    version: &str,
    contents: &[(&str, &str)],
) -> Vec<u8> {
    let tree = sandbox.path("package");
    let control = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: nobody\n\
         Description: a package\n"
    );
    for (path, text) in contents.iter().copied().chain([("DEBIAN/control", &*control)]) {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let made: PathBuf = sandbox.path(file);
    let built = Command::new("dpkg-deb")
        .args(["-Znone", "--root-owner-group", "--build"])
        .args([&tree, &made])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    fs::remove_dir_all(tree).unwrap();
    fs::read(made).unwrap()
}

fn digest(file: &std::path::Path) -> String {
    let sum = Command::new("sha256sum").arg(file).output().unwrap();
    String::from_utf8(sum.stdout).unwrap().split_whitespace().next().unwrap().to_owned()
}

/// Answers one connection's requests until either side has enough.
fn serve(connection: TcpStream, files: &Files, told: &Sender<()>) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    let mut connection = connection;
    loop {
        let mut request = String::new();
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            (reader.read_line(&mut line).ok()? > 0).then_some(())?;
            request.push_str(&line);
        }
        let path = request.split(' ').nth(1)?.rsplit('/').next()?.to_owned();
        let found = files.lock().unwrap().get(&path).cloned();
        let Some((how, mut bytes)) = found else {
            connection.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok()?;
            continue;
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
        connection.write_all(head.as_bytes()).ok()?;
        let half = bytes.len() / 2;
        match how {
            Served::Whole => connection.write_all(&bytes).ok()?,
            Served::Changed => {
                bytes[half] ^= 1;
                connection.write_all(&bytes).ok()?;
            }
            Served::Cut | Served::Stalled => {
                connection.write_all(&bytes[..half]).ok()?;
                if how == Served::Stalled {
                    told.send(()).ok()?;
                    // Until the other side goes.
                    reader.read_line(&mut String::new()).ok()?;
                }
                return None;
            }
        }
    }
}
