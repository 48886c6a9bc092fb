/* SPDX-License-Identifier: Apache-2.0
 * Exported symbols of an object as it lies in memory, found by the hash table that it has.
 */
#include "host/frames/elf.h"

#include <elf.h>

#include "test.h"

enum { START = 0x10000, SEGMENTS = 64, DYNAMIC = 256, SYMBOLS = 512, NAMES = 768, HASH = 900, GNU_HASH = 1000 };

static uint8_t object[TARGET_PAGE];

static bool read_object(void *user, uint64_t at, void *to, size_t size)
{
    (void)user;
    if (at < START || at - START + size > sizeof object)
        return false;
    memcpy(to, object + (at - START), size);
    return true;
}

/* The hash values of the names are as a linker writes them. */
static void make_object(bool with_gnu)
{
    static const char names[] = "\0_PyRuntime\0Py_Version\0exit";
    const Elf64_Ehdr head = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64}, .e_phoff = SEGMENTS, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
    const Elf64_Phdr segments[] = {{.p_type = PT_LOAD}, {.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC}};
    const Elf64_Dyn dynamic[] = {
        {DT_SYMTAB, {SYMBOLS}}, {DT_STRTAB, {NAMES}}, {DT_HASH, {HASH}}, {with_gnu ? DT_GNU_HASH : DT_NULL, {GNU_HASH}}, {0}};
    const Elf64_Sym symbols[] = {{0},
                                 {.st_name = 1, .st_shndx = 1, .st_value = 0x2000},
                                 {.st_name = 12, .st_shndx = 1, .st_value = 0x2800},
                                 {.st_name = 23, .st_shndx = SHN_UNDEF}};
    const uint32_t hash[] = {3, 4, /* buckets */ 2, 3, 1, /* chains */ 0, 0, 0, 0};
    const uint32_t gnu[] = {1, 1, 0, 0, /* bucket */ 1, /* chain */ 0x88b5a110, 0x433d952, 0x7c967e3f};
    memset(object, 0, sizeof object);
    memcpy(object, &head, sizeof head);
    memcpy(object + SEGMENTS, segments, sizeof segments);
    memcpy(object + DYNAMIC, dynamic, sizeof dynamic);
    memcpy(object + SYMBOLS, symbols, sizeof symbols);
    memcpy(object + NAMES, names, sizeof names);
    memcpy(object + HASH, hash, sizeof hash);
    memcpy(object + GNU_HASH, gnu, sizeof gnu);
}

static void symbols_are_found_by_either_hash_table(void **state)
{
    (void)state;
    static struct target_pages pages;
    const struct target_memory memory = {read_object, NULL};
    for (int with_gnu = 0; with_gnu < 2; with_gnu++) {
        struct elf_object o;
        uint64_t at = 0;
        make_object(with_gnu);
        target_pages_forget(&pages);
        pages.target = &memory;
        assert_int_equal(elf_open(&pages, START, &o), 0);
        assert_true(elf_symbol(&pages, &o, "_PyRuntime", &at));
        assert_int_equal(at, START + 0x2000);
        assert_true(elf_symbol(&pages, &o, "Py_Version", &at));
        assert_int_equal(at, START + 0x2800);
        assert_false(elf_symbol(&pages, &o, "exit", &at)); /* it is another object's */
        assert_false(elf_symbol(&pages, &o, "absent", &at));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(symbols_are_found_by_either_hash_table),
    };
    return RUN_TESTS(tests);
}
