/* SPDX-License-Identifier: Apache-2.0
 * Properties of an entry in the registry, with their types checked: a driver may put anything under a name.
 */
#pragma once

#include "model/reading.h"
#include "source/iokit/calls.h"

/* A dictionary that is a property of the entry; NULL: there is none. To be released. */
cf_ref iokit_dictionary(const struct iokit_calls *c, unsigned entry, const char *key);
/* A whole number in it; READING_UNSUPPORTED: there is none of this name. */
struct reading iokit_number(const struct iokit_calls *c, cf_ref dictionary, const char *key);
/* The first of several names that has a number. The last name is NULL. */
struct reading iokit_first_number(const struct iokit_calls *c, cf_ref dictionary, const char *const *keys);
/* Of the entry or of what it belongs to: text (clean UTF-8), or a number that is written as one or as bytes. */
bool iokit_text_around(const struct iokit_calls *c, unsigned entry, const char *key, char *to, size_t size);
struct reading iokit_number_around(const struct iokit_calls *c, unsigned entry, const char *key);
