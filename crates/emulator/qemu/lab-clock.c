/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A clock for each processor.
 *
 * All processors run on one thread of the host. Each has a clock of its own, which goes on by the
 * price of each instruction that it executes; the price is a fraction of integers, and what is left
 * of a nanosecond is kept, so nothing is ever rounded. The processor whose clock is least runs,
 * until it is BOUND ahead of the next one. So no two processors that have work are ever further
 * apart than that, and N of them do N times the work of one in the same time.
 *
 * - A timer is due when the least clock among the processors with work reaches it. No turn goes
 *   beyond the next timer. Timers run here, not on another thread.
 * - When no processor has work, time jumps to the next timer.
 * - A processor that slept begins at the moment at which it was woken. A turn in which another
 *   processor is interrupted ends there.
 * - Where one processor alone has work, its turn lasts until the next timer.
 *
 * A turn ends only by what happens inside the machine. Where another thread of the host asks the
 * processors to let go of something, the same turn goes on afterwards. So the order of everything
 * depends on the machine alone.
 *
 * The time stamp counter is a processor's clock in nanoseconds, but never less than what any
 * processor has read before: time does not step back for a process that changes its processor.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/notify.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/timer.h"
#include "sysemu/cpus.h"
#include "sysemu/cpu-timers.h"
#include "sysemu/runstate.h"
#include "sysemu/tcg.h"
#include "exec/exec-all.h"
#include "migration/vmstate.h"
#include "tcg-accel-ops.h"
#include "lab.h"

#define PROCESSORS_MAX 64
/* The counter of translated code has 16 bits and is filled again from the budget. */
#define COUNTER_MAX 0xffff
/* A turn ends after this time at the latest, so that a budget has a bound. */
#define TURN_MAX INT32_MAX
/* By how much the clock of flushes goes on with each: a TLB that was little used for 781 flushes
   becomes smaller. */
#define FLUSH_NS 128000

/* An instruction takes `nanoseconds` / `instructions`. */
typedef struct Price {
    uint32_t nanoseconds;
    uint32_t instructions;
} Price;

typedef struct Clock {
    int64_t now;
    /* What is left of a nanosecond, in parts of `price.instructions`. */
    uint32_t rest;
    /* Of which fraction `rest` was saved. */
    uint32_t rest_of;
    bool asleep;
    Price price;
} Clock;

static struct {
    Clock clocks[PROCESSORS_MAX];
    /* The machine's time: no timer before it is still to run. */
    int64_t base;
    /* The latest time that a processor has read. */
    int64_t read;
} machine;

static int64_t bound = 500;
/* The turn: whose, until when, and whether something ended it before. */
static CPUState *turn_of;
static int64_t turn_end;
static bool turn_over;
/* The machine stops now. */
static bool held;

static Clock *clock_of(CPUState *cpu)
{
    return &machine.clocks[cpu->cpu_index];
}

/* The processor whose instructions are being executed, if this is its thread. */
static CPUState *running(void)
{
    return current_cpu && current_cpu->running ? current_cpu : NULL;
}

void lab_clock_ran(CPUState *cpu, int64_t instructions)
{
    Clock *clock = clock_of(cpu);
    uint64_t parts = clock->rest + (uint64_t)instructions * clock->price.nanoseconds;

    qatomic_set_i64(&clock->now, clock->now + parts / clock->price.instructions);
    clock->rest = parts % clock->price.instructions;
}

/* The least number of instructions after which this clock is at `end` or beyond. */
static int64_t instructions_until(const Clock *clock, int64_t end)
{
    uint64_t parts = (uint64_t)(end - clock->now) * clock->price.instructions - clock->rest;

    return (parts + clock->price.nanoseconds - 1) / clock->price.nanoseconds;
}

static int64_t now(void)
{
    CPUState *cpu = running();

    if (!cpu) {
        return qatomic_read_i64(&machine.base);
    }
    if (!cpu->can_do_io) {
        error_report("the clock was read in the middle of a block");
        exit(1);
    }
    icount_update(cpu);
    return clock_of(cpu)->now;
}

static int64_t time_stamp(void)
{
    machine.read = MAX(machine.read, now());
    return machine.read;
}

int64_t lab_clock_of_flushes(void)
{
    static int64_t flushes;

    return ++flushes * FLUSH_NS;
}

static void end_turn(CPUState *cpu)
{
    turn_over = true;
    cpu_exit(cpu);
}

bool lab_clock_rearmed(QEMUClockType type)
{
    if (type != QEMU_CLOCK_VIRTUAL) {
        return false;
    }
    if (!qemu_in_vcpu_thread()) {
        if (first_cpu && first_cpu->halt_cond) {
            qemu_cpu_kick(first_cpu);
        }
    } else if (running()) {
        end_turn(current_cpu);
    }
    return true;
}

