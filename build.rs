//! Computes a name for this build of the library, so that two builds of one version can detect that
//! they differ: see `src/library.rs`. The name is a hash of all that decides the layout of shared
//! memory: the compiler, the features, the dependencies and the sources.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of a folder").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

fn main() {
    let mut build = DefaultHasher::new();
    let rustc = env::var_os("RUSTC").expect("cargo says which compiler");
    Command::new(rustc).arg("-vV").output().expect("the compiler runs").stdout.hash(&mut build);
    let mut features: Vec<_> = env::vars()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("CARGO_FEATURE_"))
        .collect();
    features.sort();
    features.hash(&mut build);

    let mut sources = vec![PathBuf::from("Cargo.lock"), PathBuf::from("Cargo.toml")];
    for folder in ["src", "crates/flakeid-core/src"] {
        files(Path::new(folder), &mut sources);
        println!("cargo:rerun-if-changed={folder}");
    }
    sources.sort();
    for path in sources {
        fs::read(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .hash(&mut build);
    }
    println!("cargo:rerun-if-changed=Cargo.lock");
    println!("cargo:rerun-if-changed=Cargo.toml");
    println!("cargo:rustc-env=FLAKEID_BUILD={:016x}", build.finish());
}
