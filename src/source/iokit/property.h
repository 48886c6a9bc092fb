/* SPDX-License-Identifier: Apache-2.0
 * Type-checked properties of a registry entry: a driver may put anything under a name.
 */
#pragma once

#include "model/reading.h"
#include "source/iokit/iokit_calls.h"

/* A dictionary property; NULL: missing. The caller releases it. */
cf_ref iokit_dictionary(const struct iokit_calls *c, unsigned entry, const char *key);
/* An integer in it; READING_UNSUPPORTED: missing. */
struct reading iokit_number(const struct iokit_calls *c, cf_ref dictionary, const char *key);
/* The first of several names that has a number. NULL ends the names. */
struct reading iokit_first_number(const struct iokit_calls *c, cf_ref dictionary, const char *const *keys);
/* From the entry or its parents: text (clean UTF-8), or a number stored as such or as bytes. */
bool iokit_text_around(const struct iokit_calls *c, unsigned entry, const char *key, char *to, size_t size);
struct reading iokit_number_around(const struct iokit_calls *c, unsigned entry, const char *key);
