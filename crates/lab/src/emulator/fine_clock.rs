//! A clock in which an instruction may take a fraction of a nanosecond.
//!
//! With `-icount shift=N` an instruction takes 2^N ns, at least 1 ns: QEMU shifts its instruction
//! count to the left. A current processor executes several instructions in a nanosecond, and not
//! exactly a power of two. In the copy, the count is multiplied by a constant in the code and then
//! shifted to the right: `shift=N` means `times` × 2^-N ns. Three functions are changed:
//!
//! * `icount_get` and `icount_to_ns` turn a count into time.
//! * `icount_round` turns the time until the next timer into a number of instructions. It also has
//!   to know which fraction of a nanosecond has passed. From the time alone, a timer would come up
//!   to a nanosecond late whenever something asynchronous ended a budget, at moments that depend on
//!   the host: the workload `tree` on btrfs gave two different values. The count makes it exact:
//!   with `now = count × times >> N` the timer is due at the least count whose time is
//!   `now + time`. The new code is longer than the old, so it is placed in the function of a
//!   command of QEMU's human monitor, which the lab never uses.
//!
//! Kernel and disk timers stay in nanoseconds; nothing has to be converted back. If one of these
//! places does not look exactly as expected, no copy is made.
//!
//! A limit of QEMU remains: it lets a guest run for at most 2^31 ns without any timer, and that is
//! now more instructions than its counter has bits for. A guest that schedules has a timer every
//! 4 ms; a guest that does not schedule for two seconds of virtual time is ended as hung.

use super::Change;
use crate::elf::{Elf, Function};

/// `shl %cl, %rax` and `sar %cl, %rax`.
const SHIFT_LEFT: [u8; 3] = [0x48, 0xd3, 0xe0];
const SHIFT_RIGHT: [u8; 3] = [0x48, 0xd3, 0xf8];
/// `movzwl SHIFT(%rip), %ecx`.
const LOAD_SHIFT: [u8; 3] = [0x0f, 0xb7, 0x0d];
/// `endbr64`, with which functions begin since Debian 13.
const BRANCH_TARGET: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// What clears registers before a function returns, since Debian 13.
const CLEARED: [&[u8]; 2] = [&[0x31, 0xd2, 0x31, 0xc9, 0x31, 0xf6], &[0x31, 0xc9, 0x31, 0xff]];
const RETURN: u8 = 0xc3;
/// The function that the new `icount_round` overwrites: `info mem` of the human monitor.
const UNUSED: &str = "hmp_info_mem";

/// The changes that make an instruction take `times` × 2^-shift ns; `None` where a place is not
/// found exactly once. `times` is from 1 to 127.
pub(super) fn finer(program: &[u8], elf: &Elf<'_>, times: u8) -> Option<Vec<Change>> {
    let mut all = vec![get(program, elf, times)?, to_time(program, elf, times)?];
    all.extend(round(program, elf, times)?);
    Some(all)
}

fn code(program: &[u8], function: Function) -> Option<&[u8]> {
    program.get(function.offset..function.offset.checked_add(function.len)?)
}

/// A function without the branch target instruction at its start.
fn body(program: &[u8], elf: &Elf<'_>, name: &str) -> Option<Function> {
    let mut function = elf.function(name)?;
    if code(program, function)?.starts_with(&BRANCH_TARGET) {
        let len = BRANCH_TARGET.len();
        function.address += len as u64;
        function.offset += len;
        function.len -= len;
    }
    Some(function)
}

/// The change that overwrites the end of a function with `new`, starting `at` bytes into it; `None`
/// where `new` does not fit into the function and the padding behind it.
fn ending(program: &[u8], function: Function, at: usize, new: Vec<u8>) -> Option<Change> {
    let start = function.offset.checked_add(at)?;
    let end = function.offset.checked_add(function.len)?;
    let padding = program.get(end..end.max(start.checked_add(new.len())?))?;
    let is_padding =
        |byte: &u8| [0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44, 0x66, 0x80, 0x84, 0x90].contains(byte);
    padding.iter().all(is_padding).then_some((start, new))
}

