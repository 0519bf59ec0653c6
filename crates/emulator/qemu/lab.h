/* SPDX-License-Identifier: GPL-2.0-only */
/* What QEMU's own files call: see lab-clock.c, lab-crc32c.c. */
#ifndef LAB_H
#define LAB_H

#include "qemu/timer.h"

struct AccelOpsClass;
struct CPUState;

/* Lets all processors run by the lab's clocks. */
void lab_clock_take_over(struct AccelOpsClass *ops);
/* A processor has executed this many instructions. */
void lab_clock_ran(struct CPUState *cpu, int64_t instructions);
/* The first timer of the machine's clock is another one. */
bool lab_clock_rearmed(QEMUClockType type);
/* The machine is about to be stopped: nothing runs until it is resumed. */
void lab_clock_hold(void);
/* In place of the host's time where a TLB decides on its size. */
int64_t lab_clock_of_flushes(void);

/* CRC-32C of `bits` bits of `data`, as the instruction `crc32` has it. */
uint32_t lab_crc32c(uint32_t crc, uint64_t data, uint32_t bits);

#endif
