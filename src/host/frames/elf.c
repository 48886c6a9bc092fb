/* SPDX-License-Identifier: Apache-2.0
 * Memory of another process by pages, one slot for each residue of the page number, and the ELF objects in it: program headers,
 * dynamic section, both kinds of symbol hash tables, and names of functions from the symbol table of a file. Every loop is bounded:
 * memory and file are those of the observed program and may say anything.
 */
#include "host/frames/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- pages ---- */

void target_pages_forget(struct target_pages *p)
{
    memset(p->at, 0, sizeof p->at);
}

static const uint8_t *page_at(struct target_pages *p, uint64_t at)
{
    size_t slot = (at / TARGET_PAGE) % TARGET_PAGES;
    if (p->at[slot] == at)
        return p->bytes[slot];
    p->at[slot] = 0;
    if (!at || !p->target->read(p->target->user, at, p->bytes[slot], TARGET_PAGE))
        return NULL;
    p->at[slot] = at;
    return p->bytes[slot];
}

bool target_read(struct target_pages *p, uint64_t at, void *to, size_t size)
{
    uint8_t *next = to;
    if (at > UINT64_MAX - size)
        return false;
    while (size > 0) {
        size_t within = at % TARGET_PAGE, part = MIN_OF(size, TARGET_PAGE - within);
        const uint8_t *page = page_at(p, at - within);
        if (!page)
            return false;
        memcpy(next, page + within, part);
        next += part;
        at += part;
        size -= part;
    }
    return true;
}

/* ---- exported symbols ---- */

enum { HEADERS_MAX = 64, DYNAMIC_MAX = 256, CHAIN_MAX = 4096, SYMBOL_NAME_MAX = 64 };

bool object_map_parse(struct str line, struct object_map *ret)
{
    struct str range, word, from;
    int64_t low, offset;
    if (!str_word(&line, &range) || !str_cut(&range, '-', &from) || !str_to_cursor(from, &low) || !str_word(&line, &word) ||
        !str_word(&line, &word) || !str_to_cursor(word, &offset) || offset != 0)
        return false;
    if (!str_word(&line, &word) || !str_word(&line, &word)) /* device, inode */
        return false;
    *ret = (struct object_map){(uint64_t)low, str_trim(line)};
    return ret->path.len && ret->path.at[0] == '/';
}

/* glibc writes addresses into the section that is loaded, musl leaves those of the file. */
static uint64_t loaded(const struct elf_object *o, uint64_t address)
{
    return address < o->bias ? address + o->bias : address;
}

static int read_dynamic(struct target_pages *p, uint64_t at, struct elf_object *o)
{
    for (size_t i = 0; i < DYNAMIC_MAX; i++) {
        Elf64_Dyn d;
        if (!target_read(p, at + i * sizeof d, &d, sizeof d))
            return -ENOEXEC;
        if (d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_SYMTAB)
            o->symbols = loaded(o, d.d_un.d_ptr);
        else if (d.d_tag == DT_STRTAB)
            o->names = loaded(o, d.d_un.d_ptr);
        else if (d.d_tag == DT_GNU_HASH)
            o->gnu_hash = loaded(o, d.d_un.d_ptr);
        else if (d.d_tag == DT_HASH)
            o->hash = loaded(o, d.d_un.d_ptr);
    }
    return o->symbols && o->names && (o->gnu_hash || o->hash) ? 0 : -ENOEXEC;
}

int elf_open(struct target_pages *p, uint64_t start, struct elf_object *ret)
{
    Elf64_Ehdr head;
    uint64_t dynamic = 0, first = UINT64_MAX;
    if (!target_read(p, start, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return -ENOEXEC;
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return -ENOTSUP;
    if (head.e_phentsize != sizeof(Elf64_Phdr))
        return -ENOEXEC;
    for (size_t i = 0; i < MIN_OF((size_t)head.e_phnum, (size_t)HEADERS_MAX); i++) {
        Elf64_Phdr h;
        if (!target_read(p, start + head.e_phoff + i * sizeof h, &h, sizeof h))
            return -ENOEXEC;
        if (h.p_type == PT_LOAD && first == UINT64_MAX)
            first = h.p_vaddr - h.p_vaddr % TARGET_PAGE;
        if (h.p_type == PT_DYNAMIC)
            dynamic = h.p_vaddr;
    }
    if (first == UINT64_MAX || !dynamic)
        return -ENOEXEC;
    *ret = (struct elf_object){.bias = start - first};
    return read_dynamic(p, ret->bias + dynamic, ret);
}

/* True: the symbol of this number has that name, and is defined here. */
static bool is_symbol(struct target_pages *p, const struct elf_object *o, uint64_t number, const char *name, uint64_t *ret)
{
    Elf64_Sym s;
    char found[SYMBOL_NAME_MAX];
    size_t size = strlen(name) + 1;
    if (!target_read(p, o->symbols + number * sizeof s, &s, sizeof s) || s.st_shndx == SHN_UNDEF ||
        !target_read(p, o->names + s.st_name, found, size) || memcmp(found, name, size) != 0)
        return false;
    *ret = o->bias + s.st_value;
    return true;
}

static bool gnu_symbol(struct target_pages *p, const struct elf_object *o, const char *name, uint64_t *ret)
{
    struct {
        uint32_t buckets, first, bloom_words, bloom_shift;
    } head;
    uint32_t hash = 5381, number, other;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    if (!target_read(p, o->gnu_hash, &head, sizeof head) || !head.buckets)
        return false;
    uint64_t buckets = o->gnu_hash + sizeof head + 8 * (uint64_t)head.bloom_words, chain = buckets + 4 * (uint64_t)head.buckets;
    if (!target_u32(p, buckets + 4 * (uint64_t)(hash % head.buckets), &number) || number < head.first)
        return false;
    for (size_t i = 0; i < CHAIN_MAX; i++, number++) {
        if (!target_u32(p, chain + 4 * (uint64_t)(number - head.first), &other))
            return false;
        if ((other | 1) == (hash | 1) && is_symbol(p, o, number, name, ret))
            return true;
        if (other & 1)
            return false;
    }
    return false;
}

static bool old_symbol(struct target_pages *p, const struct elf_object *o, const char *name, uint64_t *ret)
{
    uint32_t head[2], hash = 0, number;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (uint8_t)*c;
        hash = (hash ^ (hash & 0xf0000000) >> 24) & 0x0fffffff;
    }
    if (!target_read(p, o->hash, head, sizeof head) || !head[0] ||
        !target_u32(p, o->hash + 8 + 4 * (uint64_t)(hash % head[0]), &number))
        return false;
    for (size_t i = 0; number && i < CHAIN_MAX; i++)
        if (is_symbol(p, o, number, name, ret))
            return true;
        else if (!target_u32(p, o->hash + 8 + 4 * ((uint64_t)head[0] + number), &number))
            return false;
    return false;
}

bool elf_symbol(struct target_pages *p, const struct elf_object *o, const char *name, uint64_t *ret)
{
    return o->gnu_hash ? gnu_symbol(p, o, name, ret) : old_symbol(p, o, name, ret);
}

/* ---- names of functions ---- */

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