/// `rest` without the return at its end and the instructions before it that clear registers.
fn before_return(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.strip_suffix(&[RETURN])?;
    Some(CLEARED.iter().find_map(|cleared| rest.strip_suffix(*cleared)).unwrap_or(rest))
}

/// The new end of `icount_get`, from the point at which the count is in `%rax`.
fn get(program: &[u8], elf: &Elf<'_>, times: u8) -> Option<Change> {
    // pop %rbx; add %rsi, %rax: the nanoseconds to be added.
    const REST: [u8; 4] = [0x5b, 0x48, 0x01, 0xf0];
    let function = body(program, elf, "icount_get")?;
    let code = code(program, function)?;
    let at = only(code, &SHIFT_LEFT)?;
    if before_return(code.get(at + SHIFT_LEFT.len()..)?)? != REST {
        return None;
    }
    let multiply = [0x48, 0x6b, 0xc0, times]; // imul $TIMES, %rax, %rax
    let new = [&multiply[..], &SHIFT_RIGHT, &REST, &[RETURN]].concat();
    ending(program, function, at, new)
}

/// The new `icount_to_ns`.
fn to_time(program: &[u8], elf: &Elf<'_>, times: u8) -> Option<Change> {
    // mov %rdi, %rax; shl %cl, %rax.
    const SHIFT: [u8; 6] = [0x48, 0x89, 0xf8, 0x48, 0xd3, 0xe0];
    let function = body(program, elf, "icount_to_ns")?;
    let old = code(program, function)?;
    if !old.starts_with(&LOAD_SHIFT) || before_return(old.get(LOAD_SHIFT.len() + 4..)?)? != SHIFT {
        return None;
    }
    let shift = referred(program, function, &LOAD_SHIFT)?;
    let mut new = vec![0x8a, 0x0d]; // mov SHIFT(%rip), %cl
    new.extend(distance(function.address + 6, shift)?);
    new.extend([0x48, 0x6b, 0xc7, times]); // imul $TIMES, %rdi, %rax
    new.extend(SHIFT_RIGHT);
    new.push(RETURN);
    ending(program, function, 0, new)
}

/// The distance from the end of an instruction to `to`, encoded as an operand.
fn distance(end: u64, to: u64) -> Option<[u8; 4]> {
    let distance = i64::try_from(to).ok()?.checked_sub(i64::try_from(end).ok()?)?;
    Some(i32::try_from(distance).ok()?.to_le_bytes())
}