void lab_clock_hold(void)
{
    held = true;
    if (running()) {
        cpu_exit(current_cpu);
    }
}

static void state_changed(void *opaque, bool runs, RunState state)
{
    if (runs) {
        held = false;
    }
}

static void handle_interrupt(CPUState *cpu, int mask)
{
    CPUState *self = running();
    int before = cpu->interrupt_request;

    g_assert(qemu_mutex_iothread_locked());
    cpu->interrupt_request |= mask;
    if (!qemu_cpu_is_self(cpu)) {
        qemu_cpu_kick(cpu);
        return;
    }
    if (self == cpu && !cpu->can_do_io && (mask & ~before)) {
        cpu_abort(cpu, "interrupted in the middle of a block");
    }
    if (cpu->halted) {
        Clock *clock = clock_of(cpu);
        int64_t moment = now();

        if (clock->now < moment) {
            clock->now = moment;
            clock->rest = 0;
        }
    }
    qatomic_set(&cpu_neg(cpu)->icount_decr.u16.high, -1);
    if (self && self != cpu) {
        end_turn(self);
    }
}

/* Another thread wants something of this one. */
static void kick(CPUState *unused)
{
    CPUState *cpu = qatomic_read(&turn_of);

    if (cpu) {
        cpu_exit(cpu);
    }
}

static void force_rcu(Notifier *notify, void *data)
{
    kick(NULL);
}

static void run_timers(int64_t due)
{
    qatomic_set_i64(&machine.base, MAX(machine.base, due));
    qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
}

/* When the next timer is due. */
static int64_t next_timer(void)
{
    int64_t left = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);

    return left < 0 ? INT64_MAX : machine.base + left;
}

/* Begins the next turn, after timers that are due before it. False if nothing will ever happen. */
static bool begin_turn(void)
{
    CPUState *cpu, *least;

    for (;;) {
        int64_t first = INT64_MAX, second = INT64_MAX, due = next_timer();

        least = NULL;
        CPU_FOREACH(cpu) {
            Clock *clock = clock_of(cpu);

            if (cpu_thread_is_idle(cpu)) {
                clock->asleep = true;
                continue;
            }
            if (clock->asleep && clock->now < machine.base) {
                clock->now = machine.base;
                clock->rest = 0;
            }
            clock->asleep = false;
            if (clock->now < first) {
                second = first;
                first = clock->now;
                least = cpu;
            } else if (clock->now < second) {
                second = clock->now;
            }
        }
        if (due <= first && due < INT64_MAX) {
            run_timers(due);
            if (held) {
                return true;
            }
            continue;
        }
        if (!least) {
            return false;
        }
        qatomic_set_i64(&machine.base, MAX(machine.base, first));
        turn_end = MIN(due, first + TURN_MAX);
        if (second < INT64_MAX) {
            turn_end = MIN(turn_end, second + bound);
        }
        turn_over = false;
        qatomic_set(&turn_of, least);
        return true;
    }
}

/* Executes instructions of the turn's processor until the turn ends or it has to let go. */
static void execute(CPUState *cpu)
{
    Clock *clock = clock_of(cpu);
    int result;

    cpu->icount_budget = instructions_until(clock, turn_end);
    cpu_neg(cpu)->icount_decr.u16.low = MIN(COUNTER_MAX, cpu->icount_budget);
    cpu->icount_extra = cpu->icount_budget - cpu_neg(cpu)->icount_decr.u16.low;
    current_cpu = cpu;
    qemu_mutex_unlock_iothread();

    result = tcg_cpus_exec(cpu);

    icount_update(cpu);
    cpu_neg(cpu)->icount_decr.u16.low = 0;
    cpu->icount_extra = 0;
    cpu->icount_budget = 0;
    qemu_mutex_lock_iothread();
    if (result == EXCP_ATOMIC) {
        qemu_mutex_unlock_iothread();
        cpu_exec_step_atomic(cpu);
        qemu_mutex_lock_iothread();
    }
}

/* Work that other threads have for processors. True if one of them is to stand still. */
static bool attend(void)
{
    CPUState *cpu;
    bool stands;

again:
    CPU_FOREACH(cpu) {
        if (cpu->stop || !cpu_work_list_empty(cpu)) {
            current_cpu = cpu;
            /* May let go of the lock for a while. Who let the machine go on meanwhile found nobody
               who waited, so nothing that was seen before counts. */
            qemu_wait_io_event_common(cpu);
            goto again;
        }
    }
    stands = held || !runstate_is_running();
    CPU_FOREACH(cpu) {
        stands |= !cpu_can_run(cpu);
    }
    return stands;
}

