//! Loop files: allocated, direct, private, and gone afterwards.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use device::{Claim, LoopError, LoopFile};
use skippable::Ending;
use units::Bytes;

use crate::scratch::{Mounted, attempt, enters_as_root, run};

const SIZE: Bytes = Bytes::from_mib(64);

pub(crate) fn made_claimed_and_gone() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let file = LoopFile::create(dir.path(), "disk", SIZE).unwrap();
    assert!(file.is_direct());
    assert!(file.is_fully_allocated().unwrap());
    assert!(file.discard_disabled());
    assert_eq!(file.block_size(), 512);
    let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let claim = Claim::take(&file.device(), &[]).expect("blank and ours");
    assert_eq!(claim.size(), SIZE);
    drop(claim);
    let path = file.path().to_owned();
    drop(file);
    assert!(!path.exists());
    assert_eq!(run("losetup", &["-n", "-l", "-O", "NAME", "-j", path.to_str().unwrap()]), "");
    Ok(())
}

pub(crate) fn larger_blocks() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let file = LoopFile::create_with_blocks(dir.path(), "disk", SIZE, 4096).unwrap();
    assert_eq!(file.block_size(), 4096);
    assert!(file.is_direct());
    assert_eq!(run("blockdev", &["--getss", file.device().to_str().unwrap()]), "4096");
    Ok(())
}

/// The trap: mkfs and `mount -o discard` give blocks of the file back, and later figures are
/// the host's allocator's.
pub(crate) fn neither_discard_nor_zeroing_punches_it() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let file = LoopFile::create(dir.path(), "disk", SIZE).unwrap();
    let node = file.device();
    let node = node.to_str().unwrap();
    assert!(!attempt("blkdiscard", &["-f", node]).status.success(), "discards are refused");
    run("mkfs.ext4", &["-q", "-E", "discard,lazy_itable_init=1", node]);
    let point = dir.path().join("mnt");
    std::fs::create_dir(&point).unwrap();
    run("mount", &["-o", "discard", node, point.to_str().unwrap()]);
    let mount = Mounted(point);
    std::fs::write(mount.0.join("file"), vec![1u8; 8 << 20]).unwrap();
    std::fs::remove_file(mount.0.join("file")).unwrap();
    attempt("fstrim", &[mount.0.to_str().unwrap()]);
    drop(mount);
    let metadata = std::fs::metadata(file.path()).unwrap();
    assert!(
        std::os::unix::fs::MetadataExt::blocks(&metadata) * 512 >= SIZE.0,
        "no block was given back"
    );
    // Without discards the loop driver has no zeroing either: zeros are written.
    run("blkdiscard", &["-f", "-z", node]);
    assert!(file.is_fully_allocated().unwrap());
    Ok(())
}

pub(crate) fn a_punched_file_is_found_and_filled() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let file = LoopFile::create(dir.path(), "disk", SIZE).unwrap();
    let path = file.path().to_str().unwrap();
    run("fallocate", &["--punch-hole", "--offset", "1MiB", "--length", "2MiB", path]);
    run("fallocate", &["--zero-range", "--offset", "8MiB", "--length", "1MiB", path]);
    assert!(!file.is_fully_allocated().unwrap());
    assert_eq!(file.reallocate().unwrap(), Bytes::from_mib(3));
    assert!(file.is_fully_allocated().unwrap());
    assert_eq!(file.reallocate().unwrap(), Bytes::ZERO);
    Ok(())
}

/// Switching discards off cannot be taken back on a loop device, so it must not be one that
/// others get to use.
pub(crate) fn its_loop_device_goes_with_it() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let file = LoopFile::create(dir.path(), "disk", SIZE).unwrap();
    let node = file.device();
    let name = node.file_name().unwrap().to_str().unwrap();
    let sequence = format!("/sys/block/{name}/diskseq");
    let before = std::fs::read_to_string(&sequence).unwrap();
    drop(file);
    // Another loop file may have got the number meanwhile: then it is another disk.
    assert_ne!(std::fs::read_to_string(&sequence).ok(), Some(before));
    Ok(())
}

pub(crate) fn too_little_room_says_how_much() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let error = LoopFile::create(dir.path(), "disk", Bytes(1 << 60)).unwrap_err();
    let LoopError::Refused(refusal) = error else { panic!("{error}") };
    assert!(refusal.rule.contains("are free"), "{refusal}");
    assert!(refusal.rule.contains("needs"), "{refusal}");
    assert!(refusal.next.is_some());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    Ok(())
}

