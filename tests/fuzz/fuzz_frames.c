/* SPDX-License-Identifier: Apache-2.0
 * A program that claims to be Python: a true ELF object that exports _PyRuntime, and any bytes for the rest of its memory.
 */
#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/frames/elf.h"
#include "host/frames/python.h"

enum { START = 0x10000, RUNTIME = 0x2000, VERSION = 0x2800, OBJECT = 0x1000 };

struct claimed {
    const uint8_t *data;
    size_t size;
    uint8_t object[OBJECT];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_claimed(void *user, uint64_t at, void *to, size_t size)
{
    const struct claimed *c = user;
    for (size_t i = 0; i < size; i++, at++)
        ((uint8_t *)to)[i] = at >= START && at < START + OBJECT ? c->object[at - START] : c->data[at % c->size];
    return true;
}

/* The bytes as a file, behind a true beginning of one. */
static bool read_file(void *user, uint64_t at, void *to, size_t size)
{
    const struct claimed *c = user;
    const Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                             .e_phoff = 64,
                             .e_shoff = 64,
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_shentsize = sizeof(Elf64_Shdr),
                             .e_phnum = 2,
                             .e_shnum = 3};
    if (at > c->size || size > c->size - at)
        return false;
    memcpy(to, c->data + at, size);
    if (at == 0 && size == sizeof head)
        memcpy(to, &head, sizeof head);
    return true;
}

/* Header, one segment, a dynamic section, and a hash table with a single chain. */
static void make_object(uint8_t *o)
{
    static const char names[] = "\0_PyRuntime\0Py_Version";
    static const struct {
        const char *name;
        uint32_t at, value;
    } exported[] = {{"_PyRuntime", 1, RUNTIME}, {"Py_Version", 12, VERSION}};
    enum { SEGMENTS = 64, DYNAMIC = 256, SYMBOLS = 512, NAMES = 768, HASH = 900 };
    const Elf64_Ehdr head = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64}, .e_phoff = SEGMENTS, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
    const Elf64_Phdr segments[] = {{.p_type = PT_LOAD}, {.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC}};
    const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {SYMBOLS}}, {DT_STRTAB, {NAMES}}, {DT_GNU_HASH, {HASH}}, {0}};
    Elf64_Sym symbols[ARRAY_LEN(exported) + 1] = {0};
    uint32_t hash[5 + ARRAY_LEN(exported)] = {1, 1, 0, 0, 1};
    for (size_t i = 0; i < ARRAY_LEN(exported); i++) {
        uint32_t h = 5381;
        for (const char *c = exported[i].name; *c; c++)
            h = h * 33 + (uint8_t)*c;
        symbols[i + 1] = (Elf64_Sym){.st_name = exported[i].at, .st_shndx = 1, .st_value = exported[i].value};
        hash[5 + i] = (h & ~1u) | (i + 1 == ARRAY_LEN(exported));
    }
    memcpy(o, &head, sizeof head);
    memcpy(o + SEGMENTS, segments, sizeof segments);
    memcpy(o + DYNAMIC, dynamic, sizeof dynamic);
    memcpy(o + SYMBOLS, symbols, sizeof symbols);
    memcpy(o + NAMES, names, sizeof names);
    memcpy(o + HASH, hash, sizeof hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char maps[] = "10000-11000 r--p 00000000 08:01 1 /usr/bin/python3\n";
    static struct python_memory memory;
    static struct python_stack stack;
    static struct python_thread threads[PYTHON_THREADS_MAX];
    static struct claimed c;
    struct name_table names;
    struct python *p = NULL;
    struct error err = {0};
    if (size < 16 || names_init(&names) < 0)
        return 0;
    c.data = data;
    c.size = size;
    make_object(c.object);
    for (int minor = 8; minor <= 15; minor++)
        python_line(minor, data, size, 1, (int64_t)(data[0] << 8 | data[1]));
    if (python_open(&(struct python_source){{read_claimed, &c}, STR(maps), 7, &names, &memory}, &p, &err) == 0) {
        int count = python_threads(p, threads);
        for (int i = 0; i < count && i < 8; i++)
            if (python_stack(p, &threads[i], &stack) == 0 && stack.count > PYTHON_FRAMES_MAX)
                __builtin_trap();
    }
    python_close(p);
    names_done(&names);
    struct function_at at[4] = {{.offset = data[0]}, {.offset = data[1] << 4}, {.offset = START}, {.offset = UINT64_MAX}};
    if (elf_functions(&(struct target_memory){read_file, &c}, at, 4) == 0)
        for (size_t i = 0; i < 4; i++)
            if (!memchr(at[i].name, '\0', sizeof at[i].name))
                __builtin_trap();
    return 0;
}
