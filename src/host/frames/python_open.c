/* SPDX-License-Identifier: Apache-2.0
 * Finds the interpreter of a program and its version, and looks up where that version has its members. From 3.13 on the runtime
 * begins with a table of them, whose order changes with every minor version; before, they are fixed for each minor version.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/frames/elf.h"
#include "host/frames/internal.h"

enum { OLDEST = 8, FIRST_WITH_TABLE = 13, NEWEST = 15, OBJECTS_MAX = 512, TABLE_WORDS = 128, MEMBER_MAX = 1 << 20 };

#define NONE NO_MEMBER
static const uint32_t fixed_members[][PYTHON_MEMBERS] = {
    /* 3.8 */ {32,  0,   8,    8,   16, 24, NONE, 176, NONE, 32, 24, 104, NONE, NONE,
               104, 112, NONE, 120, 40, 48, NONE, 8,   24,   16, 32, 32,  16,   48},
    /* 3.9 */ {32,  0,   8,    8,   16, 24, NONE, 176, NONE, 32, 24, 104, NONE, NONE,
               104, 112, NONE, 120, 40, 48, NONE, 8,   24,   16, 32, 32,  16,   48},
    /* 3.10 */ {32,  0,   8,    8,   16, 24, NONE, 176, NONE, 32, 24, 96, NONE, NONE,
                104, 112, NONE, 120, 40, 48, NONE, 8,   24,   16, 32, 32, 16,   48},
    /* 3.11 */ {40,  0,   16,  8,   16, 56,  8,    152, 160, 32, 48, 56, 69, NONE,
                112, 120, 128, 136, 72, 184, NONE, 8,   24,  16, 32, 32, 16, 48},
    /* 3.12 */ {40,  0,   72,  8,   16, 56,  0,    136, 144, 0,  8,  56, 70, NONE,
                112, 120, 128, 136, 68, 192, NONE, 8,   24,  16, 32, 32, 16, 40},
};
static const uint32_t fixed_sizes[] = {1464, 656, 672, 166688, 459944};

/* Which word of the runtime's own table has each member. */
static const uint32_t table_words[][PYTHON_MEMBERS] = {
    /* 3.13 */ {5, 8, 9, 21, 22, 23, NONE, 24, 25, 30, 29, 31, 33, NONE, 35, 36, 37, 38, 39, 43, NONE, 45, 47, 65, 66, 68, 69, 70},
    /* 3.14 */ {5, 8, 9, 24, 25, 26, NONE, 27, 28, 33, 32, 34, 36, 38, 40, 41, 42, 43, 44, 48, 49, 51, 53, 75, 76, 78, 79, 80},
    /* 3.15 */ {5, 8, 9, 24, 25, 26, NONE, 30, 31, 41, 40, 42, 44, 46, 48, 49, 50, 51, 52, 56, 57, 59, 61, 87, 88, 90, 91, 92},
};
#undef NONE

/* ---- the runtime ---- */

struct found {
    struct elf_object object;
    uint64_t runtime;
    bool old;    /* Python, but without a runtime to look at: 3.6 or older */
    bool narrow; /* the program is a 32-bit one */
    bool any;    /* some object could be read */
};

static bool try_object(struct target_pages *p, const struct object_map *map, struct found *f)
{
    uint64_t ignored;
    int rc = elf_open(p, map->from, &f->object);
    f->any |= rc == 0;
    f->narrow |= rc == -ENOTSUP;
    if (rc < 0)
        return false;
    if (elf_symbol(p, &f->object, "_PyRuntime", &f->runtime))
        return true;
    f->old |= elf_symbol(p, &f->object, "PyEval_EvalFrameEx", &ignored);
    return false;
}

static bool find_runtime(struct target_pages *p, struct str maps, struct found *f)
{
    struct str rest, line;
    struct object_map map;
    /* The executable and libpython first: an embedder may have hundreds of objects. */
    for (int likely = 1; likely >= 0; likely--) {
        size_t tried = 0;
        rest = maps;
        while (tried < OBJECTS_MAX && str_cut(&rest, '\n', &line)) {
            if (!object_map_parse(line, &map))
                continue;
            bool is_likely = tried++ == 0 || str_contains(map.path, "libpython");
            if (is_likely == (likely == 1) && try_object(p, &map, f))
                return true;
            if (f->narrow)
                return false;
        }
    }
    return false;
}

/* ---- its version ---- */

