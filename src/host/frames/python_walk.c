/* SPDX-License-Identifier: Apache-2.0
 * Threads, frames and code of an open interpreter. The program runs on while it is read: whatever does not fit together is a torn
 * look, which the caller takes again or drops.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/frames/internal.h"

enum { INTERPRETERS_MAX = 64, CHARACTERS_MAX = 180, LINES_MAX = 1 << 20, ALL_LINES_MAX = 8 << 20 };

/* ---- names ---- */

enum { NAMES_MAX = 8192, NAMES_SLOTS = 4 * NAMES_MAX };

int names_init(struct name_table *n)
{
    *n = (struct name_table){.list = calloc(NAMES_MAX, sizeof *n->list), .hashed = calloc(NAMES_SLOTS, sizeof *n->hashed)};
    n->hash_size = NAMES_SLOTS;
    if (n->list && n->hashed && (n->list[0] = strdup(""))) {
        n->count = 1;
        return 0;
    }
    names_done(n);
    return -ENOMEM;
}

void names_done(struct name_table *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    free(n->hashed);
    *n = (struct name_table){0};
}

uint32_t names_add(struct name_table *n, const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    size_t slot = hash % n->hash_size;
    for (; n->hashed[slot]; slot = (slot + 1) % n->hash_size)
        if (strcmp(n->list[n->hashed[slot]], text) == 0)
            return n->hashed[slot];
    if (n->count >= NAMES_MAX || !text[0] || !(n->list[n->count] = strdup(text)))
        return 0;
    return n->hashed[slot] = (uint32_t)n->count++;
}

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
