/* SPDX-License-Identifier: Apache-2.0
 * Exported symbols of an ELF object as it lies in the memory of another process: no file is opened, so containers, chroots and
 * replaced files make no difference.
 */
#pragma once

#include "base/str.h"
#include "host/frames/target.h"

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
