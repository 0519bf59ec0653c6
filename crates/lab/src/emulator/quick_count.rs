//! A QEMU that counts instructions without making the host's processor wait.
//!
//! With `-icount`, each block of translated code begins by subtracting its length from a counter.
//! It loads 32 bits: the lower half is the counter, and a thread that wants the processor to stop
//! sets the upper half. It stores only the lower 16 bits. The next block's load then covers more
//! than that store wrote. A processor cannot forward such a store to such a load: in every block it
//! waits until the store has reached the cache. Storing all 32 bits avoids the wait and writes the
//! same values, since the counter was just checked not to be negative. Nothing else changes in the
//! code that runs or in what is counted: figures are the same to the nanosecond, which
//! `tests/guest/main.rs` verifies. The gain depends on how short the blocks are. Unpacking 7,713
//! mails into one directory of ext2, a search in short loops, took 38 s instead of 98; the work of
//! `lab bench`, which waits for its disk, took 1.05 to 1.25 times as long without the change.
//!
//! QEMU stores only 16 bits so that a stop request from another thread, made between a block's load
//! and its store, is not overwritten. With 32 bits it can be overwritten. The request is also kept
//! elsewhere, so the processor then stops when the counter has run out, at most 65,536 instructions
//! later. Requests of devices come from the processor's own thread and never fall between load and
//! store. No other thread influences what happens inside a trial.
//!
//! If the instruction is not found, the emulator is left as it is, which is only slower.

use super::Change;
use crate::elf::{Elf, Function};

/// QEMU's function that translates a block, from its counting to its end.
const TRANSLATOR: &str = "translator_loop";

/// The change that makes the counter's store 32 bits wide; `None` where that store is not found
/// exactly once.
pub(super) fn without_wait(program: &[u8], elf: &Elf<'_>) -> Option<Change> {
    let translator = elf.function(TRANSLATOR)?;
    called_by_name(program, elf, translator).or_else(|| by_number(program, translator))
}

/// Since QEMU 8.1 there is a function for each kind of store: the translator's only call of
/// `tcg_gen_st16_i32` becomes a call of `tcg_gen_st_i32`, which takes the same arguments.
fn called_by_name(program: &[u8], elf: &Elf<'_>, translator: Function) -> Option<Change> {
    const CALL: u8 = 0xe8;
    const LEN: u64 = 5;
    let narrow = elf.function("tcg_gen_st16_i32")?;
    let wide = elf.function("tcg_gen_st_i32")?;
    let code = program.get(translator.offset..translator.offset.checked_add(translator.len)?)?;
    let distance = |from: u64, to: u64| {
        let distance = i64::try_from(to).ok()?.checked_sub(i64::try_from(from).ok()?)?;
        Some(i32::try_from(distance).ok()?.to_le_bytes())
    };
    let mut found = (0u64..).zip(code.windows(LEN as usize)).filter_map(|(nth, window)| {
        let next = translator.address + nth + LEN;
        let calls = window[0] == CALL && window[1..] == distance(next, narrow.address)?;
        calls.then_some((nth, next))
    });
    match (found.next(), found.next()) {
        (Some((nth, next)), None) => {
            let operand = translator.offset + usize::try_from(nth).ok()? + 1;
            Some((operand, distance(next, wide.address)?.to_vec()))
        }
        _ => None,
    }
}

