/* SPDX-License-Identifier: Apache-2.0
 * Program headers, dynamic section, and both kinds of symbol hash tables. Every loop is bounded: the memory may say anything.
 */
#include "host/frames/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

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
