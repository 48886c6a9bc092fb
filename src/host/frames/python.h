/* SPDX-License-Identifier: Apache-2.0
 * Which line every thread of a running CPython program is at, read from its memory: CPython 3.8 to 3.15, without stopping or
 * touching it. Frames are read, never variables.
 *
 *   maps ──▶ _PyRuntime ──▶ interpreters ──▶ threads ──▶ frames ──▶ code: file, function, line table
 *
 * Pure functions of memory that lies: each pointer, length and list is bounded, and what contradicts itself is dropped.
 */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "host/frames/elf.h"

enum { PYTHON_THREADS_MAX = 256, PYTHON_FRAMES_MAX = 256, PYTHON_NAME_SIZE = 768 };

/* Names of files and functions, each kept once for all processes of a look. 0 is "". */
struct name_table {
    char **list;
    uint32_t *hashed; /* open addressing */
    size_t count, hash_size;
};
int names_init(struct name_table *n); /* -ENOMEM */
void names_done(struct name_table *n);
uint32_t names_add(struct name_table *n, const char *text); /* 0 if full */

struct python_frame {
    uint32_t file, function; /* in names */
    int32_t line;            /* 0: none */
};

struct python_stack {
    size_t count;
    struct python_frame frames[PYTHON_FRAMES_MAX]; /* innermost first; a deeper stack has lost its outermost */
};

struct python_thread {
    uint64_t at;
    int32_t id; /* in the program's own PID namespace; 0 unknown */
};

struct python; /* an open interpreter */

/* Pages are shared by all interpreters of a look: those of frames change from thread to thread, those of code hardly. */
struct python_memory {
    struct target_pages frames, code;
};

struct python_source {
    struct target_memory target;
    struct str maps;    /* text of /proc/PID/maps */
    int32_t pid_inside; /* the program's PID in its own namespace */
    struct name_table *names;
    struct python_memory *memory;
};

/* -ENOEXEC: not a Python program; -ENOTSUP: Python, but not one that is known, or a 32-bit program; -EFAULT: its memory can't be
 * read. `err` has a sentence. */
int python_open(const struct python_source *source, struct python **ret, struct error *err);
void python_close(struct python *p);
bool python_owns(const struct python *p, uint64_t address); /* within its runtime: a lock there is the GIL */

/* Begins a look: pages read before are forgotten. Returns the number of threads, or -EAGAIN: the list changed meanwhile. */
int python_threads(struct python *p, struct python_thread ret[PYTHON_THREADS_MAX]);
/* -EAGAIN: the stack changed meanwhile. */
int python_stack(struct python *p, const struct python_thread *thread, struct python_stack *ret);

/* The line of an instruction, `at` bytes into the code; 0: none. `minor`: 8 to 15. */
int32_t python_line(int minor, const uint8_t *table, size_t size, int32_t first, int64_t at);
