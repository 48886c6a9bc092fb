/* SPDX-License-Identifier: Apache-2.0
 * Reads properties of registry entries.
 */
#include "source/iokit/property.h"

#include "base/str.h"

/* Calls `find` with a temporary key. */
static cf_ref with_key(const struct iokit_calls *c, const char *name,
                       cf_ref (*find)(const struct iokit_calls *, const void *, cf_ref), const void *in)
{
    cf_ref key = c->create_string(NULL, name, CF_UTF8);
    cf_ref found = key ? find(c, in, key) : NULL;
    if (key)
        c->release(key);
    return found;
}

static cf_ref find_own(const struct iokit_calls *c, const void *entry, cf_ref key)
{
    return c->create_property(*(const unsigned *)entry, key, NULL, 0);
}

static cf_ref find_around(const struct iokit_calls *c, const void *entry, cf_ref key)
{
    return c->search_property(*(const unsigned *)entry, "IOService", key, NULL, IOKIT_PARENTS_TOO);
}

static cf_ref find_in(const struct iokit_calls *c, const void *dictionary, cf_ref key)
{
    return c->value(dictionary, key);
}

cf_ref iokit_dictionary(const struct iokit_calls *c, unsigned entry, const char *key)
{
    cf_ref found = with_key(c, key, find_own, &entry);
    if (found && c->type_of(found) != c->dictionary_type()) {
        c->release(found);
        found = NULL;
    }
    return found;
}

static struct reading number_of(const struct iokit_calls *c, cf_ref object)
{
    int64_t value = 0;
    if (!object || c->type_of(object) != c->number_type())
        return reading_absent(READING_UNSUPPORTED);
    return c->number(object, CF_INT64, &value) ? reading_ok(value) : reading_absent(READING_IMPLAUSIBLE);
}

struct reading iokit_number(const struct iokit_calls *c, cf_ref dictionary, const char *key)
{
    return dictionary ? number_of(c, with_key(c, key, find_in, dictionary)) : reading_absent(READING_UNSUPPORTED);
}

struct reading iokit_first_number(const struct iokit_calls *c, cf_ref dictionary, const char *const *keys)
{
    struct reading found = reading_absent(READING_UNSUPPORTED);
    for (; *keys && found.state == READING_UNSUPPORTED; keys++)
        found = iokit_number(c, dictionary, *keys);
    return found;
}

bool iokit_text_around(const struct iokit_calls *c, unsigned entry, const char *key, char *to, size_t size)
{
    enum { TEXT_MOST = 256 };
    char text[TEXT_MOST] = "";
    cf_ref found = with_key(c, key, find_around, &entry);
    if (!found)
        return false;
    if (c->type_of(found) == c->string_type()) {
        if (!c->text(found, text, sizeof text, CF_UTF8))
            text[0] = '\0';
    } else if (c->type_of(found) == c->data_type()) {
        long length = c->data_length(found);
        if (length > 0)
            str_copy(text, sizeof text, (struct str){(const char *)c->data_bytes(found), (size_t)length});
    }
    c->release(found);
    str_copy_clean(to, size, str_trim(str_from(text)));
    return to[0] != '\0';
}

struct reading iokit_number_around(const struct iokit_calls *c, unsigned entry, const char *key)
{
    enum { BITS = 8, BYTES_MOST = 7 };
    cf_ref found = with_key(c, key, find_around, &entry);
    struct reading value = number_of(c, found);
    long length = found && c->type_of(found) == c->data_type() ? c->data_length(found) : 0;
    if (length > 0 && length <= BYTES_MOST) {
        value = reading_ok(0);
        for (long i = length; i-- > 0;) /* least significant byte first */
            value.value = value.value << BITS | c->data_bytes(found)[i];
    }
    if (found)
        c->release(found);
    return value;
}
