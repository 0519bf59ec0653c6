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

/// Reports a thread that cannot be started in the same way, where the standard library would
/// panic: what is missing is mostly memory for its stack.
pub(crate) fn tell_of_threads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<String>();
        if said.is_some_and(|said| said.starts_with("failed to spawn thread")) {
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
