//! Tests with a small tree whose Makefile takes a moment where that of Linux takes minutes.

use super::*;

/// Makes a tree with the Makefile targets that the lab uses. It compiles `fs/two.o` only if the
/// file `gate` exists.
fn tree(at: &Path, gate: &Path) {
    let makefile = format!(
        "mrproper modules: ;\n\
         allnoconfig: ; cp $(KCONFIG_ALLCONFIG) .config\n\
         fs/one.o: ; @echo '  CC  one' && cat fs/one.c $(lastword $(MAKEFILE_LIST)) > $@ && \
         echo compiled >> {log}\n\
         fs/two.o: ; @test -e {gate} || {{ echo 'fs/two.c:1:1: error: no gate'; exit 1; }} && \
         echo $(KBUILD_BUILD_USER) > $@\n\
         bzImage: fs/one.o fs/two.o ; mkdir -p arch/x86/boot && \
         cat fs/one.c fs/two.o > arch/x86/boot/bzImage\n\
         modules_install: ; mkdir -p $(INSTALL_MOD_PATH)/lib/modules/6.12.1 && \
         cp .config $(INSTALL_MOD_PATH)/lib/modules/6.12.1/ && ln -s $(CURDIR) \
         $(INSTALL_MOD_PATH)/lib/modules/6.12.1/build\n",
        gate = gate.display(),
        log = gate.with_file_name("log").display()
    );
    std::fs::create_dir_all(at.join("fs")).unwrap();
    std::fs::write(at.join("Makefile"), makefile).unwrap();
    std::fs::write(at.join("fs/one.c"), "int a;\n").unwrap();
}

fn plan_of(tree: &Path) -> Plan {
    let diff = "--- a/fs/one.c\n+++ b/fs/one.c\n@@ -1 +1 @@\n-int a;\n+int b;\n";
    let shipped = "CONFIG_BLK_DEV_NBD=m\n";
    Plan {
        tree: SourceTree::Directory(tree.to_owned()),
        patches: vec![Patch { name: "b.patch".to_owned(), text: diff.as_bytes().to_vec() }],
        configuration: shipped.to_owned(),
        wanted: settings::read(Path::new("own"), shipped).unwrap(),
        setting_files: vec!["own".to_owned()],
        compiler: "gcc 12".to_owned(),
    }
}

/// Builds in `room`; returns the digest of what a lab gets.
fn built(room: &Path, plan: &Plan) -> Result<String, String> {
    let (cache, work) = (room.join("cache"), room.join("work"));
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::create_dir_all(&work).unwrap();
    let compiled =
        build(plan, &cache, "default", &work, &mut |_| {}).map_err(|error| error.to_string())?;
    assert!(work.join(&compiled.kernel).is_file() && work.join(&compiled.modules).is_dir());
    Ok(crate::contents::tree_digest(&work).unwrap())
}

#[test]
fn a_build_that_failed_goes_on_and_two_places_give_the_same() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let gates = tempfile::tempdir().unwrap();
    let gate = gates.path().join("gate");
    for room in [&one, &two] {
        tree(&room.path().join("linux"), &gate);
    }
    let plan = plan_of(&one.path().join("linux"));
    let error = built(one.path(), &plan).unwrap_err();
    assert!(error.contains("fs/two.c:1:1: error: no gate"), "{error}");
    std::fs::write(&gate, "").unwrap();
    let first = built(one.path(), &plan).unwrap();
    let log = || std::fs::read_to_string(gates.path().join("log")).unwrap().lines().count();
    assert_eq!(log(), 1, "what was compiled before it failed was compiled again");
    assert_eq!(built(one.path(), &plan).unwrap(), first);
    assert_eq!(log(), 1, "what was kept was compiled again");
    let kept: Vec<_> = std::fs::read_dir(one.path().join("cache/built")).unwrap().collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let image = std::fs::read_to_string(one.path().join("work/kernel-built/vmlinuz")).unwrap();
    assert_eq!(image, "int b;\nfstrial\n", "the patch, and nobody's name");
    let source = one.path().join("linux/fs/one.c");
    assert_eq!(std::fs::read_to_string(source).unwrap(), "int a;\n", "it was written to");
    assert_eq!(built(two.path(), &plan_of(&two.path().join("linux"))).unwrap(), first);
}

#[test]
fn what_cannot_be_built_is_told_and_leaves_nothing() {
    let room = tempfile::tempdir().unwrap();
    let place = room.path().join("linux");
    tree(&place, &room.path().join("gate"));
    let mut plan = plan_of(&place);
    plan.configuration = "CONFIG_OTHER=y\n".to_owned();
    let error = built(room.path(), &plan).unwrap_err();
    assert!(error.contains("--config own: CONFIG_BLK_DEV_NBD=m did not take effect"), "{error}");
    plan.wanted.clear();
    let error = built(room.path(), &plan).unwrap_err();
    assert!(error.contains("how a guest reaches its disks"), "{error}");
    std::fs::write(place.join("fs/one.c"), "int c;\n").unwrap();
    let error = built(room.path(), &plan_of(&place)).unwrap_err();
    assert!(error.contains("b.patch") && error.contains("fs/one.c: hunk 1"), "{error}");
    assert_eq!(std::fs::read_dir(room.path().join("cache/built")).unwrap().count(), 0);
}

#[test]
fn each_thing_that_a_kernel_depends_on_changes_its_key() {
    let plan = Plan {
        tree: SourceTree::Debian("6.12".to_owned()),
        patches: Vec::new(),
        configuration: "CONFIG_A=y\n".to_owned(),
        wanted: Vec::new(),
        setting_files: Vec::new(),
        compiler: "gcc 12".to_owned(),
    };
    let one = Patch { name: "one".to_owned(), text: b"1".to_vec() };
    let keys = [
        plan.key("a"),
        plan.key("b"),
        Plan { patches: vec![one.clone()], ..plan.clone() }.key("a"),
        Plan { patches: vec![one.clone(), one], ..plan.clone() }.key("a"),
        Plan { configuration: "CONFIG_A=m\n".to_owned(), ..plan.clone() }.key("a"),
        Plan { compiler: "gcc 13".to_owned(), ..plan.clone() }.key("a"),
    ];
    let different: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(different.len(), keys.len());
    // Neither where files lie nor how they are called.
    let renamed = Plan { setting_files: vec!["x".to_owned()], ..plan.clone() };
    assert_eq!(renamed.key("a"), plan.key("a"));
}

#[test]
fn only_the_build_that_goes_on_is_kept() {
    let built = tempfile::tempdir().unwrap();
    for name in ["kernel-1.begun", "kernel-2.begun", "kernel-1", "zfs-1"] {
        std::fs::create_dir(built.path().join(name)).unwrap();
    }
    forget_others(built.path(), &built.path().join("kernel-2.begun")).unwrap();
    let entries = std::fs::read_dir(built.path()).unwrap().flatten();
    let mut left: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    left.sort();
    assert_eq!(left, ["kernel-1", "kernel-2.begun", "zfs-1"]);
}

#[test]
fn compiled_kernels_go_with_the_last_lab_that_is_made_of_them() {
    let cache = tempfile::tempdir().unwrap();
    for name in ["kernel-1.begun", "kernel-1", "kernel-2", "zfs-1"] {
        std::fs::create_dir_all(cache.path().join("built").join(name)).unwrap();
    }
    forget_all_but(cache.path(), &["1".to_owned()]).unwrap();
    let there = |name: &str| cache.path().join("built").join(name).exists();
    assert!(there("kernel-1") && there("zfs-1"));
    assert!(!there("kernel-2") && !there("kernel-1.begun"));
}