/// Before QEMU 8.1, the kind of an operation is a number in a register. In
/// `mov $14, %edi; mov $OFFSET, %rcx`, 14 is a store of 16 bits and 15 a store of 32 bits, as in
/// `tcg-opc.h`. The counter's store is the one with a load of 32 bits (12) at the same offset.
fn by_number(program: &[u8], translator: Function) -> Option<Change> {
    const LOAD: [u8; 5] = [0xbf, 12, 0, 0, 0];
    const STORE_16: [u8; 5] = [0xbf, 14, 0, 0, 0];
    const STORE_32: u8 = 15;
    const OFFSET: [u8; 3] = [0x48, 0xc7, 0xc1];
    /// Between an operation's number and its offset lie at most a few other arguments.
    const NEAR: usize = 24;
    let code = program.get(translator.offset..translator.offset.checked_add(translator.len)?)?;
    let with_offset = |operation: [u8; 5]| {
        (0..code.len()).filter_map(move |at| {
            let rest = code.get(at..)?.strip_prefix(&operation)?;
            let near = rest.get(..NEAR)?.windows(OFFSET.len() + 4);
            let offset = near.filter_map(|window| window.strip_prefix(&OFFSET)).next()?;
            // A negative offset: data of QEMU's own, which lies before the guest's registers.
            (offset[3] == 0xff).then(|| (at, offset.to_vec()))
        })
    };
    let mut counters = with_offset(STORE_16)
        .filter(|(_, offset)| with_offset(LOAD).any(|(_, loaded)| loaded == *offset));
    match (counters.next(), counters.next()) {
        (Some((at, _)), None) => Some((translator.offset + at + 1, vec![STORE_32])),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A program of two sections, code and exported functions, as far as [`Elf`] reads it.
    pub(in crate::emulator) fn program(code: &[u8], functions: &[(&str, u64, u64)]) -> Vec<u8> {
        const CODE: u64 = 0x1000;
        let mut names = vec![0];
        let mut symbols = vec![0; 24];
        for (name, at, len) in functions {
            symbols.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
            symbols.extend([0x12, 0, 1, 0]);
            symbols.extend((CODE + at).to_le_bytes());
            symbols.extend(len.to_le_bytes());
            names.extend(name.bytes().chain([0]));
        }
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(0x40, 0);
        // Nothing, the code, the functions, their names.
        let mut table = vec![0; 0x40];
        for (kind, address, contents, link) in
            [(1u32, CODE, code, 0u32), (11, 0, &symbols, 3), (3, 0, &names, 0)]
        {
            let mut section = vec![0; 4];
            section.extend(kind.to_le_bytes());
            section.extend([0; 8]);
            section.extend(address.to_le_bytes());
            section.extend((file.len() as u64).to_le_bytes());
            section.extend((contents.len() as u64).to_le_bytes());
            section.extend(link.to_le_bytes());
            section.resize(0x40, 0);
            table.extend(section);
            file.extend(contents);
        }
        let at = (file.len() as u64).to_le_bytes();
        file[0x28..0x30].copy_from_slice(&at);
        file[0x3a..0x40].copy_from_slice(&[0x40, 0, 4, 0, 3, 0]);
        file.extend(table);
        file
    }

    fn without_wait(program: &[u8]) -> Option<Vec<u8>> {
        let change = super::without_wait(program, &Elf::parse(program)?)?;
        crate::emulator::changed(program, &[change])
    }

    fn differences(before: &[u8], after: &[u8]) -> Vec<(u8, u8)> {
        assert_eq!(before.len(), after.len());
        before.iter().zip(after).filter(|(a, b)| a != b).map(|(&a, &b)| (a, b)).collect()
    }

    const LOAD: [u8; 12] = [0xbf, 12, 0, 0, 0, 0x48, 0xc7, 0xc1, 0xf0, 0xff, 0xff, 0xff];
    const STORE: [u8; 12] = [0xbf, 14, 0, 0, 0, 0x48, 0xc7, 0xc1, 0xf0, 0xff, 0xff, 0xff];

    #[test]
    fn a_store_by_number_becomes_one_of_32_bits() {
        let code = [&[0x90; 7], &LOAD[..], &[0x90; 30], &STORE, &[0x90; 40]].concat();
        let whole = code.len() as u64;
        let before = program(&code, &[(TRANSLATOR, 0, whole)]);
        let after = without_wait(&before).unwrap();
        assert_eq!(differences(&before, &after), [(14, 15)]);
        assert_eq!(without_wait(&after), None, "what was changed is not changed again");
        // In no other function, and not where it is not the counter's.
        assert_eq!(without_wait(&program(&code, &[("other", 0, whole)])), None);
        assert_eq!(without_wait(&program(&code, &[(TRANSLATOR, 20, whole - 20)])), None);
        let twice = [&code[..], &STORE, &[0x90; 40]].concat();
        let before = program(&twice, &[(TRANSLATOR, 0, twice.len() as u64)]);
        assert_eq!(without_wait(&before), None, "which of two is not known");
    }

    #[test]
    fn a_store_by_name_becomes_one_of_32_bits() {
        // `call` of the function at 100, from 10 and from 50.
        let mut code = [0x90; 160];
        for at in [10usize, 50] {
            let distance = 100 - i32::try_from(at).unwrap() - 5;
            code[at] = 0xe8;
            code[at + 1..at + 5].copy_from_slice(&distance.to_le_bytes());
        }
        let stores = [("tcg_gen_st16_i32", 100, 20), ("tcg_gen_st_i32", 120, 20)];
        let with = |from, len| {
            let functions = [&[(TRANSLATOR, from, len)][..], &stores].concat();
            program(&code, &functions)
        };
        let before = with(0, 40);
        let after = without_wait(&before).unwrap();
        assert_eq!(differences(&before, &after), [(85, 105)]);
        assert_eq!(without_wait(&with(0, 60)), None, "which of two is not known");
        assert_eq!(without_wait(&with(60, 20)), None);
    }

    #[test]
    fn what_is_no_emulator_stays_as_it_is() {
        let shell = std::fs::read("/bin/sh").unwrap();
        for len in [0, 10, 64, shell.len() / 2, shell.len()] {
            assert_eq!(without_wait(&shell[..len]), None);
        }
    }
}