/// The offset of `pattern`, if it occurs exactly once.
fn only(code: &[u8], pattern: &[u8]) -> Option<usize> {
    let mut found =
        code.windows(pattern.len()).enumerate().filter(|(_, window)| *window == pattern);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

/// The address that the only instruction with this prefix in the function refers to. The operand
/// is relative to the instruction's end.
fn referred(program: &[u8], function: Function, prefix: &[u8]) -> Option<u64> {
    let code = code(program, function)?;
    let at = only(code, prefix)?;
    let operand = code.get(at + prefix.len()..at + prefix.len() + 4)?;
    let end = function.address + (at + prefix.len() + 4) as u64;
    end.checked_add_signed(i64::from(i32::from_le_bytes(operand.try_into().ok()?)))
}

/// The new `icount_round`, in the place of [`UNUSED`], and the jump to it.
fn round(program: &[u8], elf: &Elf<'_>, times: u8) -> Option<[Change; 2]> {
    // Adds 2^SHIFT - 1, shifts to the right and returns.
    const ROUND_UP: [u8; 17] =
        [0xb8, 1, 0, 0, 0, 0xd3, 0xe0, 0x48, 0x98, 0x48, 0x8d, 0x44, 0x38, 0xff, 0x48, 0xd3, 0xf8];
    let function = body(program, elf, "icount_round")?;
    let old = code(program, function)?;
    if !old.starts_with(&LOAD_SHIFT) || before_return(old.get(LOAD_SHIFT.len() + 4..)?)? != ROUND_UP
    {
        return None;
    }
    let shift = referred(program, function, &LOAD_SHIFT)?;
    // The variable that icount_update increases is the count of executed instructions.
    let update = elf.function("icount_update")?;
    let count = referred(program, update, &[0x48, 0x89, 0x05])?;
    if referred(program, update, &[0x48, 0x03, 0x05])? != count {
        return None;
    }
    let place = elf.function(UNUSED)?;
    let mut new = vec![0x8a, 0x0d]; // mov SHIFT(%rip), %cl
    new.extend(distance(place.address + 6, shift)?);
    new.extend([0x48, 0x8b, 0x05]); // mov COUNT(%rip), %rax
    new.extend(distance(place.address + 13, count)?);
    new.extend([0x48, 0x89, 0xc6]); // mov %rax, %rsi
    new.extend([0x48, 0x6b, 0xc0, times]); // imul $TIMES, %rax, %rax
    new.extend(SHIFT_RIGHT); // now
    new.extend([0x48, 0x01, 0xf8]); // add %rdi, %rax: when it is due
    new.extend(SHIFT_LEFT);
    new.extend([0x48, 0x83, 0xc0, times - 1]); // add $TIMES-1, %rax
    new.extend([0x31, 0xd2]); // xor %edx, %edx
    new.extend([0xb9, times, 0, 0, 0]); // mov $TIMES, %ecx
    new.extend([0x48, 0xf7, 0xf1]); // div %rcx: the least count by then
    new.extend([0x48, 0x29, 0xf0]); // sub %rsi, %rax: how many are left
    // For a timer that is due now, 0 instructions are left, whatever fraction of the nanosecond
    // has passed.
    new.extend([0x48, 0x0f, 0x48, 0xc7]); // cmovs %rdi, %rax: nothing
    new.push(RETURN);
    let mut jump = vec![0xe9]; // jmp PLACE
    jump.extend(distance(function.address + 5, place.address)?);
    let fits = new.len() <= place.len;
    fits.then_some([(function.offset, jump), (place.offset, new)])
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
            (UNUSED, 0x80, 0x60),
        ];
        (code, functions)
    }

    fn finer(program: &[u8], times: u8) -> Option<Vec<u8>> {
        let changes = super::finer(program, &Elf::parse(program)?, times)?;
        crate::emulator::changed(program, &changes)
    }

    /// What a function computes of a time or a count, executed here: the code is copied to memory
    /// with its two variables at the distances it was made for.
    fn computed(program: &[u8], name: &str, of: i64, count: i64, shift: u16) -> i64 {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        let elf = Elf::parse(program).unwrap();
        let (function, first) = (elf.function(name).unwrap(), elf.function("icount_get").unwrap());
        let code = &program[first.offset..first.offset + 0x100];
        let (start, at) = (first.address as usize, function.address as usize);
        // SAFETY: new memory of this test alone, large enough for all that is written to it;
        // the code reads the two variables, changes registers that a call may change, and
        // returns.
        unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE | ProtFlags::EXEC;
            let memory =
                mmap_anonymous(std::ptr::null_mut(), 0x2000, protection, MapFlags::PRIVATE)
                    .unwrap();
            let base = memory.cast::<u8>();
            base.add(start).copy_from_nonoverlapping(code.as_ptr(), code.len());
            base.add(0x1800).cast::<u16>().write(shift);
            base.add(0x1900).cast::<i64>().write(count);
            let call: extern "sysv64" fn(i64) -> i64 = std::mem::transmute(base.add(at));
            let result = call(of);
            munmap(memory, 0x2000).unwrap();
            result
        }
    }

    #[test]
    fn a_timer_is_due_when_the_time_of_the_count_reaches_it_and_not_before() {
        let (code, functions) = emulator();
        for (times, shift) in [(1, 1), (1, 2), (1, 3), (3, 3), (45, 7), (127, 10), (97, 1)] {
            let fine = finer(&program(&code, &functions), times).unwrap();
            let time_of = |count: i64| (count * i64::from(times)) >> shift;
            for count in [0, 1, 2, 3, 5, 1 << 20, (1 << 40) + 7] {
                assert_eq!(computed(&fine, "icount_to_ns", count, 0, shift), time_of(count));
                let left = |time| computed(&fine, "icount_round", time, count, shift);
                for time in [1, 2, 1000, i64::from(i32::MAX)] {
                    let (due, left) = (time_of(count) + time, left(time));
                    assert!(time_of(count + left) >= due, "{times} {shift} {count} {time}");
                    assert!(time_of(count + left - 1) < due, "{times} {shift} {count} {time}");
                }
                assert_eq!(left(0), 0, "one that is due leaves none");
            }
        }
    }

    #[test]
    fn the_clock_multiplies_and_shifts_to_the_right() {
        let (code, functions) = emulator();
        let before = program(&code, &functions);
        let at = Elf::parse(&before).unwrap().function("icount_get").unwrap().offset;
        let after = finer(&before, 45).unwrap();
        let expected = [0x53, 0x48, 0x6b, 0xc0, 45, 0x48, 0xd3, 0xf8, 0x5b, 0x48, 0x01, 0xf0, 0xc3];
        assert_eq!(after[at..at + expected.len()], expected);
    }

    #[test]
    fn functions_may_begin_with_the_mark_of_a_branch_target_and_end_with_cleared_registers() {
        let (mut code, mut functions) = emulator();
        code[0x3c..0x40].copy_from_slice(&BRANCH_TARGET);
        functions[2] = ("icount_round", 0x3c, 0x1d);
        code[0x08..0x0f].copy_from_slice(&[0x31, 0xd2, 0x31, 0xc9, 0x31, 0xf6, 0xc3]);
        functions[0] = ("icount_get", 0x00, 0x0f);
        code[0x2d..0x32].copy_from_slice(&[0x31, 0xc9, 0x31, 0xff, 0xc3]);
        functions[1] = ("icount_to_ns", 0x20, 0x12);
        let before = program(&code, &functions);
        let after = finer(&before, 3).unwrap();
        let at = Elf::parse(&before).unwrap().function("icount_round").unwrap().offset;
        assert_eq!(after[at..at + 4], BRANCH_TARGET, "the mark stays");
        assert_eq!(computed(&after, "icount_to_ns", 1000, 0, 3), 375);
    }

    #[test]
    fn places_that_are_not_as_they_are_known_make_no_copy() {
        let (code, functions) = emulator();
        let before = program(&code, &functions);
        let after = finer(&before, 1).unwrap();
        assert_eq!(finer(&after, 1), None, "what was changed is not changed again");
        // Each place in turn: something else before a return, another load, another rounding,
        // code where padding was, another count.
        let others =
            [(0x05, 0x49), (0x28, 0x8b), (0x40, 0x0e), (0x57, 0xf9), (0x0a, 0xe8), (0x63, 1)];
        for (at, byte) in others {
            let mut other = code.clone();
            other[at] = byte;
            assert_eq!(finer(&program(&other, &functions), 1), None, "{at:#x}");
        }
        for missing in 0..functions.len() {
            let mut fewer = functions.clone();
            fewer.remove(missing);
            assert_eq!(finer(&program(&code, &fewer), 1), None);
        }
        let mut small = functions.clone();
        small[4].2 = 0x20;
        assert_eq!(finer(&program(&code, &small), 1), None, "no room for what is longer");
    }
}
