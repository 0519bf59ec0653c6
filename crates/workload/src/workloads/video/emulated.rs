//! The I/O of remuxing and cutting, on made-up contents.

use std::os::fd::BorrowedFd;

use md5::{Digest, Md5};

use super::{BLOCK, CUTTED, Cuts, Maker, RAW, REMUXED, Sum, create, open};
use crate::engine::contents::{Contents, Filling};
use crate::engine::file_io::{read, write_all};
use crate::{Op, OpError, Recorder, Seed};

/// A packet of a transport stream and its header.
const PACKET: usize = 188;
const PACKET_HEADER: usize = 4;
/// The read size of a demuxer: 512 packets.
const READ: usize = 512 * PACKET;
/// A cluster of the new container, its own header included.
const CLUSTER: usize = 64 << 10;
const CLUSTER_HEADER: usize = 32;
/// Room at the start for what is known only at the end.
const HEADER: usize = 4096;
/// A cluster's entry in the index.
const CUE: usize = 16;

pub(super) struct Emulated {
    contents: Contents,
    size: u64,
    cuts: Cuts,
}

impl Emulated {
    pub(super) fn new(seed: Seed, size: u64, cuts: Cuts, filling: Filling) -> Emulated {
        Emulated { contents: Contents::new(seed, RAW, BLOCK, filling), size, cuts }
    }

    /// Bytes of a recording without its packets' headers.
    fn payload(&self) -> u64 {
        let (whole, rest) = (self.size / PACKET as u64, self.size % PACKET as u64);
        whole * (PACKET - PACKET_HEADER) as u64 + rest.saturating_sub(PACKET_HEADER as u64)
    }

    fn clusters(&self) -> u64 {
        self.payload().div_ceil((CLUSTER - CLUSTER_HEADER) as u64)
    }

    /// The clusters that stay, in order.
    fn kept(&self) -> Vec<std::ops::Range<u64>> {
        let parts = self.cuts.parts(self.clusters() as f64);
        parts.into_iter().map(|(begin, end)| begin as u64..end as u64).collect()
    }
}

fn header(clusters: u64) -> Vec<u8> {
    let mut header = vec![0; HEADER];
    header[..8].copy_from_slice(&clusters.to_le_bytes());
    header
}

fn index(clusters: u64) -> Vec<u8> {
    let cue = |cluster: u64| [cluster.to_le_bytes(), (cluster * CLUSTER as u64).to_le_bytes()];
    let mut index = Vec::with_capacity(clusters as usize * CUE);
    (0..clusters).for_each(|cluster| index.extend_from_slice(cue(cluster).as_flattened()));
    index
}

/// Collects payload into clusters; each full one goes to `write`.
struct Muxer {
    cluster: Vec<u8>,
    number: u64,
}

impl Muxer {
    fn new() -> Muxer {
        let mut muxer = Muxer { cluster: Vec::with_capacity(CLUSTER), number: 0 };
        muxer.begin();
        muxer
    }

    fn begin(&mut self) {
        self.cluster.clear();
        self.cluster.resize(CLUSTER_HEADER, 0);
        self.cluster[..8].copy_from_slice(&self.number.to_le_bytes());
    }

    /// Takes whole packets; the last of a recording may be a part.
    fn packets<E>(
        &mut self,
        bytes: &[u8],
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for packet in bytes.chunks(PACKET) {
            let mut payload = packet.get(PACKET_HEADER..).unwrap_or_default();
            while !payload.is_empty() {
                let room = CLUSTER - self.cluster.len();
                let (now, later) = payload.split_at(payload.len().min(room));
                self.cluster.extend_from_slice(now);
                payload = later;
                if self.cluster.len() == CLUSTER {
                    self.flush(&mut write)?;
                }
            }
        }
        Ok(())
    }