static void *processors(void *first)
{
    Notifier notifier = { .notify = force_rcu };
    CPUState *cpu = first;

    rcu_register_thread();
    rcu_add_force_rcu_notifier(&notifier);
    tcg_register_thread();
    qemu_mutex_lock_iothread();
    qemu_thread_get_self(cpu->thread);
    cpu->thread_id = qemu_get_thread_id();
    cpu->can_do_io = 1;
    current_cpu = cpu;
    cpu_thread_signal_created(cpu);
    qemu_guest_random_seed_thread_part2(cpu->random_seed);

    for (;;) {
        CPUState *of = turn_of;

        if (attend()) {
            qemu_cond_wait_iothread(cpu->halt_cond);
            continue;
        }
        if (!of || turn_over || clock_of(of)->now >= turn_end || cpu_thread_is_idle(of)) {
            qatomic_set(&turn_of, NULL);
            if (!begin_turn()) {
                qemu_cond_wait_iothread(cpu->halt_cond);
            }
            if (!turn_of) {
                continue;
            }
        }
        execute(turn_of);
    }
    return NULL;
}

static void create_thread(CPUState *cpu)
{
    if (cpu->cpu_index >= PROCESSORS_MAX) {
        error_report("a machine has at most %d processors", PROCESSORS_MAX);
        exit(1);
    }
    tcg_cpu_init_cflags(cpu, false);
    if (cpu == first_cpu) {
        cpu->thread = g_new0(QemuThread, 1);
        cpu->halt_cond = g_new0(QemuCond, 1);
        qemu_cond_init(cpu->halt_cond);
        qemu_thread_create(cpu->thread, "processors", processors, cpu, QEMU_THREAD_JOINABLE);
    } else {
        cpu->thread = first_cpu->thread;
        cpu->halt_cond = first_cpu->halt_cond;
        cpu->thread_id = first_cpu->thread_id;
        cpu->can_do_io = 1;
        cpu->created = true;
    }
}

static int before_save(void *opaque)
{
    for (int nth = 0; nth < PROCESSORS_MAX; nth++) {
        machine.clocks[nth].rest_of = machine.clocks[nth].price.instructions;
    }
    return 0;
}

/* A machine may go on at another price; less than a nanosecond is lost. */
static int after_load(void *opaque, int version)
{
    for (int nth = 0; nth < PROCESSORS_MAX; nth++) {
        Clock *clock = &machine.clocks[nth];

        if (clock->rest_of != clock->price.instructions) {
            clock->rest = 0;
        }
    }
    return 0;
}

static const VMStateDescription vmstate_clock = {
    .name = "lab/clock",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (VMStateField[]) {
        VMSTATE_INT64(now, Clock),
        VMSTATE_UINT32(rest, Clock),
        VMSTATE_UINT32(rest_of, Clock),
        VMSTATE_BOOL(asleep, Clock),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_machine = {
    .name = "lab",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = before_save,
    .post_load = after_load,
    .fields = (VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(clocks, typeof(machine), PROCESSORS_MAX, 1, vmstate_clock, Clock),
        VMSTATE_INT64(base, typeof(machine)),
        VMSTATE_INT64(read, typeof(machine)),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * What the lab says about its clocks, in the environment variable FSTRIAL_CLOCK: the bound in
 * nanoseconds, then the price of an instruction for all processors, then for single ones:
 * "500 1/4 3:1/64".
 */
static bool read_settings(const char *text)
{
    unsigned nth, nanoseconds, instructions;
    int length;
    bool all = false;

    if (!text || sscanf(text, "%" SCNd64 "%n", &bound, &length) != 1 || bound < 1) {
        return false;
    }
    for (text += length; *text; text += length) {
        unsigned from = 0, to = PROCESSORS_MAX;

        if (sscanf(text, " %u:%u/%u%n", &nth, &nanoseconds, &instructions, &length) == 3) {
            from = nth;
            to = nth + 1;
        } else if (sscanf(text, " %u/%u%n", &nanoseconds, &instructions, &length) == 2) {
            all = true;
        } else {
            return false;
        }
        if (!nanoseconds || !instructions || MAX(nanoseconds, instructions) > 1 << 20 ||
            to > PROCESSORS_MAX) {
            return false;
        }
        for (; from < to; from++) {
            machine.clocks[from].price = (Price) { nanoseconds, instructions };
        }
    }
    return all;
}

void lab_clock_take_over(struct AccelOpsClass *ops)
{
    const char *settings = getenv("FSTRIAL_CLOCK");

    if (!read_settings(settings)) {
        error_report("FSTRIAL_CLOCK is not what the lab says: '%s'", settings ? settings : "");
        exit(1);
    }
    ops->create_vcpu_thread = create_thread;
    ops->kick_vcpu_thread = kick;
    ops->handle_interrupt = handle_interrupt;
    ops->get_virtual_clock = now;
    ops->get_elapsed_ticks = time_stamp;
    vmstate_register(NULL, 0, &vmstate_machine, &machine);
    qemu_add_vm_change_state_handler(state_changed, NULL);
}