pub(crate) fn a_directory_that_others_write_to_and_a_name_that_is_taken() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("taken"), "somebody's").unwrap();
    LoopFile::create(dir.path(), "taken", SIZE).expect_err("never over an existing file");
    assert_eq!(std::fs::read(dir.path().join("taken")).unwrap(), b"somebody's");
    for mode in [0o777, 0o770, 0o702] {
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        let error = LoopFile::create(dir.path(), "disk", SIZE).unwrap_err();
        assert!(error.to_string().contains("nobody else can write to"), "{mode:o}: {error}");
    }
    Ok(())
}

pub(crate) fn what_took_its_name_stays() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let file = LoopFile::create(dir.path(), "disk", Bytes::from_mib(1)).unwrap();
    let path = file.path().to_owned();
    std::fs::rename(&path, dir.path().join("moved")).unwrap();
    std::fs::write(&path, "somebody's").unwrap();
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's");
    Ok(())
}

/// Another user renames the directory away and puts others, and symlinks, in its place. Each
/// image is made and removed in one directory of root's; `FSTRIAL_ROUNDS=10000` for longer.
pub(crate) fn a_directory_that_another_user_swaps() -> Ending {
    const OTHER_USER: u32 = 65534;
    enters_as_root()?;
    let rounds = std::env::var("FSTRIAL_ROUNDS").map_or(50, |text| text.parse().unwrap());
    let room = tempfile::tempdir().unwrap();
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (theirs, precious) = (room.path().join("theirs"), room.path().join("precious"));
    let own = |path: &std::path::Path| std::os::unix::fs::chown(path, Some(OTHER_USER), None);
    for directory in [&theirs, &precious, &theirs.join("loops")] {
        std::fs::create_dir(directory).unwrap();
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    std::fs::write(precious.join("disk"), "precious").unwrap();
    own(&theirs).unwrap();
    let script = "$| = 1; chdir $ARGV[0] or die; for (my $n = 0; ; $n++) { \
        rename('loops', 'away'); if ($n % 2) { mkdir('loops') } else { symlink($ARGV[1], 'loops') } \
        print \"at it\\n\" unless $n; unlink('loops') or rmdir('loops'); rename('away', 'loops');
        select(undef, undef, undef, 0.002) if $n % 3 }";
    let mut command = std::process::Command::new("perl");
    command.args(["-e", script]).args([&theirs, &precious]).uid(OTHER_USER).gid(OTHER_USER);
    let mut attack = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    attack.stdout.take().unwrap().read_exact(&mut [0; 5]).unwrap();
    let (mut made, mut refused) = (0, 0);
    // Where the directory is not there an answer comes at once: those made are counted.
    while made < rounds {
        match LoopFile::create(&theirs.join("loops"), "disk", Bytes::from_mib(1)) {
            Ok(_) => made += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(attack.try_wait().unwrap().is_none(), "the other user stopped");
    attack.kill().unwrap();
    attack.wait().unwrap();
    println!("{made} made, {refused} refused");
    assert!(refused > 0, "the other user never came between");
    assert_eq!(std::fs::read(precious.join("disk")).unwrap(), b"precious");
    assert_eq!(std::fs::read_dir(&precious).unwrap().count(), 1, "another image is there");
    let left = run("find", &[theirs.to_str().unwrap(), "!", "-type", "d", "!", "-type", "l"]);
    assert_eq!(left, "", "an image stayed");
    let backings = run("losetup", &["-n", "-l", "-O", "BACK-FILE"]);
    assert!(!backings.contains(room.path().to_str().unwrap()), "attached: {backings}");
    Ok(())
}

pub(crate) fn a_mounted_one_goes_when_it_is_unmounted() -> Ending {
    enters_as_root()?;
    let dir = tempfile::tempdir().unwrap();
    let file = LoopFile::create(dir.path(), "disk", SIZE).unwrap();
    let node = file.device();
    run("mkfs.ext4", &["-q", "-E", "nodiscard", node.to_str().unwrap()]);
    let point = dir.path().join("mnt");
    std::fs::create_dir(&point).unwrap();
    let mount = Mounted::on(&node, point);
    let path = file.path().to_owned();
    drop(file);
    drop(mount);
    let backing = format!("{} (deleted)", path.display());
    let backings = run("losetup", &["-n", "-l", "-O", "BACK-FILE"]);
    assert!(!backings.contains(path.to_str().unwrap()), "{backing} is attached: {backings}");
    Ok(())
}
