/* SPDX-License-Identifier: Apache-2.0
 * An open interpreter: its line tables, its threads, frames and code, and how it is found in a program. The program runs on while
 * it is read: whatever does not fit together is a torn look, which the caller takes again or drops.
 */
#include "host/frames/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/frames/elf.h"

/* ---- CPython's three formats of line tables ---- */

/* Pairs of bytes and signed lines; large steps are split. */
static int32_t line_of_3_8(const uint8_t *t, size_t size, int32_t line, int64_t at)
{
    int64_t reached = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        reached += t[i];
        if (reached > at)
            break;
        line = (int32_t)((uint32_t)line + (uint32_t)(int8_t)t[i + 1]);
    }
    return line;
}

static int32_t line_of_3_10(const uint8_t *t, size_t size, int32_t line, int64_t at)
{
    int64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t step = (int8_t)t[i + 1];
        end += t[i];
        if (step != -128)
            line = (int32_t)((uint32_t)line + (uint32_t)step);
        if (at < end)
            return step == -128 ? 0 : line;
    }
    return 0;
}

/* A signed number in groups of 6 bits, the lowest first; its sign is the lowest bit. */
static int32_t signed_varint(const uint8_t *t, size_t size, size_t i)
{
    uint32_t value = 0;
    for (unsigned shift = 0; i < size && shift < 30; i++, shift += 6) {
        value |= (uint32_t)(t[i] & 63) << shift;
        if (!(t[i] & 64))
            break;
    }
    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Entries that begin with a byte 1kkkklll: the kind and how many code units of two bytes, less one. */
static int32_t line_of_3_11(const uint8_t *t, size_t size, int32_t line, int64_t at)
{
    enum { SHORT_LAST = 9, ONE_LINE = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    int64_t end = 0;
    for (size_t i = 0; i < size;) {
        unsigned kind = t[i] >> 3 & 15;
        int32_t step = 0;
        end += 2 * ((t[i] & 7) + 1);
        if (kind >= ONE_LINE && kind <= ONE_LINE_LAST)
            step = (int32_t)kind - ONE_LINE;
        else if (kind == NO_COLUMNS || kind == LONG)
            step = signed_varint(t, size, i + 1);
        line = (int32_t)((uint32_t)line + (uint32_t)step);
        if (at < end)
            return kind == NONE ? 0 : line;
        do
            i++;
        while (i < size && !(t[i] & 128));
    }
    return 0;
}

int32_t python_line(int minor, const uint8_t *table, size_t size, int32_t first, int64_t at)
{
    at = at < 0 ? 0 : at; /* a frame that has just begun */
    int32_t line = minor >= 11   ? line_of_3_11(table, size, first, at)
                   : minor == 10 ? line_of_3_10(table, size, first, at)
                                 : line_of_3_8(table, size, first, at);
    return line > 0 ? line : 0;
}

/* ---- An open interpreter, and where its structures have their members ---- */

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

enum { INTERPRETERS_MAX = 64, CHARACTERS_MAX = 180, LINES_MAX = 1 << 20, ALL_LINES_MAX = 8 << 20 };

/* ---- members ---- */

static bool member(struct target_pages *pages, const struct python *p, uint64_t at, enum python_member m, uint64_t *ret)
{
    return at && target_u64(pages, at + p->member[m], ret);
}

/* ---- strings ---- */

/* The last characters of a string object: of a long path, its end says more. */
static bool read_string(struct python *p, uint64_t at, char out[PYTHON_NAME_SIZE])
{
    uint64_t length;
    uint32_t state, character;
    uint8_t raw[4 * CHARACTERS_MAX];
    char text[4 * CHARACTERS_MAX + 1];
    struct target_pages *pages = &p->memory->code;
    if (!member(pages, p, at, STRING_LENGTH, &length) || !target_u32(pages, at + p->member[STRING_STATE], &state) ||
        length > 1 << 20)
        return false;
    state >>= p->free_threaded && p->minor >= 14 ? 8 : 2;
    unsigned width = state & 7;
    bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4) || (ascii && width != 1))
        return false;
    size_t count = MIN_OF(length, (uint64_t)CHARACTERS_MAX), used = 0;
    uint64_t data = at + p->member[STRING_ASCII] + (ascii ? 0 : p->minor >= 12 ? 16 : 24);
    if (!target_read(pages, data + (length - count) * width, raw, count * width))
        return false;
    for (size_t i = 0; i < count; i++) {
        character = width == 1 ? raw[i] : width == 2 ? raw[2 * i] | (uint32_t)raw[2 * i + 1] << 8 : 0;
        if (width == 4)
            memcpy(&character, raw + 4 * i, sizeof character);
        used += str_put_utf8(character < 0x110000 && character ? character : '?', text + used);
    }
    str_copy_clean(out, PYTHON_NAME_SIZE, (struct str){text, used});
    return used > 0;
}

/* ---- code ---- */

