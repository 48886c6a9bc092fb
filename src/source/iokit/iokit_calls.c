/* SPDX-License-Identifier: Apache-2.0
 * Fills the function table from the two frameworks.
 */
#include "source/iokit/iokit_calls.h"

#include <errno.h>

#include "base/cleanup.h"

static int load(const struct env *env, const char *path, const struct library_symbol *symbols, size_t count, struct error *err)
{
    void *library = env->load_library(env, path, err);
    int rc = library ? library_symbols(library, symbols, count, err) : -ENODEV;
    if (rc == 0)
        return 0;
    error_prefix(err, "%s", path);
    return err ? (err->code = -ENODEV) : -ENODEV;
}

int iokit_calls_load(const struct env *env, struct iokit_calls *ret, struct error *err)
{
    *ret = (struct iokit_calls){0};
    const struct library_symbol registry[] = {
        {"IOServiceMatching", &ret->matching, false},
        {"IOServiceGetMatchingServices", &ret->services, false},
        {"IOIteratorNext", &ret->next, false},
        {"IOObjectRelease", &ret->release_entry, false},
        {"IORegistryEntryGetRegistryEntryID", &ret->entry_id, false},
        {"IORegistryEntryCreateCFProperty", &ret->create_property, false},
        {"IORegistryEntrySearchCFProperty", &ret->search_property, false},
    };
    const struct library_symbol objects[] = {
        {"CFStringCreateWithCString", &ret->create_string, false},
        {"CFRelease", &ret->release, false},
        {"CFGetTypeID", &ret->type_of, false},
        {"CFStringGetTypeID", &ret->string_type, false},
        {"CFNumberGetTypeID", &ret->number_type, false},
        {"CFDictionaryGetTypeID", &ret->dictionary_type, false},
        {"CFDataGetTypeID", &ret->data_type, false},
        {"CFDictionaryGetValue", &ret->value, false},
        {"CFNumberGetValue", &ret->number, false},
        {"CFStringGetCString", &ret->text, false},
        {"CFDataGetLength", &ret->data_length, false},
        {"CFDataGetBytePtr", &ret->data_bytes, false},
    };
    int rc = load(env, "/System/Library/Frameworks/IOKit.framework/IOKit", registry, ARRAY_LEN(registry), err);
    if (rc == 0)
        rc = load(env, "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", objects, ARRAY_LEN(objects), err);
    return rc;
}
