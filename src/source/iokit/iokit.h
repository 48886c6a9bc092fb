/* SPDX-License-Identifier: Apache-2.0
 * The functions of IOKit and CoreFoundation that this source uses, as a table that tests replace. Both load lazily, and their
 * types are declared here: cross-compilers for macOS have no frameworks.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "source/source.h"

/* A reference to a CoreFoundation object; release those from functions with Create or Copy in their name. */
typedef const void *cf_ref;

enum { CF_UTF8 = 0x08000100, CF_INT64 = 4, IOKIT_PARENTS_TOO = 1 | 2 };

struct iokit_calls {
    /* IOKit. Registry entries are numbers, 0 is none; results are 0 or an error. */
    cf_ref (*matching)(const char *class_name); /* released by services() */
    int (*services)(unsigned port, cf_ref matching, unsigned *iterator);
    unsigned (*next)(unsigned iterator);
    int (*release_entry)(unsigned entry);
    int (*entry_id)(unsigned entry, uint64_t *ret);
    cf_ref (*create_property)(unsigned entry, cf_ref key, cf_ref allocator, unsigned options);
    cf_ref (*search_property)(unsigned entry, const char *plane, cf_ref key, cf_ref allocator, unsigned options); /* created */
    /* CoreFoundation */
    cf_ref (*create_string)(cf_ref allocator, const char *text, unsigned encoding);
    void (*release)(cf_ref);
    unsigned long (*type_of)(cf_ref);
    unsigned long (*string_type)(void), (*number_type)(void), (*dictionary_type)(void), (*data_type)(void);
    cf_ref (*value)(cf_ref dictionary, cf_ref key); /* owned by the dictionary */
    unsigned char (*number)(cf_ref number, long type, void *to);
    unsigned char (*text)(cf_ref string, char *to, long size, unsigned encoding);
    long (*data_length)(cf_ref data);
    const unsigned char *(*data_bytes)(cf_ref data);
};

/* The source with a table of its own, which it copies. -ENODEV: no GPU in the registry. */
int iokit_open_with(const struct env *env, const struct iokit_calls *calls, struct source **ret, struct error *err);
