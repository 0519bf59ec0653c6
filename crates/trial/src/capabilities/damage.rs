//! Whether damage is detected: something is altered on the disk without the filesystem's
//! knowledge.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::finding::{Finding, words};
use super::space::noise;
use super::stage::{SIZE, Stage, Subject};

// As short as what a JFS directory keeps in one piece.
const NAME: &str = "Qzx7Vw3kJy9";
const ALTERED: &str = "Qzx7Vw3kJx9";
/// The device is read in pieces of this size.
const PIECE: usize = 1 << 20;
const SECTOR: usize = 512;

pub(super) fn data(stage: &Stage<'_>) -> Result<Finding, String> {
    let mut subject = stage.make(SIZE)?;
    let contents = noise(PIECE, 5);
    let file = subject.path().join("file");
    fs::write(&file, &contents).map_err(|error| error.to_string())?;
    settle(&mut subject)?;
    let Some(device) = subject.device() else {
        return Ok(Finding::untried("it is on no disk"));
    };
    // A piece from within, which lies in blocks of its own.
    let wanted = &contents[PIECE / 2..PIECE / 2 + SECTOR];
    let places = find(device, |piece, found| {
        let sectors = piece.chunks_exact(SECTOR).enumerate();
        found.extend(sectors.filter(|(_, one)| *one == wanted).map(|(nth, _)| nth * SECTOR));
    });
    let places = places.map_err(|error| error.to_string())?;
    if places.is_empty() {
        return Ok(Finding::untried("the contents are not on the disk as they are"));
    }
    alter(device, &places, &[wanted[0] ^ 1]).map_err(|error| error.to_string())?;
    subject.mount()?;
    Ok(match fs::read(&file) {
        Err(error) => Finding::yes(words(&error)),
        Ok(read) if read == contents => Finding::yes("repaired"),
        Ok(_) => Finding::no("the altered byte was read"),
    })
}

/// Unmounts it, after a further mount in which something else is written: log recovery may read,
/// and leave out, the data written last.
fn settle(subject: &mut Subject<'_>) -> Result<(), String> {
    subject.unmount()?;
    if subject.device().is_none() {
        return Ok(());
    }
    subject.mount()?;
    fs::write(subject.path().join("later"), noise(PIECE, 6)).map_err(|error| error.to_string())?;
    subject.unmount()
}

pub(super) fn metadata(stage: &Stage<'_>) -> Result<Finding, String> {
    let mut subject = stage.make(SIZE)?;
    let directory = subject.path().join("directory");
    let make = |name: &str| File::create(directory.join(name)).map(|_| ());
    fs::create_dir(&directory)
        .and_then(|()| make(NAME))
        .and_then(|()| (0..8).try_for_each(|nth| make(&format!("beside-{nth}"))))
        .map_err(|error| error.to_string())?;
    settle(&mut subject)?;
    let Some(device) = subject.device() else {
        return Ok(Finding::untried("it is on no disk"));
    };
    let wide = |name: &str| name.bytes().flat_map(|byte| [byte, 0]).collect::<Vec<u8>>();
    let mut altered = 0;
    for (name, other) in [(NAME.into(), ALTERED.into()), (wide(NAME), wide(ALTERED))] {
        let (name, other): (Vec<u8>, Vec<u8>) = (name, other);
        let places = find(device, |piece, found| {
            for (nth, sector) in piece.chunks(SECTOR).enumerate() {
                // Most of a new disk is zeros, which are skipped quickly.
                if sector.iter().all(|byte| *byte == 0) {
                    continue;
                }
                let start = nth * SECTOR;
                let end = (start + SECTOR + name.len() - 1).min(piece.len());
                let windows = piece[start..end].windows(name.len());
                found.extend(
                    windows
                        .enumerate()
                        .filter(|(_, window)| *window == name)
                        .map(|(nth, _)| start + nth),
                );
            }
        });
        let places = places.map_err(|error| error.to_string())?;
        alter(device, &places, &other).map_err(|error| error.to_string())?;
        altered += places.len();
    }
    if altered == 0 {
        return Ok(Finding::untried("the name is not on the disk as it is"));
    }
    if let Err(error) = subject.mount() {
        return Ok(Finding::yes(error));
    }
    let listed = fs::read_dir(&directory).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()
    });
    Ok(match listed {
        Err(error) => Finding::yes(words(&error)),
        Ok(names) if names.iter().any(|name| name == ALTERED) => {
            Finding::no("the altered name is listed")
        }
        Ok(names) if names.iter().any(|name| name == NAME) => {
            Finding::untried("the name is listed from elsewhere")
        }
        Ok(_) => Finding::yes("the name is left out"),
    })
}

/// Reads a device; `look` finds places within a piece of it.
fn find(device: &Path, look: impl Fn(&[u8], &mut Vec<usize>)) -> io::Result<Vec<u64>> {
    let file = File::open(device)?;
    let mut places = Vec::new();
    let mut piece = vec![0_u8; PIECE];
    let (mut at, mut found) = (0_u64, Vec::new());
    loop {
        let read = file.read_at(&mut piece, at)?;
        if read == 0 {
            return Ok(places);
        }
        look(&piece[..read], &mut found);
        places.extend(found.drain(..).map(|place| at + place as u64));
        at += read as u64;
    }
}

fn alter(device: &Path, places: &[u64], bytes: &[u8]) -> io::Result<()> {
    let file = File::options().write(true).open(device)?;
    for place in places {
        file.write_all_at(bytes, *place)?;
    }
    file.sync_all()
}
