//! The small files: names within their directories, and sizes.

#[cfg(test)]
mod tests;

use super::super::Manner;
use super::{Links, Small};
use crate::Seed;

const NAME_MAX: usize = 24;

/// A file: name within its directory, and size.
#[derive(Debug, Clone, Copy)]
pub(in crate::workloads::bonnie) struct File {
    name: [u8; NAME_MAX],
    length: u8,
    pub(super) number: u32,
    pub(super) bytes: u32,
}

impl File {
    #[inline]
    pub(super) fn name(&self) -> &[u8] {
        &self.name[..usize::from(self.length)]
    }
}

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Small {
    /// Draws names and sizes of one test; in the random one the random part comes first.
    pub(in crate::workloads::bonnie) fn draw(&self, seed: Seed, random: bool) -> Vec<File> {
        let mut draw =
            seed.stream(if random { "bonnie random names" } else { "bonnie sequential names" });
        let mut sizes = seed.stream("bonnie sizes");
        (0..self.files)
            .map(|number| {
                let mut text = Vec::with_capacity(NAME_MAX);
                let letters = draw.below(13) as usize;
                let part: Vec<u8> =
                    (0..letters).map(|_| LETTERS[draw.below(62) as usize]).collect();
                let count = match self.manner {
                    Manner::V103a => format!("{number:07}"),
                    Manner::V200a => format!("{number:010x}"),
                };
                if random {
                    text.extend_from_slice(&part);
                    text.extend_from_slice(count.as_bytes());
                } else {
                    text.extend_from_slice(count.as_bytes());
                    text.extend_from_slice(&part);
                }
                let mut name = [0; NAME_MAX];
                name[..text.len()].copy_from_slice(&text);
                let range = u64::from(self.max.saturating_sub(self.min));
                let bytes = if self.links == Links::None {
                    self.min + sizes.below(range) as u32
                } else {
                    0
                };
                File { name, length: text.len() as u8, number, bytes }
            })
            .collect()
    }
}
