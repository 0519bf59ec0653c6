//! Files of the user's that may be compressed, read as what is in them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use flate2::bufread::GzDecoder;
use rustix::fs::OFlags;

use super::CorpusError;
use super::archive::{Program, program_for};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Not at all.
    Plain,
    Gzip,
    By(Program),
}

impl Packing {
    /// That of a file with these first bytes.
    pub(super) fn of(first: &[u8]) -> Packing {
        match program_for(first) {
            None => Packing::Plain,
            Some(_) if first.starts_with(b"\x1f\x8b") => Packing::Gzip,
            Some(program) => Packing::By(program),
        }
    }
}

/// Opens a file and nothing else: not what another user put in its place after it was looked at, of
/// which a link leads elsewhere and a pipe waits.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no file any more")),
    }
}

/// Opens a file for what is in it. What is cut off or damaged shows as an error of the reader.
///
/// # Errors
/// When the file cannot be opened, or there is no program that unpacks it.
pub(super) fn open(path: &Path, packing: Packing) -> Result<Box<dyn Read>, CorpusError> {
    let file = open_file(path).map_err(CorpusError::at("open", path))?;
    Ok(match packing {
        Packing::Plain => Box::new(file),
        Packing::Gzip => Box::new(Gunzip(Some(GzDecoder::new(BufReader::new(file))))),
        Packing::By(program) => Box::new(Unpacked::start(program, path, file)?),
    })
}

fn damaged(program: &str, why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("it is cut off or damaged: {program}: {why}"),
    )
}

/// What gzip makes of a file: one part after the other, and nothing of what follows the last.
struct Gunzip(Option<GzDecoder<BufReader<File>>>);

impl Read for Gunzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(part) = &mut self.0 {
            let got = part.read(buffer).map_err(|error| damaged("gzip", &error.to_string()))?;
            if got > 0 || buffer.is_empty() {
                return Ok(got);
            }
            if let Some(mut rest) = self.0.take().map(GzDecoder::into_inner)
                && rest.fill_buf()?.first() == Some(&0x1f)
            {
                self.0 = Some(GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

/// What a program makes of a compressed file. If it ends with an error, so does reading.
struct Unpacked {
    program: Program,
    child: Child,
    output: ChildStdout,
}

impl Unpacked {
    fn start(program: Program, path: &Path, file: File) -> Result<Unpacked, CorpusError> {
        let Program { name, package } = program;
        let cannot = CorpusError::at("unpack", path);
        let started = Command::new(name)
            .arg("-dc")
            .stdin(Stdio::from(file))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CorpusError::NoProgram { path: path.to_owned(), name, package });
            }
            Err(error) => return Err(cannot(error)),
        };
        match child.stdout.take() {
            Some(output) => Ok(Unpacked { program, child, output }),
            None => Err(cannot(damaged(name, "it gave nothing"))),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        let mut said = Vec::new();
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_end(&mut said)?;
        }
        if self.child.wait()?.success() {
            return Ok(());
        }
        let said = said.trim_ascii().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Err(damaged(self.program.name, &text::name(said)))
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.output.read(buffer)? {
            0 if !buffer.is_empty() => self.end().map(|()| 0),
            got => Ok(got),
        }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
