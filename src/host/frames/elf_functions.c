/* SPDX-License-Identifier: Apache-2.0
 * Names of functions from the symbol table of an ELF file. The file is the observed program's own, so its content is not trusted.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/frames/elf.h"

enum { SEGMENTS_MAX = 64, SECTIONS_MAX = 4096, SYMBOLS_MAX = 2 << 20, SYMBOLS_AT_ONCE = 1024 };

/* An offset on its way to a name. */
struct wanted {
    uint64_t address; /* as the file's symbols count; UINT64_MAX: in no segment */
    uint64_t begins;  /* the best symbol so far: where it begins, and its name in the string table */
    uint32_t name;
    bool found;
    struct function_at *to;
};

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct wanted *)a)->address, y = ((const struct wanted *)b)->address;
    return x < y ? -1 : x > y;
}

static int read_segments(const struct target_memory *file, const Elf64_Ehdr *head, struct wanted *list, size_t count)
{
    for (size_t i = 0; i < MIN_OF((size_t)head->e_phnum, (size_t)SEGMENTS_MAX); i++) {
        Elf64_Phdr h;
        if (!file->read(file->user, head->e_phoff + i * sizeof h, &h, sizeof h))
            return -ENOEXEC;
        for (size_t k = 0; k < count && h.p_type == PT_LOAD; k++)
            if (list[k].to->offset >= h.p_offset && list[k].to->offset - h.p_offset < h.p_filesz)
                list[k].address = h.p_vaddr + (list[k].to->offset - h.p_offset);
    }
    return 0;
}

/* The full table where there is one: a stripped file still has the names that it exports. */
static int find_symbols(const struct target_memory *file, const Elf64_Ehdr *head, Elf64_Shdr *symbols, Elf64_Shdr *names)
{
    symbols->sh_type = SHT_NULL;
    for (size_t i = 0; i < MIN_OF((size_t)head->e_shnum, (size_t)SECTIONS_MAX); i++) {
        Elf64_Shdr h;
        if (!file->read(file->user, head->e_shoff + i * sizeof h, &h, sizeof h))
            return -ENOEXEC;
        if (h.sh_type == SHT_SYMTAB || (h.sh_type == SHT_DYNSYM && symbols->sh_type == SHT_NULL))
            *symbols = h;
    }
    if (symbols->sh_type == SHT_NULL || symbols->sh_link >= head->e_shnum ||
        !file->read(file->user, head->e_shoff + symbols->sh_link * sizeof *names, names, sizeof *names))
        return -ENOEXEC;
    return 0;
}

static void match_symbol(const Elf64_Sym *s, struct wanted *list, size_t count)
{
    size_t low = 0, high = count;
    if (s->st_shndx == SHN_UNDEF || (ELF64_ST_TYPE(s->st_info) != STT_FUNC && ELF64_ST_TYPE(s->st_info) != STT_GNU_IFUNC))
        return;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].address < s->st_value)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < count && list[i].address != UINT64_MAX; i++) {
        struct wanted *w = &list[i];
        if (w->address - s->st_value >= s->st_size)
            break;
        if (!w->found || w->begins < s->st_value)
            *w = (struct wanted){w->address, s->st_value, s->st_name, true, w->to};
    }
}

/* "_ZN4ggml4dotE" is ggml::dot: the nested names alone, without types and templates. */
static void write_name(const char *symbol, char out[FUNCTION_NAME_SIZE])
{
    struct str rest = str_from(symbol);
    size_t len = 0;
    if (!str_starts(rest, "_Z")) {
        str_copy_clean(out, FUNCTION_NAME_SIZE, rest);
        return;
    }
    const char *c = symbol + 2 + strspn(symbol + 2, "NKVSLRO");
    if (*c == 't') /* std:: */
        c++;
    while (*c >= '1' && *c <= '9') {
        char *end;
        unsigned long part = strtoul(c, &end, 10);
        if (part == 0 || part > strlen(end) || len + part + 3 > FUNCTION_NAME_SIZE)
            break;
        if (len)
            memcpy(out + len, "::", 2), len += 2;
        memcpy(out + len, end, part);
        len += part;
        c = end + part;
    }
    out[len] = '\0';
    str_copy_clean(out, FUNCTION_NAME_SIZE, len ? str_from(out) : rest);
}

static void read_names(const struct target_memory *file, const Elf64_Shdr *names, struct wanted *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char symbol[2 * FUNCTION_NAME_SIZE];
        struct wanted *w = &list[i];
        if (!w->found || w->name >= names->sh_size)
            continue;
        size_t size = MIN_OF(sizeof symbol - 1, (size_t)(names->sh_size - w->name));
        if (!file->read(file->user, names->sh_offset + w->name, symbol, size))
            continue;
        symbol[size] = '\0';
        write_name(symbol, w->to->name);
    }
}

int elf_functions(const struct target_memory *file, struct function_at *at, size_t count)
{
    Elf64_Ehdr head;
    Elf64_Shdr symbols, names;
    AUTO_FREE struct wanted *list = calloc(count + 1, sizeof *list);
    AUTO_FREE Elf64_Sym *chunk = calloc(SYMBOLS_AT_ONCE, sizeof *chunk);
    if (!list || !chunk)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct wanted){.address = UINT64_MAX, .to = &at[i]};
        at[i].name[0] = '\0';
    }
    if (!file->read(file->user, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return -ENOEXEC;
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return -ENOTSUP;
    if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_shentsize != sizeof(Elf64_Shdr) ||
        read_segments(file, &head, list, count) < 0 || find_symbols(file, &head, &symbols, &names) < 0)
        return -ENOEXEC;
    qsort(list, count, sizeof *list, by_address);
    size_t left = MIN_OF((size_t)(symbols.sh_size / sizeof *chunk), (size_t)SYMBOLS_MAX);
    for (uint64_t from = symbols.sh_offset; left > 0;) {
        size_t some = MIN_OF(left, (size_t)SYMBOLS_AT_ONCE);
        if (!file->read(file->user, from, chunk, some * sizeof *chunk))
            break;
        for (size_t i = 0; i < some; i++)
            match_symbol(&chunk[i], list, count);
        from += some * sizeof *chunk;
        left -= some;
    }
    read_names(file, &names, list, count);
    return 0;
}