static bool is_code(struct python *p, uint64_t at)
{
    uint64_t type, name;
    char text[5];
    struct target_pages *pages = &p->memory->code;
    if (!member(pages, p, at, OBJECT_TYPE, &type))
        return false;
    if (type == p->code_type)
        return true;
    if (!member(pages, p, type, TYPE_NAME, &name) || !target_read(pages, name, text, sizeof text) || memcmp(text, "code", 5) != 0)
        return false;
    p->code_type = type;
    return true;
}

static bool read_lines(struct python *p, struct python_code *c)
{
    uint64_t size;
    struct target_pages *pages = &p->memory->code;
    if (!member(pages, p, c->lines_at, BYTES_SIZE, &size) || size > LINES_MAX || p->lines_bytes + size > ALL_LINES_MAX)
        return false;
    c->lines = malloc(size + 1);
    if (!c->lines || !target_read(pages, c->lines_at + p->member[BYTES_DATA], c->lines, size))
        return false;
    c->lines_size = size;
    p->lines_bytes += size;
    return true;
}

static void forget_code(struct python *p, struct python_code *c)
{
    p->lines_bytes -= c->lines_size;
    free(c->lines);
    *c = (struct python_code){.at = c->at}; /* the slot stays its own: others may lie behind it */
}

/* Reads what `seen` points to into its slot. */
static bool read_code(struct python *p, const struct python_code *seen, struct python_code *slot)
{
    char file[PYTHON_NAME_SIZE], function[PYTHON_NAME_SIZE];
    uint32_t first;
    p->code_count += !slot->at;
    slot->at = seen->at;
    forget_code(p, slot);
    slot->lines_at = seen->lines_at;
    slot->is_new = true;
    if (!read_string(p, seen->file_at, file) || !read_string(p, seen->name_at, function) ||
        !target_u32(&p->memory->code, seen->at + p->member[CODE_FIRST_LINE], &first) || !read_lines(p, slot)) {
        forget_code(p, slot);
        return false;
    }
    slot->file_at = seen->file_at;
    slot->name_at = seen->name_at;
    slot->name_hash = seen->name_hash;
    slot->units = seen->units;
    slot->first = (int32_t)first;
    slot->file = names_add(p->names, file);
    slot->function = names_add(p->names, function);
    slot->last_at = -1;
    return true;
}

/* NULL: not code, or torn. Code that was freed, with another at its address, is noticed by what it points to. */
static struct python_code *code_at(struct python *p, uint64_t at)
{
    struct python_code now = {.at = at};
    struct target_pages *pages = &p->memory->code;
    enum python_member name = python_has(p, CODE_QUALNAME) ? CODE_QUALNAME : CODE_NAME;
    if (!is_code(p, at) || !member(pages, p, at, CODE_FILE, &now.file_at) || !member(pages, p, at, name, &now.name_at) ||
        !member(pages, p, at, CODE_LINES, &now.lines_at) || !member(pages, p, at, BYTES_SIZE, &now.units) ||
        now.units > UINT32_MAX || !target_u64(pages, now.name_at + p->member[STRING_LENGTH] + sizeof(uint64_t), &now.name_hash))
        return NULL;
    size_t slot = (at >> 4) * 11400714819323198485u >> 52;
    while (p->codes[slot].at && p->codes[slot].at != at)
        slot = (slot + 1) % PYTHON_CODES;
    struct python_code *c = &p->codes[slot];
    if (c->at && c->file_at == now.file_at && c->name_at == now.name_at && c->lines_at == now.lines_at &&
        c->name_hash == now.name_hash && c->units == now.units)
        return c;
    if (!c->at && p->code_count >= PYTHON_CODES * 3 / 4)
        return NULL;
    return read_code(p, &now, c) ? c : NULL;
}

/* ---- frames ---- */

/* How far into its code a frame is, in bytes. */
static bool instruction_of(struct python *p, uint64_t frame, uint64_t code, int64_t *ret)
{
    struct target_pages *pages = &p->memory->frames;
    uint64_t at, start = code + p->member[CODE_BYTECODE];
    uint32_t index, copy;
    if (p->minor < 11) {
        bool fine = target_u32(pages, frame + p->member[FRAME_AT], &index);
        *ret = (int64_t)(int32_t)index * (p->minor == 10 ? 2 : 1);
        return fine;
    }
    if (!member(pages, p, frame, FRAME_AT, &at))
        return false;
    if (p->free_threaded && python_has(p, CODE_COPIES) && python_has(p, FRAME_COPY)) {
        uint64_t copies;
        if (!target_u32(pages, frame + p->member[FRAME_COPY], &copy) || !member(&p->memory->code, p, code, CODE_COPIES, &copies))
            return false;
        if (copies && copy > 0 && copy < 4096 && !target_u64(&p->memory->code, copies + 8 + 8 * (uint64_t)copy, &start))
            return false;
    }
    *ret = (int64_t)(at - start);
    return *ret >= -16 && *ret < 1 << 28;
}

