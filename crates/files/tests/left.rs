//! A removal that its user waits for no longer. In a process of its own: it ends every removal.

use std::fs::File;

#[test]
fn what_is_left_stays_and_the_marker_with_it() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["marker", "one", "two"] {
        std::fs::write(directory.path().join(name), "").unwrap();
    }
    files::leave_the_rest();
    let held = File::open(directory.path()).unwrap();
    let error = files::empty(&held, c"marker").unwrap_err();
    assert_eq!(error.to_string(), "it was left for later");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
    assert!(files::removing().is_none(), "it has ended");
}
