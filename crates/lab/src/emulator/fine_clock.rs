//! A clock in fractions of a nanosecond.
//!
//! With `-icount shift=N` an instruction takes 2^N ns, one at least: QEMU shifts its count of
//! instructions to the left. A processor of today executes several in a nanosecond. In the copy
//! the shift goes to the right, so that `shift=N` means 2^-N ns. Three functions know of it:
//!
//! * `icount_get` and `icount_to_ns` turn a count into time: `shl` becomes `sar`.
//! * `icount_round` turns the time until the next timer into a count of instructions. It is
//!   written anew in its own place, since it also has to know how much of a nanosecond has
//!   passed: shifting the time alone would let a timer come up to a nanosecond late whenever
//!   something asynchronous ended a budget, at moments that depend on the host. Seen: two values
//!   of the workload `tree` on btrfs. With the count it is exact: with `now = count >> N` the
//!   timer is due when the count reaches `(now + time) << N`.
//!
//! Nothing is divided by anything afterwards: timers of kernel and disks are in nanoseconds as
//! before. Where a place is not found exactly as it is known, there is no such copy.
//!
//! A limit of QEMU stays: it lets a guest run for 2^31 ns without any timer at most, which are
//! now more instructions than its record of them has bits for. A guest that schedules has a timer
//! every 4 ms; one that does not for two seconds of virtual time is ended as hung.

use super::Change;
use crate::elf::{Elf, Function};

/// `shl %cl, %rax` and `sar %cl, %rax`.
const SHIFT_LEFT: [u8; 3] = [0x48, 0xd3, 0xe0];
const SHIFT_RIGHT: [u8; 3] = [0x48, 0xd3, 0xf8];
/// Room that the new `icount_round` takes: in Debian's QEMU 7.2 all that its old code and the
/// padding behind have.
const ROUND_BYTES: usize = 32;
/// `endbr64`, with which functions begin since Debian 13.
const BRANCH_TARGET: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// What makes the clock fine; `None` where a place is not found exactly once.
pub(super) fn finer(program: &[u8], elf: &Elf<'_>) -> Option<Vec<Change>> {
    let to_time = |name: &str| {
        let function = elf.function(name)?;
        let at = only(code(program, function)?, &SHIFT_LEFT)?;
        Some((function.offset + at, SHIFT_RIGHT.to_vec()))
    };
    Some(vec![to_time("icount_get")?, to_time("icount_to_ns")?, round(program, elf)?])
}

fn code(program: &[u8], function: Function) -> Option<&[u8]> {
    program.get(function.offset..function.offset.checked_add(function.len)?)
}