/* Whether a frame whose code was read just now is still where it was: else this may be other code at the same address. */
static bool is_still_there(struct python *p, uint64_t frame)
{
    uint64_t was[2], is[2];
    struct target_pages *pages = &p->memory->frames;
    return member(pages, p, frame, FRAME_CODE, &was[0]) && member(pages, p, frame, FRAME_AT, &was[1]) &&
           p->target.read(p->target.user, frame + p->member[FRAME_CODE], &is[0], sizeof is[0]) &&
           p->target.read(p->target.user, frame + p->member[FRAME_AT], &is[1], sizeof is[1]) && was[0] == is[0] && was[1] == is[1];
}

static bool add_frame(struct python *p, uint64_t frame, uint64_t code, struct python_stack *ret)
{
    int64_t at;
    struct python_code *c = code_at(p, code);
    if (!c || !instruction_of(p, frame, code, &at) || (p->minor >= 11 && at >= 2 * (int64_t)c->units))
        return false;
    if (c->is_new && !is_still_there(p, frame)) {
        forget_code(p, c);
        return false;
    }
    c->is_new = false;
    if (c->file == c->function) /* the interpreter's own frame before __init__ has its name as its file */
        return true;
    if (c->last_at != at) {
        c->last_line = python_line(p->minor, c->lines, c->lines_size, c->first, at);
        c->last_at = at;
    }
    ret->frames[ret->count++] = (struct python_frame){c->file, c->function, c->last_line};
    return true;
}

static bool first_frame(struct python *p, uint64_t thread, uint64_t *ret)
{
    struct target_pages *pages = &p->memory->frames;
    if (!member(pages, p, thread, THREAD_FRAME, ret))
        return false;
    return !python_has(p, THREAD_FRAME_INSIDE) || !*ret || member(pages, p, *ret, THREAD_FRAME_INSIDE, ret);
}

int python_stack(struct python *p, const struct python_thread *thread, struct python_stack *ret)
{
    enum { OWNER_ENTRY = 3, OWNER_LAST = 4, TAGS = 7 };
    struct target_pages *pages = &p->memory->frames;
    uint64_t frame, code, back;
    p->memory->frames.target = p->memory->code.target = &p->target;
    target_pages_forget(pages);
    target_pages_forget(&p->memory->code);
    ret->count = 0;
    if (!first_frame(p, thread->at, &frame))
        return -EAGAIN;
    /* All pages of the frames first: what is read of code between them would give the program time to go on. */
    back = frame;
    for (size_t steps = 0; back && steps < 2 * PYTHON_FRAMES_MAX && member(pages, p, back, FRAME_BACK, &back); steps++)
        continue;
    for (size_t steps = 0; frame && ret->count < PYTHON_FRAMES_MAX && steps < 2 * PYTHON_FRAMES_MAX; steps++, frame = back) {
        uint8_t owner = 0;
        if (!member(pages, p, frame, FRAME_CODE, &code) || !member(pages, p, frame, FRAME_BACK, &back) ||
            (python_has(p, FRAME_OWNER) && !target_read(pages, frame + p->member[FRAME_OWNER], &owner, 1)) || owner > OWNER_LAST)
            return -EAGAIN;
        if (owner < OWNER_ENTRY && !add_frame(p, frame, code & ~(uint64_t)TAGS, ret))
            return -EAGAIN;
    }
    return 0;
}

/* ---- threads ---- */

static int32_t id_of(struct python *p, uint64_t thread)
{
    struct target_pages *pages = &p->memory->frames;
    uint64_t handle;
    uint32_t id = 0;
    if (python_has(p, THREAD_ID))
        target_u32(pages, thread + p->member[THREAD_ID], &id);
    else if (p->id_in_handle != NO_MEMBER && member(pages, p, thread, THREAD_HANDLE, &handle))
        target_u32(pages, handle + p->id_in_handle, &id);
    return id <= INT32_MAX ? (int32_t)id : 0;
}

int python_threads(struct python *p, struct python_thread ret[PYTHON_THREADS_MAX])
{
    struct target_pages *pages = &p->memory->frames;
    uint64_t interpreter, thread, owner;
    int count = 0;
    p->memory->frames.target = p->memory->code.target = &p->target;
    target_pages_forget(pages);
    target_pages_forget(&p->memory->code);
    if (!member(pages, p, p->runtime, RUNTIME_INTERPRETERS, &interpreter) || !interpreter)
        return -EAGAIN;
    for (int n = 0; interpreter && n < INTERPRETERS_MAX; n++) {
        if (!member(pages, p, interpreter, INTERPRETER_THREADS, &thread))
            return -EAGAIN;
        for (; thread && count < PYTHON_THREADS_MAX; count++) {
            if (!member(pages, p, thread, THREAD_INTERPRETER, &owner) || owner != interpreter)
                return -EAGAIN;
            ret[count] = (struct python_thread){thread, id_of(p, thread)};
            if (!member(pages, p, thread, THREAD_NEXT, &thread))
                return -EAGAIN;
        }
        if (!member(pages, p, interpreter, INTERPRETER_NEXT, &interpreter))
            return -EAGAIN;
    }
    return count;
}

/* ---- Finds the interpreter of a program and its version, and looks up where that version has its members. From 3.13 on the
 * runtime begins with a table of them, whose order changes with every minor version; before, they are fixed for each minor version.
 */

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