/* The minor version of Python 3; 0: unknown. */
static int minor_of(struct target_pages *p, const struct found *f)
{
    static const struct {
        const char *symbol;
        int minor;
    } since[] = {{"Py_NewRef", 10}, {"PyFrame_GetCode", 9}, {"PyCode_NewWithPosOnlyArgs", 8}};
    uint64_t word[2], at;
    if (target_read(p, f->runtime, word, sizeof word) && memcmp(word, "xdebugpy", 8) == 0)
        return word[1] >> 24 == 3 ? (int)(word[1] >> 16 & 255) : 0;
    if (elf_symbol(p, &f->object, "Py_Version", &at))
        return target_u64(p, at, word) && word[0] >> 24 == 3 ? (int)(word[0] >> 16 & 255) : 0;
    for (size_t i = 0; i < ARRAY_LEN(since); i++)
        if (elf_symbol(p, &f->object, since[i].symbol, &at))
            return since[i].minor;
    return OLDEST - 1;
}

static bool read_table(struct target_pages *p, struct python *python)
{
    uint64_t words[TABLE_WORDS];
    const uint32_t *order = table_words[MIN_OF(python->minor, NEWEST) - FIRST_WITH_TABLE];
    if (!target_read(p, python->runtime, words, sizeof words))
        return false;
    python->free_threaded = words[2] & 1;
    python->runtime_size = MIN_OF(words[3], (uint64_t)16 << 20);
    for (size_t i = 0; i < PYTHON_MEMBERS; i++) {
        python->member[i] = NO_MEMBER;
        if (order[i] == NO_MEMBER)
            continue;
        if (words[order[i]] >= MEMBER_MAX)
            return false;
        python->member[i] = (uint32_t)words[order[i]];
    }
    return true;
}

static bool set_members(struct target_pages *p, struct python *python)
{
    if (python->minor >= FIRST_WITH_TABLE)
        return read_table(p, python);
    memcpy(python->member, fixed_members[python->minor - OLDEST], sizeof python->member);
    python->runtime_size = fixed_sizes[python->minor - OLDEST];
    return true;
}

/* Before 3.11 a thread is known by its pthread_t, a structure in which glibc keeps the kernel's ID: the main thread's is the PID.
 */
static void find_id_in_handle(struct python *p)
{
    enum { FROM = 512, TO = 1024 };
    struct python_thread threads[PYTHON_THREADS_MAX];
    int count = python_has(p, THREAD_ID) ? 0 : python_threads(p, threads);
    for (int i = 0; i < count; i++) {
        uint64_t handle;
        uint32_t id;
        if (!target_u64(&p->memory->frames, threads[i].at + p->member[THREAD_HANDLE], &handle))
            continue;
        for (uint32_t at = FROM; at < TO; at += 4)
            if (target_u32(&p->memory->frames, handle + at, &id) && id == (uint32_t)p->pid_inside) {
                p->id_in_handle = at;
                return;
            }
    }
}

static int refuse(const struct found *f, struct error *err)
{
    if (f->narrow)
        return error_set(err, -ENOTSUP, "it is a 32-bit program, which whirr can't look into");
    if (!f->any)
        return error_set(err, -EFAULT, "its memory can't be read");
    if (f->old)
        return error_set(err, -ENOTSUP, "it runs Python 3.6 or older; whirr knows 3.8 to 3.%d", NEWEST);
    return error_set(err, -ENOEXEC, "it is not a CPython program");
}

int python_open(const struct python_source *source, struct python **ret, struct error *err)
{
    struct found f = {0};
    AUTO_FREE struct python *p = calloc(1, sizeof *p);
    if (!p)
        return error_set(err, -ENOMEM, "out of memory");
    *p = (struct python){.target = source->target,
                         .names = source->names,
                         .memory = source->memory,
                         .pid_inside = source->pid_inside,
                         .id_in_handle = NO_MEMBER};
    struct target_pages *pages = &source->memory->code;
    pages->target = &p->target;
    target_pages_forget(pages);
    if (!find_runtime(pages, source->maps, &f))
        return refuse(&f, err);
    p->runtime = f.runtime;
    p->minor = minor_of(pages, &f);
    if (p->minor < OLDEST)
        return error_set(err, -ENOTSUP,
                         p->minor ? "it runs Python 3.%d or older; whirr knows 3.8 to 3.%d"
                                  : "its Python %d is unknown; whirr knows 3.8 to 3.%d",
                         p->minor, NEWEST);
    struct python_thread threads[PYTHON_THREADS_MAX];
    if (!set_members(pages, p) || (p->minor > NEWEST && python_threads(p, threads) <= 0))
        return error_set(err, -ENOTSUP, "it runs Python 3.%d, which is not known yet; whirr knows 3.8 to 3.%d", p->minor, NEWEST);
    find_id_in_handle(p);
    *ret = TAKE(p);
    return 0;
}

void python_close(struct python *p)
{
    for (size_t i = 0; p && i < PYTHON_CODES; i++)
        free(p->codes[i].lines);
    free(p);
}

bool python_owns(const struct python *p, uint64_t address)
{
    return address >= p->runtime && address - p->runtime < p->runtime_size;
}