/// Where `pattern` stands, if it stands there once.
fn only(code: &[u8], pattern: &[u8]) -> Option<usize> {
    let mut found =
        code.windows(pattern.len()).enumerate().filter(|(_, window)| *window == pattern);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

/// The address that an instruction at `at` with this prefix refers to, relative to where it
/// ends; the only one with this prefix in the function.
fn referred(program: &[u8], function: Function, prefix: &[u8]) -> Option<u64> {
    let code = code(program, function)?;
    let at = only(code, prefix)?;
    let operand = code.get(at + prefix.len()..at + prefix.len() + 4)?;
    let end = function.address + (at + prefix.len() + 4) as u64;
    end.checked_add_signed(i64::from(i32::from_le_bytes(operand.try_into().ok()?)))
}

/// The new `icount_round`.
fn round(program: &[u8], elf: &Elf<'_>) -> Option<Change> {
    let mut function = elf.function("icount_round")?;
    if code(program, function)?.starts_with(&BRANCH_TARGET) {
        let len = BRANCH_TARGET.len();
        function.address += len as u64;
        function.offset += len;
        function.len -= len;
    }
    let old = code(program, function)?;
    // movzwl SHIFT(%rip), %ecx; then adds 2^SHIFT - 1, shifts to the right and returns.
    const LOAD_SHIFT: [u8; 3] = [0x0f, 0xb7, 0x0d];
    const ROUND_UP: [u8; 17] =
        [0xb8, 1, 0, 0, 0, 0xd3, 0xe0, 0x48, 0x98, 0x48, 0x8d, 0x44, 0x38, 0xff, 0x48, 0xd3, 0xf8];
    if !old.starts_with(&LOAD_SHIFT)
        || !old.get(LOAD_SHIFT.len() + 4..)?.starts_with(&ROUND_UP)
        || !old.ends_with(&[0xc3])
    {
        return None;
    }
    let shift = referred(program, function, &LOAD_SHIFT)?;
    // What icount_update adds to and stores again is the count of executed instructions.
    let update = elf.function("icount_update")?;
    let count = referred(program, update, &[0x48, 0x89, 0x05])?;
    if referred(program, update, &[0x48, 0x03, 0x05])? != count {
        return None;
    }
    let end = function.offset.checked_add(old.len())?;
    let padding = program.get(end..end.max(function.offset.checked_add(ROUND_BYTES)?))?;
    let is_padding =
        |byte: &u8| [0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44, 0x66, 0x80, 0x84, 0x90].contains(byte);
    if !padding.iter().all(is_padding) {
        return None;
    }
    let distance = |end: u64, to: u64| {
        let distance =
            i64::try_from(to).ok()?.checked_sub(i64::try_from(function.address + end).ok()?)?;
        Some(i32::try_from(distance).ok()?.to_le_bytes())
    };
    let mut new = Vec::with_capacity(ROUND_BYTES);
    new.extend([0x8a, 0x0d]); // mov SHIFT(%rip), %cl
    new.extend(distance(6, shift)?);
    new.extend([0x48, 0x8b, 0x05]); // mov COUNT(%rip), %rax
    new.extend(distance(13, count)?);
    new.extend([0x50, 0x5a]); // push %rax; pop %rdx
    new.extend(SHIFT_RIGHT); // now
    new.extend([0x48, 0x01, 0xf8]); // add %rdi, %rax: when it is due
    new.extend(SHIFT_LEFT); // the count by then
    new.extend([0x48, 0x29, 0xd0]); // sub %rdx, %rax: how many are left
    // A timer that is due now leaves none, not the part of a nanosecond that has passed.
    new.extend([0x48, 0x0f, 0x48, 0xc7]); // cmovs %rdi, %rax: nothing
    new.push(0xc3); // ret
    debug_assert_eq!(new.len(), ROUND_BYTES);
    Some((function.offset, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::quick_count::tests::program;

    /// Functions as Debian's QEMU 7.2 has them, with SHIFT at 0x1800 and COUNT at 0x1900; the
    /// code is loaded at 0x1000.
    fn emulator() -> (Vec<u8>, Vec<(&'static str, u64, u64)>) {
        let mut code = vec![0x90; 0x100];
        let relative =
            |end: usize, to: i32| (to - 0x1000 - i32::try_from(end).unwrap()).to_le_bytes();
        let mut put = |at: usize, parts: &[&[u8]]| {
            let bytes = parts.concat();
            code[at..at + bytes.len()].copy_from_slice(&bytes);
        };
        put(0x00, &[&[0x53], &SHIFT_LEFT, &[0x5b, 0x48, 0x01, 0xf0, 0xc3]]);
        put(0x20, &[&[0x0f, 0xb7, 0x0d], &relative(0x27, 0x1800), &[0x48, 0x89, 0xf8]]);
        put(0x2a, &[&SHIFT_LEFT, &[0xc3]]);
        put(0x40, &[&[0x0f, 0xb7, 0x0d], &relative(0x47, 0x1800), &[0xb8, 1, 0, 0, 0, 0xd3, 0xe0]]);
        put(0x4e, &[&[0x48, 0x98, 0x48, 0x8d, 0x44, 0x38, 0xff, 0x48, 0xd3, 0xf8, 0xc3]]);
        put(0x59, &[&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]]);
        put(0x60, &[&[0x48, 0x03, 0x05], &relative(0x67, 0x1900)]);
        put(0x67, &[&[0x48, 0x89, 0x05], &relative(0x6e, 0x1900), &[0xc3]]);
        let functions = vec![
            ("icount_get", 0x00, 0x09),
            ("icount_to_ns", 0x20, 0x0e),
            ("icount_round", 0x40, 0x19),
            ("icount_update", 0x60, 0x0f),
        ];
        (code, functions)
    }

    fn finer(program: &[u8]) -> Option<Vec<u8>> {
        let changes = super::finer(program, &Elf::parse(program)?)?;
        crate::emulator::changed(program, &changes)
    }

    /// What the new `icount_round` computes, executed here: the code is copied to memory with
    /// its two variables at the distances it was made for.
    fn rounded(program: &[u8], time: i64, count: i64, shift: u16) -> i64 {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        let elf = Elf::parse(program).unwrap();
        let function = elf.function("icount_round").unwrap();
        let code = &program[function.offset..function.offset + ROUND_BYTES];
        let at = function.address as usize;
        // SAFETY: new memory of this test alone, large enough for all that is written to it;
        // the code reads the two variables, changes registers that a call may change, and
        // returns.
        unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE | ProtFlags::EXEC;
            let memory =
                mmap_anonymous(std::ptr::null_mut(), 0x2000, protection, MapFlags::PRIVATE)
                    .unwrap();
            let base = memory.cast::<u8>();
            base.add(at).copy_from_nonoverlapping(code.as_ptr(), code.len());
            base.add(0x1800).cast::<u16>().write(shift);
            base.add(0x1900).cast::<i64>().write(count);
            let call: extern "sysv64" fn(i64) -> i64 = std::mem::transmute(base.add(at));
            let result = call(time);
            munmap(memory, 0x2000).unwrap();
            result
        }
    }

    #[test]
    fn a_timer_is_due_when_the_shifted_count_reaches_it() {
        let (code, functions) = emulator();
        let fine = finer(&program(&code, &functions)).unwrap();
        for shift in 1..=3 {
            for count in [0, 1, 2, 3, 5, 1 << 20, (1 << 40) + 7] {
                for time in [1, 2, 1000, i64::from(i32::MAX)] {
                    let left = rounded(&fine, time, count, shift);
                    let now = count >> shift;
                    assert_eq!((count + left) >> shift, now + time, "due: {count} {time} {shift}");
                    assert!((count + left - 1) >> shift < now + time, "and not before");
                }
                assert_eq!(rounded(&fine, 0, count, shift), 0, "one that is due leaves none");
            }
        }
    }

    #[test]
    fn functions_may_begin_with_the_mark_of_a_branch_target() {
        let (mut code, mut functions) = emulator();
        code[0x3c..0x40].copy_from_slice(&BRANCH_TARGET);
        functions[2] = ("icount_round", 0x3c, 0x1d);
        let before = program(&code, &functions);
        let changes = super::finer(&before, &Elf::parse(&before).unwrap()).unwrap();
        let function = Elf::parse(&before).unwrap().function("icount_round").unwrap();
        assert_eq!(changes[2].0, function.offset + 4, "the mark stays");
    }

    #[test]
    fn places_that_are_not_as_they_are_known_make_no_copy() {
        let (code, functions) = emulator();
        let before = program(&code, &functions);
        let after = finer(&before).unwrap();
        assert_eq!(finer(&after), None, "what was changed is not changed again");
        // Each place in turn: a second shift, another count, code where padding was, none.
        for (at, byte) in [(0x05, 0x48), (0x40, 0x0e), (0x57, 0xf9), (0x5c, 0xe8), (0x63, 1)] {
            let mut other = code.clone();
            other[at] = byte;
            if at == 0x05 {
                other[0x05..0x08].copy_from_slice(&SHIFT_LEFT);
            }
            assert_eq!(finer(&program(&other, &functions)), None, "{at:#x}");
        }
        for missing in 0..functions.len() {
            let mut fewer = functions.clone();
            fewer.remove(missing);
            assert_eq!(finer(&program(&code, &fewer)), None);
        }
    }
}
