/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CRC-32C with the host's instruction, or a table where the host has none. QEMU's own goes bit by
 * bit, which was 8 % of all time where a filesystem writes a journal.
 */
#include "qemu/osdep.h"
#include "lab.h"

/* Castagnoli's polynomial, reversed. */
#define POLYNOMIAL 0x82f63b78u

static uint32_t table[256];

static uint32_t by_table(uint32_t crc, uint64_t data, uint32_t bits)
{
    for (; bits; bits -= 8, data >>= 8) {
        crc = (crc >> 8) ^ table[(crc ^ data) & 0xff];
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2")))
static uint32_t by_instruction(uint32_t crc, uint64_t data, uint32_t bits)
{
    switch (bits) {
    case 8:
        return __builtin_ia32_crc32qi(crc, data);
    case 16:
        return __builtin_ia32_crc32hi(crc, data);
    case 32:
        return __builtin_ia32_crc32si(crc, data);
    default:
        return __builtin_ia32_crc32di(crc, data);
    }
}
#endif

static uint32_t (*chosen)(uint32_t crc, uint64_t data, uint32_t bits) = by_table;

static void __attribute__((constructor)) choose(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        }
        table[byte] = crc;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        chosen = by_instruction;
    }
#endif
}

uint32_t lab_crc32c(uint32_t crc, uint64_t data, uint32_t bits)
{
    return chosen(crc, data, bits);
}
