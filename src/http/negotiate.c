/* SPDX-License-Identifier: Apache-2.0
 * Content negotiation after RFC 9110, section 12.5.
 */
#include "http/negotiate.h"

#include <strings.h>

/* "text/html; q=0.8" -> the name, and its quality in thousandths; invalid qualities count as 1. */
static struct str split_quality(struct str item, int *quality)
{
    *quality = 1000;
    struct str name, parameter;
    if (!str_cut(&item, ';', &name))
        return (struct str){"", 0};
    while (str_cut(&item, ';', &parameter)) {
        parameter = str_trim(parameter);
        int64_t value;
        if (parameter.len > 2 && (parameter.at[0] | 0x20) == 'q' && parameter.at[1] == '=' &&
            str_to_scaled((struct str){parameter.at + 2, parameter.len - 2}, 1000, &value) && value >= 0 && value <= 1000)
            *quality = (int)value;
    }
    return str_trim(name);
}

static bool same(struct str a, const char *b, size_t len)
{
    return a.len == len && strncasecmp(a.at, b, len) == 0;
}

int accept_quality(struct str accept, const char *type)
{
    if (!accept.at || str_trim(accept).len == 0)
        return 1000;
    size_t type_len = strcspn(type, ";"), main_len = strcspn(type, "/");
    int best = 0, precision = 0; /* the most specific range wins: 3 the type itself, 2 its family, 1 anything */
    struct str rest = accept, item;
    while (str_cut(&rest, ',', &item)) {
        int quality;
        struct str range = split_quality(item, &quality);
        int level = 0;
        if (same(range, type, type_len))
            level = 3;
        else if (range.len == main_len + 2 && strncasecmp(range.at, type, main_len + 1) == 0 && range.at[main_len + 1] == '*')
            level = 2;
        else if (str_is(range, "*/*"))
            level = 1;
        if (level > precision || (level && level == precision && quality > best)) {
            precision = level;
            best = quality;
        }
    }
    return best;
}

bool accept_names(struct str accept, const char *type)
{
    struct str rest = accept, item;
    size_t len = strcspn(type, ";");
    int quality;
    while (rest.len && str_cut(&rest, ',', &item))
        if (same(split_quality(item, &quality), type, len) && quality > 0)
            return true;
    return false;
}

bool accepts_type(struct str accept, const char *type)
{
    return accept_quality(accept, type) > 0;
}

bool accepts_gzip(struct str accept_encoding)
{
    int gzip = -1, identity = -1, any = -1;
    struct str rest = accept_encoding, item;
    while (str_cut(&rest, ',', &item)) {
        int quality;
        struct str name = split_quality(item, &quality);
        if (same(name, "gzip", 4) || same(name, "x-gzip", 6))
            gzip = quality;
        else if (same(name, "identity", 8))
            identity = quality;
        else if (str_is(name, "*"))
            any = quality;
    }
    if (gzip < 0)
        gzip = any;
    return gzip > 0 && gzip >= identity;
}

bool none_match_has(struct str if_none_match, const char *etag)
{
    if (!if_none_match.at)
        return false;
    struct str rest = if_none_match, item;
    while (str_cut(&rest, ',', &item)) {
        item = str_trim(item);
        if (str_is(item, "*"))
            return true;
        if (str_starts(item, "W/"))
            item = (struct str){item.at + 2, item.len - 2};
        if (item.len >= 2 && item.at[0] == '"' && item.at[item.len - 1] == '"' &&
            str_is((struct str){item.at + 1, item.len - 2}, etag))
            return true;
    }
    return false;
}
