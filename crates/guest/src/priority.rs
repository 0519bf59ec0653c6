//! The priorities of the guest's threads.

/// Gives this thread a real-time priority, which every ordinary one yields to.
pub(crate) fn schedule_before_others(priority: libc::c_int) {
    let priority = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a value that outlives the call.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority);
    }
}
