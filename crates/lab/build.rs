//! Builds the library that is loaded into the emulator.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "preload/flush_clock.rs";
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCE}");
    let built = PathBuf::from(variable("OUT_DIR")).join("flush_clock.so");
    let status = Command::new(variable("RUSTC"))
        .args(["--edition=2024", "--crate-type=cdylib", "--target", TARGET])
        .args(["-Copt-level=2", "-Cpanic=abort", "-Cstrip=symbols", "-Clink-arg=-nostdlib"])
        .arg("-o")
        .arg(&built)
        .arg(SOURCE)
        .status()
        .expect("the compiler can be started");
    assert!(status.success(), "building {SOURCE} failed: {status}");
}

fn variable(name: &str) -> OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}
