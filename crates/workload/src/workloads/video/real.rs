//! Remuxing and cutting by ffmpeg, on media that ffmpeg has made.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{CUTTED, Cuts, Maker, RAW, REMUXED, Sum};
use crate::{Failure, Op, OpError, Recorder};

/// Length of the clip that is made, in seconds, and what it takes in bits per second.
const CLIP_S: u64 = 4;
const BITS_PER_S: &str = "24M";

pub(super) struct Real {
    root: PathBuf,
    recording: InMemory,
    size: u64,
    seconds: f64,
    cuts: Cuts,
}

/// A file without a name, in memory: it vanishes with the process, however that ends.
struct InMemory(File);

impl InMemory {
    fn new(name: &str) -> std::io::Result<InMemory> {
        let file = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
        Ok(InMemory(File::from(file)))
    }

    /// Where another program of this user finds it.
    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }
}

impl Real {
    /// Makes a recording of at least `size` in memory.
    pub(super) fn make(target: &Path, size: u64, cuts: Cuts) -> Result<Real, Failure> {
        let problem = |why: String| Failure::Input(format!("mode=real: {why}"));
        let encoders = Command::new("ffmpeg").args(["-hide_banner", "-version"]).output();
        if let Err(error) = encoders {
            return Err(problem(format!(
                "ffmpeg cannot be started ({error}); install it (Debian: apt-get install ffmpeg) \
                 or use mode=emulated"
            )));
        }
        let in_memory = |name| InMemory::new(name).map_err(|error| problem(error.to_string()));
        let (clip, recording) = (in_memory("clip")?, in_memory("recording")?);
        let video = format!("testsrc2=size=1280x720:rate=25:duration={CLIP_S}");
        let sound = format!("sine=frequency=440:duration={CLIP_S}");
        let mut make = ffmpeg();
        make.args(["-f", "lavfi", "-i", &video, "-f", "lavfi", "-i", &sound])
            // Noise keeps the encoder at the rate of a broadcast.
            .args(["-vf", "noise=alls=60:allf=t", "-c:v", "mpeg2video", "-b:v", BITS_PER_S])
            .args(["-minrate", BITS_PER_S, "-maxrate", BITS_PER_S, "-bufsize", "4M"])
            .args(["-c:a", "mp2", "-f", "mpegts"]);
        into(&mut make, &clip.path())
            .map_err(|error| problem(format!("making the clip: {error}")))?;
        let bytes = clip.0.metadata().map_err(|error| problem(error.to_string()))?.len();
        let times = size.div_ceil(bytes.max(1)).max(1);
        let mut repeat = ffmpeg();
        repeat
            .args(["-stream_loop", &(times - 1).to_string(), "-i"])
            .arg(clip.path())
            .args(["-map", "0", "-c", "copy", "-f", "mpegts"]);
        into(&mut repeat, &recording.path())
            .map_err(|error| problem(format!("repeating the clip: {error}")))?;
        let size = recording.0.metadata().map_err(|error| problem(error.to_string()))?.len();
        let seconds = (CLIP_S * times) as f64;
        Ok(Real { root: target.to_owned(), recording, size, seconds, cuts })
    }

    fn tool(
        &self,
        command: &mut Command,
        (from, to): (&'static str, &'static str),
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        recorder.restart();
        into(command, &self.root.join(to))
            .map_err(|error| OpError::new("run ffmpeg for", to, std::io::Error::other(error)))?;
        recorder.done(Op(0));
        // What ffmpeg read is not known to the byte; a remux reads its source once.
        let length = |path| std::fs::metadata(self.root.join(path)).map_or(0, |file| file.len());
        recorder.wrote(length(to));
        if to == REMUXED {
            recorder.read(length(from));
        }
        Ok(())
    }
}

/// ffmpeg with options that make it ask nothing and print only errors.
fn ffmpeg() -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-y", "-loglevel", "error"]);
    command
}

/// Runs it to the end; its output is the error.
fn into(command: &mut Command, to: &Path) -> Result<(), String> {
    let output = command
        // Without this the muxer stores a random id and the version of the program.
        .args(["-fflags", "+bitexact"])
        .arg(to)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("ffmpeg ended with {}: {}", output.status, said.trim().replace('\n', "; ")))
}

impl Maker for Real {
    fn size(&self) -> u64 {
        self.size
    }

    fn recording<'a>(&'a mut self, offset: u64, buffer: &'a mut [u8]) -> Result<&'a [u8], OpError> {
        let read = self.recording.0.read_exact_at(buffer, offset);
        read.map_err(|error| OpError::new("read", "the recording in memory", error))?;
        Ok(buffer)
    }

    fn remux(&mut self, _: BorrowedFd<'_>, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        let mut command = ffmpeg();
        command.arg("-i").arg(self.root.join(RAW)).args(["-map", "0", "-c", "copy"]);
        self.tool(&mut command, (RAW, REMUXED), recorder)
    }

    fn cut(&mut self, _: BorrowedFd<'_>, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        let source = self.root.join(REMUXED);
        let mut text = String::from("ffconcat version 1.0\n");
        for (begin, end) in self.cuts.parts(self.seconds) {
            text +=
                &format!("file '{}'\ninpoint {begin:.3}\noutpoint {end:.3}\n", source.display());
        }
        let list = InMemory::new("cuts")
            .and_then(|mut list| list.0.write_all(text.as_bytes()).map(|()| list))
            .map_err(|error| OpError::new("write", "the list of cuts", error))?;
        let mut command = ffmpeg();
        command.args(["-f", "concat", "-safe", "0", "-i"]).arg(list.path());
        command.args(["-map", "0", "-c", "copy"]);
        self.tool(&mut command, (REMUXED, CUTTED), recorder)
    }

    fn expected(&mut self) -> Option<[Sum; 3]> {
        None
    }
}

#[cfg(test)]
mod tests;