    fn flush<E>(&mut self, mut write: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        if self.cluster.len() > CLUSTER_HEADER {
            write(&self.cluster)?;
            self.number += 1;
            self.begin();
        }
        Ok(())
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &std::os::fd::OwnedFd, path: &str, buffer: &mut [u8]) -> Result<usize, OpError> {
    let mut got = 0;
    while got < buffer.len() {
        match read(file, &mut buffer[got..]).map_err(|error| OpError::new("read", path, error))? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

impl Maker for Emulated {
    fn size(&self) -> u64 {
        self.size
    }

    fn recording<'a>(&'a mut self, offset: u64, buffer: &'a mut [u8]) -> Result<&'a [u8], OpError> {
        Ok(self.contents.at(offset, buffer.len()))
    }

    fn remux(
        &mut self,
        target: BorrowedFd<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let failed = |error| OpError::new("write", REMUXED, error);
        let (source, made) = (open(target, RAW)?, create(target, REMUXED)?);
        let mut muxer = Muxer::new();
        let mut buffer = vec![1; READ];
        recorder.restart();
        write_all(&made, &[0; HEADER]).map_err(failed)?;
        let write = |cluster: &[u8], recorder: &mut Recorder<'_>| {
            write_all(&made, cluster).map_err(failed)?;
            recorder.wrote(cluster.len() as u64);
            recorder.done(Op(0));
            Ok(())
        };
        loop {
            let got = fill(&source, RAW, &mut buffer)?;
            if got == 0 {
                break;
            }
            recorder.read(got as u64);
            muxer.packets(&buffer[..got], |cluster| write(cluster, recorder))?;
        }
        muxer.flush(|cluster| write(cluster, recorder))?;
        let index = index(muxer.number);
        write_all(&made, &index).map_err(failed)?;
        rewrite_header(&made, REMUXED, muxer.number)?;
        recorder.wrote((index.len() + HEADER) as u64);
        recorder.digest(muxer.number);
        Ok(())
    }

    fn cut(&mut self, target: BorrowedFd<'_>, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        let failed = |error| OpError::new("write", CUTTED, error);
        let (source, made) = (open(target, REMUXED)?, create(target, CUTTED)?);
        let end = HEADER as u64 + self.clusters() * CLUSTER_HEADER as u64 + self.payload();
        let mut buffer = vec![1; CLUSTER];
        let mut copied = 0;
        recorder.restart();
        write_all(&made, &[0; HEADER]).map_err(failed)?;
        for part in self.kept() {
            let begin = HEADER as u64 + part.start * CLUSTER as u64;
            rustix::fs::seek(&source, rustix::fs::SeekFrom::Start(begin))
                .map_err(|error| OpError::new("seek", REMUXED, error))?;
            for cluster in part {
                let at = HEADER as u64 + cluster * CLUSTER as u64;
                let want = CLUSTER.min((end - at) as usize);
                let got = fill(&source, REMUXED, &mut buffer[..want])?;
                write_all(&made, &buffer[..got]).map_err(failed)?;
                recorder.read(got as u64);
                recorder.wrote(got as u64);
                recorder.digest(cluster);
                recorder.done(Op(0));
                copied += 1;
            }
        }
        let index = index(copied);
        write_all(&made, &index).map_err(failed)?;
        rewrite_header(&made, CUTTED, copied)?;
        recorder.wrote((index.len() + HEADER) as u64);
        Ok(())
    }

    fn expected(&mut self) -> Option<[Sum; 3]> {
        let (clusters, kept) = (self.clusters(), self.kept());
        let (mut raw, mut remuxed, mut cut) = (Md5::new(), Md5::new(), Md5::new());
        remuxed.update(header(clusters));
        cut.update(header(kept.iter().map(|part| part.end - part.start).sum()));
        let mut muxer = Muxer::new();
        let mut number = 0;
        let mut take = |cluster: &[u8]| -> Result<(), std::convert::Infallible> {
            remuxed.update(cluster);
            if kept.iter().any(|part| part.contains(&number)) {
                cut.update(cluster);
            }
            number += 1;
            Ok(())
        };
        let mut rest = Vec::new();
        let mut at = 0;
        while at < self.size {
            let piece = self.contents.at(at, BLOCK.min((self.size - at) as usize));
            raw.update(piece);
            at += piece.len() as u64;
            rest.extend_from_slice(piece);
            let whole = if at == self.size { rest.len() } else { rest.len() / PACKET * PACKET };
            let Ok(()) = muxer.packets(&rest[..whole], &mut take);
            rest.drain(..whole);
        }
        let Ok(()) = muxer.flush(&mut take);
        remuxed.update(index(clusters));
        cut.update(index(kept.iter().map(|part| part.end - part.start).sum()));
        Some([raw, remuxed, cut].map(|sum| sum.finalize().into()))
    }
}

fn rewrite_header(
    file: &std::os::fd::OwnedFd,
    path: &'static str,
    clusters: u64,
) -> Result<(), OpError> {
    rustix::io::pwrite(file, &header(clusters), 0)
        .map_err(|error| OpError::new("write", path, error))
        .map(drop)
}

#[cfg(test)]
mod tests;
