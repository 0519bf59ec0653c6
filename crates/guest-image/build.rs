//! Builds the guest's program, apart from the program that carries it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the outer build that the inner one may see: where its tools and packages are.
/// Everything else, flags above all, would change the bytes.
const KEPT: [&str; 10] = [
    "PATH",
    "HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_OFFLINE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CARGO_HTTP_CAINFO",
];
const TARGET: &str = "x86_64-unknown-linux-gnu";
const PROGRAM: &str = "fstrial-guest";

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let workspace = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = workspace.canonicalize().expect("the workspace is there");
    // One for all profiles of the outer build.
    let target = out.ancestors().filter(|above| above.join("CACHEDIR.TAG").exists()).last();
    let target = target.unwrap_or(&out).join("guest");
    let cargo = PathBuf::from(variable("CARGO"));
    let mut command = Command::new(&cargo);
    command
        .current_dir(&workspace)
        .args(["build", "--quiet", "--locked", "--profile", "guest", "--target", TARGET])
        .args(["--package", "guest", "--bin", PROGRAM, "--target-dir"])
        .arg(&target)
        .env_clear()
        .envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("CARGO_ENCODED_RUSTFLAGS", flags(&workspace, &target));
    let status = command.status().expect("cargo can be started");
    assert!(status.success(), "building the guest's program failed: {status}");
    let built = target.join(TARGET).join("guest").join(PROGRAM);
    std::fs::copy(&built, out.join(PROGRAM)).expect("the guest's program can be copied");
    let sources = std::fs::read_to_string(built.with_extension("d"));
    watch(&workspace, &sources.expect("cargo writes down what the program is made of"));
}

fn variable(name: &str) -> OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}

/// Has cargo run this script again when the guest's program may have changed. `sources` is the rule
/// of a makefile that cargo writes. Paths begin at this crate: a workspace that is moved with what
/// was built in it must not go on watching its old place.
fn watch(workspace: &Path, sources: &str) {
    let (_program, sources) = sources.split_once(": ").expect("a rule names what it makes first");
    let blank = "\u{0}";
    let sources = sources.replace("\\ ", blank);
    let sources = sources.split_whitespace().map(|path| PathBuf::from(path.replace(blank, " ")));
    let mut files: BTreeSet<PathBuf> =
        sources.filter_map(|path| Some(path.strip_prefix(workspace).ok()?.to_owned())).collect();
    // Generated ones follow from the others.
    files.retain(|file| file.starts_with("crates"));
    let manifests: Vec<_> = files
        .iter()
        .map(|file| file.iter().take(2).collect::<PathBuf>().join("Cargo.toml"))
        .collect();
    files.extend(manifests);
    files.extend(
        ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", "rust-toolchain.toml"]
            .map(PathBuf::from)
            .into_iter()
            .filter(|file| workspace.join(file).exists()),
    );
    for file in files {
        println!("cargo::rerun-if-changed={}", Path::new("../..").join(file).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Flags of the compiler: a static program that names no directory of this machine.
fn flags(workspace: &Path, target: &Path) -> OsString {
    let mut flags: Vec<OsString> = vec!["-Ctarget-feature=+crt-static".into()];
    let mut remap = |from: &Path, to: &str| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push("=");
        flag.push(to);
        flags.push(flag);
    };
    // The compiler takes the last that fits.
    if let Some(home) = cargo_home() {
        remap(&home, "/cargo");
        // One directory for each address that packages were fetched from.
        for registry in std::fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten()
        {
            remap(&registry.path(), "/packages");
        }
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output();
    if let Ok(output) = sysroot
        && let Ok(path) = String::from_utf8(output.stdout)
    {
        remap(Path::new(path.trim()), "/rust");
    }
    remap(workspace, "/fstrial");
    remap(target, "/target");
    flags.join(&OsString::from("\u{1f}"))
}

fn cargo_home() -> Option<PathBuf> {
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}
