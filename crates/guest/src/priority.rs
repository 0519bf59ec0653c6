//! The priorities of the guest's threads.

/// Lets this thread run on one processor only.
pub(crate) fn stay_on(processor: u16) {
    // SAFETY: the set is plain data and outlives the call. On failure the thread runs anywhere.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(usize::from(processor), &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &raw const set);
    }
}

/// Gives this thread a real-time priority, which every ordinary one yields to.
pub(crate) fn schedule_before_others(priority: libc::c_int) {
    let priority = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a value that outlives the call.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority);
    }
}
