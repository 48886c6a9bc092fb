/* SPDX-License-Identifier: Apache-2.0
 * An open interpreter and where its structures have their members; what looks have seen.
 */
#pragma once

#include "host/frames/looks.h"
#include "host/frames/python.h"

/* Members, named by the structure that has them: the runtime, an interpreter, a thread, a frame, code, any object, a type,
 * bytes, a string. */
enum python_member {
    RUNTIME_INTERPRETERS,
    INTERPRETER_NEXT,
    INTERPRETER_THREADS,
    THREAD_NEXT,
    THREAD_INTERPRETER,
    THREAD_FRAME,
    THREAD_FRAME_INSIDE, /* 3.11, 3.12: THREAD_FRAME is a structure that has it there */
    THREAD_HANDLE,       /* pthread_t */
    THREAD_ID,
    FRAME_CODE,
    FRAME_BACK,
    FRAME_AT,
    FRAME_OWNER,
    FRAME_COPY, /* which copy of the bytecode a thread of a free-threaded build uses */
    CODE_FILE,
    CODE_NAME,
    CODE_QUALNAME,
    CODE_LINES,
    CODE_FIRST_LINE,
    CODE_BYTECODE,
    CODE_COPIES,
    OBJECT_TYPE,
    TYPE_NAME,
    BYTES_SIZE,
    BYTES_DATA,
    STRING_STATE,
    STRING_LENGTH,
    STRING_ASCII,
    PYTHON_MEMBERS
};
#define NO_MEMBER UINT32_MAX

/* What has been read of a code object. */
struct python_code {
    uint64_t at, file_at, name_at, lines_at;
    uint64_t name_hash; /* as the interpreter has it: an address is soon that of another name */
    uint64_t units;     /* of its bytecode */
    bool is_new;        /* in this walk */
    uint32_t file, function;
    int32_t first;
    uint8_t *lines;
    size_t lines_size;
    int64_t last_at; /* the instruction that was asked for last, and its line */
    int32_t last_line;
};

enum { PYTHON_CODES = 4096 }; /* slots, of which three quarters are used at most */

struct python {
    struct target_memory target;
    struct name_table *names;
    struct python_memory *memory;
    uint64_t runtime, runtime_size;
    int minor;
    bool free_threaded;
    uint32_t member[PYTHON_MEMBERS];
    uint64_t code_type;    /* 0: not seen yet */
    uint32_t id_in_handle; /* where the kernel's thread ID lies in glibc's struct pthread; NO_MEMBER unknown */
    int32_t pid_inside;
    size_t code_count, lines_bytes;
    struct python_code codes[PYTHON_CODES];
};

static inline bool python_has(const struct python *p, enum python_member m)
{
    return p->member[m] != NO_MEMBER;
}

/* ---- looks ---- */

struct seen_stack {
    uint32_t hash, first, count; /* in `frames`, innermost first */
};

struct seen_sample {
    uint32_t thread, stack;
    enum doing doing;
    uint32_t times;
};
