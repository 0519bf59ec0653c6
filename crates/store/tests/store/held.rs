//! One process at a time executes a run.

use store::{Store, StoreError};

use crate::{create, spec};

#[test]
fn a_run_is_held_by_one_and_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    let mut store = Store::open(&path).unwrap();
    let (one, two) = (create(&mut store, &[spec("a", 0)]), create(&mut store, &[spec("a", 0)]));
    let names = || {
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let held = store.hold_run(&one).unwrap();
    assert_eq!(names(), ["r.db", "r.db.r1.running"]);
    let other = Store::open(&path).unwrap();
    let Err(StoreError::Running { run, holder, .. }) =
        other.hold_run("latest").and_then(|_| other.hold_run(&one))
    else {
        panic!("it is held")
    };
    assert_eq!(run, "r1");
    assert!(holder.starts_with(&format!("process {} on ", std::process::id())), "{holder}");
    drop(other.hold_run(&two).unwrap());
    drop(held);
    assert_eq!(names(), ["r.db"], "nothing is left");
    drop(other.hold_run(&one).unwrap());
    assert!(matches!(store.hold_run("r9"), Err(StoreError::NoSuchRun { .. })));
}

/// What a killed process left is no lock, and what it says cannot reach a terminal.
#[test]
fn a_file_without_its_holder_is_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("r.db")).unwrap();
    let run = create(&mut store, &[spec("a", 0)]);
    let left = directory.path().join("r.db.r1.running");
    std::fs::write(&left, "process 1 on \x1b[31mred, since 2001").unwrap();
    let file = std::fs::File::open(&left).unwrap();
    file.lock().unwrap();
    let Err(StoreError::Running { holder, .. }) = store.hold_run(&run) else { panic!("held") };
    assert_eq!(holder, "process 1 on [31mred, since 2001");
    file.unlock().unwrap();
    let others = ["r7.running", "rx.running", "r8.other"].map(|end| format!("r.db.{end}"));
    let others = others.map(|name| directory.path().join(name));
    others.iter().for_each(|path| std::fs::write(path, "process 1").unwrap());
    drop(store.hold_run(&run).unwrap());
    assert!(!left.exists());
    assert_eq!(others.map(|path| path.exists()), [false, true, true], "only what is ours is swept");
    std::os::unix::fs::symlink("/etc/passwd", &left).unwrap();
    assert!(matches!(store.hold_run(&run), Err(StoreError::Io { .. })), "no link is followed");
}

/// Many at once: one has it at a time.
#[test]
fn of_many_at_once_one_holds_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    let run = create(&mut Store::open(&path).unwrap(), &[spec("a", 0)]);
    let inside = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = Store::open(&path).unwrap();
                for _ in 0..200 {
                    let Ok(held) = store.hold_run(&run) else { continue };
                    let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(others, 0);
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(held);
                }
            });
        }
    });
}
