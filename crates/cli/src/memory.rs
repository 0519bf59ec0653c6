//! Running out of memory: a message and an exit code.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Arguments;
use std::io::Write;

use crate::exit::Exit;

#[global_allocator]
static ALLOCATOR: TellsWhenNoneIsLeft = TellsWhenNoneIsLeft;

/// The system's allocator. If no memory is left, the program says so and exits: the standard
/// library would abort, which looks like a bug. The next start removes what is left behind.
struct TellsWhenNoneIsLeft;

// SAFETY: every call is passed to the system's allocator unchanged, and its answer is returned; if
// that is null, the process ends.
unsafe impl GlobalAlloc for TellsWhenNoneIsLeft {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller promises is what the system's allocator asks.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(format_args!("{bytes} bytes were asked for"));
    }
    memory
}

/// What the standard library says when there is no memory for a thread: for the thread itself, or
/// for the stack on which it would handle an overflow of its own.
const NO_MEMORY_FOR_A_THREAD: [&str; 3] = [
    "failed to spawn thread",
    "failed to allocate an alternative stack",
    "failed to set up alternative stack guard page",
];

/// Reports a thread that cannot be started in the same way, where the standard library would
/// panic.
pub(crate) fn tell_of_threads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<String>();
        let of_memory =
            |said: &String| NO_MEMORY_FOR_A_THREAD.iter().any(|it| said.starts_with(it));
        if said.is_some_and(of_memory) {
            end(format_args!("a thread was asked for"));
        }
        usual(panic);
    }));
}

/// Writes the message without allocating and ends at once: exit handlers might need memory.
#[cold]
fn end(asked: Arguments<'_>) -> ! {
    let mut line = [0u8; 240];
    let mut rest = &mut line[..];
    let _ = writeln!(
        rest,
        "fstrial: no memory is left: {asked}; free some, or raise its limit (ulimit -v)"
    );
    let unused = rest.len();
    let _ = std::io::stderr().write_all(&line[..line.len() - unused]);
    // SAFETY: ends the process and touches nothing of it.
    unsafe { libc::_exit(Exit::Memory as i32) }
}
