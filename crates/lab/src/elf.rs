//! As much of ELF as the lab needs: what a kernel module depends on, and which libraries a
//! program loads. Little-endian, 64 bits.

/// A section by its place in the file.
#[derive(Debug, Clone, Copy)]
struct Section {
    name: usize,
    kind: u32,
    offset: usize,
    size: usize,
    link: usize,
}

/// An ELF file in memory.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    bytes: &'a [u8],
    sections: Vec<Section>,
    names: Section,
}

const DYNAMIC: u32 = 6;
const NEEDED: u64 = 1;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

impl<'a> Elf<'a> {
    /// Reads the section table; `None` when it is no such file.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Elf<'a>> {
        if bytes.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let table = usize::try_from(u64_at(bytes, 0x28)?).ok()?;
        let entry = usize::from(u16_at(bytes, 0x3a)?);
        let count = usize::from(u16_at(bytes, 0x3c)?);
        let names = usize::from(u16_at(bytes, 0x3e)?);
        let sections = (0..count)
            .map(|nth| {
                let at = table.checked_add(nth * entry)?;
                Some(Section {
                    name: u32_at(bytes, at)? as usize,
                    kind: u32_at(bytes, at + 4)?,
                    offset: usize::try_from(u64_at(bytes, at + 0x18)?).ok()?,
                    size: usize::try_from(u64_at(bytes, at + 0x20)?).ok()?,
                    link: u32_at(bytes, at + 0x28)? as usize,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        let names = *sections.get(names)?;
        Some(Elf { bytes, sections, names })
    }

    fn contents(&self, section: &Section) -> Option<&'a [u8]> {
        self.bytes.get(section.offset..section.offset.checked_add(section.size)?)
    }

    fn name(&self, section: &Section) -> Option<&'a [u8]> {
        let names = self.contents(&self.names)?;
        names.get(section.name..)?.split(|&byte| byte == 0).next()
    }

    /// The values of `key` in a module's `.modinfo`.
    pub(crate) fn module_info(&self, key: &str) -> Vec<String> {
        let info = self.sections.iter().find(|section| self.name(section) == Some(b".modinfo"));
        let text = info.and_then(|section| self.contents(section)).unwrap_or_default();
        text.split(|&byte| byte == 0)
            .filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('='))
            .filter(|(name, _)| *name == key)
            .map(|(_, value)| value.to_owned())
            .collect()
    }

    /// The place of the name of section `name` in the file.
    pub(crate) fn name_of_section(&self, name: &[u8]) -> Option<usize> {
        let section = self.sections.iter().find(|section| self.name(section) == Some(name))?;
        self.names.offset.checked_add(section.name)
    }

    /// The libraries it is linked with.
    pub(crate) fn libraries(&self) -> Vec<String> {
        self.dynamic_text(&[NEEDED])
    }

    /// Where it wants its libraries to be looked for, before anywhere else.
    pub(crate) fn library_paths(&self) -> Vec<String> {
        let lists = self.dynamic_text(&[RUNPATH, RPATH]);
        lists.iter().flat_map(|list| list.split(':')).map(str::to_owned).collect()
    }

    /// The program that loads it; none for one that is linked statically.
    pub(crate) fn interpreter(&self) -> Option<String> {
        let section = self.sections.iter().find(|it| self.name(it) == Some(b".interp"))?;
        let path = self.contents(section)?.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(path).into_owned())
    }

    /// The texts of the dynamic section under these tags.
    fn dynamic_text(&self, tags: &[u64]) -> Vec<String> {
        let find = || {
            let dynamic = self.sections.iter().find(|section| section.kind == DYNAMIC)?;
            let strings = self.contents(self.sections.get(dynamic.link)?)?;
            let entries = self.contents(dynamic)?.chunks_exact(16);
            let needed =
                entries.filter(|entry| u64_at(entry, 0).is_some_and(|tag| tags.contains(&tag)));
            needed
                .map(|entry| {
                    let at = usize::try_from(u64_at(entry, 8)?).ok()?;
                    let name = strings.get(at..)?.split(|&byte| byte == 0).next()?;
                    Some(String::from_utf8_lossy(name).into_owned())
                })
                .collect::<Option<Vec<_>>>()
        };
        find().unwrap_or_default()
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_machine_names_its_libraries() {
        let shell = std::fs::read("/bin/sh").unwrap();
        let libraries = Elf::parse(&shell).unwrap().libraries();
        assert!(libraries.iter().any(|name| name.starts_with("libc.so")), "{libraries:?}");
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_none() {
        assert!(Elf::parse(b"#!/bin/sh").is_none());
        let shell = std::fs::read("/bin/sh").unwrap();
        for len in [0, 10, 63, 64, shell.len() / 2] {
            // Must not panic; whether it still parses depends on where the table lies.
            let _ = Elf::parse(&shell[..len]).map(|elf| elf.libraries());
        }
    }
}
