//! Nothing to build: without a build script, cargo leaves `[build-dependencies]` out.

fn main() {}
