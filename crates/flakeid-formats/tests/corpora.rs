//! The inputs of the fuzz targets, with the checks of those: `fuzz/corpus` has what fuzzing begins
//! with, and `fuzz/found` what broke a check once.

#[path = "../../../fuzz/src/checks/mod.rs"]
mod checks;

use checks::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name)
}

/// Returns the paths in a folder; none if there is no folder.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn each_input_passes_the_check_of_its_target() {
    let mut failed = Vec::new();
    for (target, check) in TARGETS {
        let inputs = [paths(&folder("corpus").join(target)), paths(&folder("found").join(target))];
        assert!(!inputs[0].is_empty(), "{target} has no corpus");
        for path in inputs.concat() {
            let input = fs::read(&path).unwrap();
            if catch_unwind(AssertUnwindSafe(|| check(&input))).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "these inputs fail: {failed:#?}");
}

#[test]
fn each_short_input_passes_all_checks() {
    for (_, check) in TARGETS {
        check(&[]);
        for byte in 0..=u8::MAX {
            for length in 1..=3 {
                check(&[byte, 0, 0xff][..length]);
            }
        }
    }
}

#[test]
fn the_folders_of_inputs_are_those_of_the_targets() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let names = |name: &str| -> BTreeSet<String> {
        let names = paths(&folder(name)).into_iter();
        names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("fuzz_targets"), targets);
    assert!(names("found").is_subset(&targets));
}

#[test]
fn the_corpora_are_small() {
    for (target, _) in TARGETS {
        let inputs = paths(&folder("corpus").join(target));
        assert!(inputs.len() <= 100, "{target} has {} inputs", inputs.len());
        for path in inputs {
            let length = fs::metadata(&path).unwrap().len();
            assert!(length <= 1024, "{} has {length} bytes", path.display());
        }
    }
}
