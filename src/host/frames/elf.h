/* SPDX-License-Identifier: Apache-2.0
 * The memory of another process, read by whole pages that are kept for one look: what lies together is read together, so that it
 * also belongs together; and exported symbols of an ELF object as it lies there: no file is opened, so containers, chroots and
 * replaced files make no difference. The process may change or lie at any time: every read can fail, and no value is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { TARGET_PAGE = 4096, TARGET_PAGES = 256 };

struct target_memory {
    /* Fills `to` with memory of the other process, all of it or nothing. */
    bool (*read)(void *user, uint64_t at, void *to, size_t size);
    void *user;
};

struct target_pages {
    const struct target_memory *target;
    uint64_t at[TARGET_PAGES]; /* address of the page in each slot, or 0 */
    uint8_t bytes[TARGET_PAGES][TARGET_PAGE];
};

void target_pages_forget(struct target_pages *p);
bool target_read(struct target_pages *p, uint64_t at, void *to, size_t size);

static inline bool target_u64(struct target_pages *p, uint64_t at, uint64_t *ret)
{
    return target_read(p, at, ret, sizeof *ret);
}

static inline bool target_u32(struct target_pages *p, uint64_t at, uint32_t *ret)
{
    return target_read(p, at, ret, sizeof *ret);
}

/* ---- ELF objects ---- */

/* One line of /proc/PID/maps that maps the beginning of a file. False: another line. */
struct object_map {
    uint64_t from;
    struct str path; /* points into the line */
};
bool object_map_parse(struct str line, struct object_map *ret);

struct elf_object {
    uint64_t bias; /* what was added to the addresses in the file */
    uint64_t symbols, names, gnu_hash, hash;
};

/* 0; -ENOEXEC: no ELF object, or damaged; -ENOTSUP: a 32-bit one. */
int elf_open(struct target_pages *p, uint64_t start, struct elf_object *ret);
/* The address of an exported symbol; false: it has none. */
bool elf_symbol(struct target_pages *p, const struct elf_object *o, const char *name, uint64_t *ret);

/* ---- functions, by address: the symbols of a file on disk ---- */

enum { FUNCTION_NAME_SIZE = 96 };

struct function_at {
    uint64_t offset;               /* in the file, as /proc/PID/maps counts */
    char name[FUNCTION_NAME_SIZE]; /* "ggml::dequantize_row"; "" unknown */
};

/* Names the functions that hold these offsets. `file` reads the file itself, at its offsets. -ENOEXEC, -ENOTSUP: as above, or
 * stripped; names found before a damaged part stay. */
int elf_functions(const struct target_memory *file, struct function_at *at, size_t count);
