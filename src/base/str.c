/* SPDX-License-Identifier: Apache-2.0
 * String views and number parsing. Allocates nothing.
 */
#include "base/str.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"

bool str_equal(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

uint64_t str_hash(struct str s)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.at[i]) * UINT64_C(1099511628211);
    return h;
}

bool str_is(struct str a, const char *text)
{
    return str_equal(a, str_from(text));
}

bool str_is_any_case(struct str a, const char *text)
{
    return a.len == strlen(text) && strncasecmp(a.at, text, a.len) == 0;
}

size_t str_find_name(const void *rows, size_t row_size, size_t count, struct str name)
{
    size_t i = 0;
    for (const char *const *at = rows; i < count && !(*at && str_is(name, *at)); i++)
        at = (const char *const *)((const char *)at + row_size);
    return i;
}

bool str_starts(struct str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && memcmp(s.at, prefix, len) == 0;
}

bool str_ends(struct str s, const char *suffix)
{
    size_t len = strlen(suffix);
    return s.len >= len && memcmp(s.at + s.len - len, suffix, len) == 0;
}

bool str_contains(struct str s, const char *needle)
{
    return s.len && memmem(s.at, s.len, needle, strlen(needle)) != NULL;
}

bool str_contains_any_case(struct str s, const char *needle)
{
    size_t len = strlen(needle);
    for (size_t i = 0; i + len <= s.len; i++)
        if (str_is_any_case((struct str){s.at + i, len}, needle))
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
}

struct str str_trim(struct str s)
{
    while (s.len && is_blank(s.at[0]))
        s = (struct str){s.at + 1, s.len - 1};
    while (s.len && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

bool str_cut(struct str *rest, char separator, struct str *part)
{
    if (!rest->at || rest->len == 0)
        return false;
    const char *found = memchr(rest->at, separator, rest->len);
    if (!found) {
        *part = *rest;
        *rest = (struct str){rest->at + rest->len, 0};
        return true;
    }
    *part = (struct str){rest->at, (size_t)(found - rest->at)};
    *rest = (struct str){found + 1, rest->len - part->len - 1};
    return true;
}

bool str_word(struct str *rest, struct str *word)
{
    while (rest->len && is_blank(rest->at[0]))
        *rest = (struct str){rest->at + 1, rest->len - 1};
    if (rest->len == 0)
        return false;
    size_t len = 0;
    while (len < rest->len && !is_blank(rest->at[len]))
        len++;
    *word = (struct str){rest->at, len};
    *rest = (struct str){rest->at + len, rest->len - len};
    return true;
}

/* Numbers are short; a longer text isn't one. */
static bool to_c_string(struct str s, char *text, size_t size)
{
    s = str_trim(s);
    if (s.len == 0 || s.len >= size || is_blank(s.at[0]) || memchr(s.at, '\0', s.len))
        return false;
    memcpy(text, s.at, s.len);
    text[s.len] = '\0';
    return true;
}

/* ":80" or empty. */
static bool read_port(struct str s, int *ret)
{
    *ret = -1;
    if (s.len == 0 || (s.len == 1 && s.at[0] == ':'))
        return true;
    int port = 0;
    for (size_t i = 1; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || i > 5)
            return false;
        port = port * 10 + (s.at[i] - '0');
    }
    *ret = port;
    return s.at[0] == ':' && port <= 65535;
}

static bool is_address(struct str host, int family, struct in6_addr *bytes)
{
    char text[INET6_ADDRSTRLEN];
    return to_c_string(host, text, sizeof text) && inet_pton(family, text, bytes) == 1;
}

static bool is_host_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.at[i]) && !(s.at[i] && strchr("-._~", s.at[i])))
            return false;
    return s.len > 0;
}

bool str_to_place(struct str s, struct str_place *ret)
{
    struct in6_addr bytes;
    if (s.len == 0)
        return false;
    const char *end = s.at[0] == '[' ? memchr(s.at, ']', s.len) : NULL, *colon = memchr(s.at, ':', s.len);
    struct str_place place = {.host = s, .bracketed = end};
    if (end)
        place.host = (struct str){s.at + 1, (size_t)(end - s.at) - 1};
    else if (colon)
        place.host.len = (size_t)(colon - s.at);
    size_t used = place.host.len + (end ? 2 : 0);
    if (!read_port((struct str){s.at + used, s.len - used}, &place.port))
        return false;
    /* fe80::1%eth0: strip the interface */
    struct str link = place.host, address = place.host;
    if (end && memchr(link.at, '%', link.len) && str_cut(&link, '%', &address) && !is_host_name(link))
        return false;
    if (end ? !is_address(address, AF_INET6, &bytes) : !is_host_name(place.host))
        return false;
    *ret = place;
    return true;
}

bool str_to_listen(struct str s, struct str_place *ret)
{
    struct str rest = str_starts(s, "*") ? (struct str){s.at + 1, s.len - 1} : s;
    if (rest.len == 0 || rest.at[0] != ':')
        return str_to_place(s, ret) && ret->port >= 0;
    *ret = (struct str_place){.host = STR("::"), .bracketed = true};
    return read_port(rest, &ret->port) && ret->port >= 0;
}

bool str_to_url_place(const char *url, struct str_place *ret)
{
    const char *host = strstr(url, "://");
    if (!host)
        return false;
    host += 3;
    struct str authority = {host, strcspn(host, "/?#")};
    const char *at = authority.len ? memrchr(authority.at, '@', authority.len) : NULL;
    if (at)
        authority = (struct str){at + 1, authority.len - (size_t)(at + 1 - host)};
    if (!str_to_place(authority, ret))
        return false;
    if (ret->port < 0)
        ret->port = strncmp(url, "https", 5) == 0 ? 443 : 80;
    return ret->port > 0;
}

bool str_place_is_any(const struct str_place *place)
{
    return str_is(place->host, "0.0.0.0") || str_is(place->host, "::");
}

bool str_place_covers(const struct str_place *place, const struct str_place *other)
{
    bool local = str_is_loopback(other->host) || str_place_is_any(other);
    bool names_loopback = str_is(place->host, "localhost") || str_is(other->host, "localhost");
    return place->port == other->port && (str_equal(place->host, other->host) || (str_place_is_any(place) && local) ||
                                          (str_place_is_any(other) && str_is_loopback(place->host)) ||
                                          (names_loopback && str_is_loopback(place->host) && str_is_loopback(other->host)));
}

bool str_is_address(struct str name)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (name.len == 0 || name.len >= sizeof text)
        return false;
    str_copy(text, sizeof text, name);
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

bool str_is_loopback(struct str host)
{
    struct in6_addr bytes;
    if (is_address(host, AF_INET, &bytes))
        return bytes.s6_addr[0] == 127;
    if (is_address(host, AF_INET6, &bytes))
        return IN6_IS_ADDR_LOOPBACK(&bytes);
    if (host.len && host.at[host.len - 1] == '.')
        host.len--;
    struct str last = host.len > 10 ? (struct str){host.at + host.len - 10, 10} : STR("");
    return str_is_any_case(host, "localhost") || str_is_any_case(last, ".localhost");
}

bool str_to_i64(struct str s, int64_t *ret)
{
    char text[32];
    if (!to_c_string(s, text, sizeof text))
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text)
        return false;
    *ret = value;
    return true;
}

bool str_to_cursor(struct str s, int64_t *ret)
{
    uint64_t value = 0;
    if (s.len == 0 || s.len > 16)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            value = value << 4 | (uint64_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    if (value > INT64_MAX)
        return false;
    *ret = (int64_t)value;
    return true;
}

bool str_to_u64(struct str s, uint64_t *ret)
{
    char text[32];
    if (!to_c_string(s, text, sizeof text) || text[0] == '-' || text[0] == '+')
        return false;
    char *end;
    errno = 0;
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    unsigned long long value = strtoull(text, &end, base);
    if (errno || *end || end == text)
        return false;
    *ret = value;
    return true;
}

bool str_to_double(struct str s, double *ret)
{
    char text[64];
    if (!to_c_string(s, text, sizeof text) || strpbrk(text, "xXnNiI"))
        return false;
    char *end;
    double value = strtod(text, &end);
    if (*end || end == text || !isfinite(value))
        return false;
    *ret = value;
    return true;
}

bool str_to_scaled(struct str s, int64_t scale, int64_t *ret)
{
    double value;
    if (!str_to_double(s, &value))
        return false;
    value *= (double)scale;
    if (fabs(value) > 9.0e18)
        return false;
    *ret = (int64_t)llround(value);
    return true;
}

size_t str_utf8(struct str s)
{
    const unsigned char *b = (const unsigned char *)s.at;
    if (s.len == 0)
        return 0;
    if (b[0] < 0x80)
        return 1;
    size_t len = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : b[0] >= 0xc2 ? 2 : 0;
    if (len == 0 || b[0] > 0xf4 || s.len < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) || (b[0] == 0xf0 && b[1] < 0x90) ||
        (b[0] == 0xf4 && b[1] > 0x8f))
        return 0;
    return len;
}

size_t str_put_utf8(uint32_t c, char out[4])
{
    if (c < 0x80)
        return out[0] = (char)c, 1;
    if (c < 0x800)
        return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3f)), 2;
    if (c < 0x10000)
        return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 0x3f)), out[2] = (char)(0x80 | (c & 0x3f)), 3;
    return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 0x3f)), out[2] = (char)(0x80 | (c >> 6 & 0x3f)),
           out[3] = (char)(0x80 | (c & 0x3f)), 4;
}

void str_copy(char *to, size_t size, struct str s)
{
    size_t len = MIN_OF(s.len, size - 1);
    while (len && len < s.len && ((unsigned char)s.at[len] & 0xc0) == 0x80)
        len--;
    if (len)
        memcpy(to, s.at, len);
    to[len] = '\0';
}

/* Characters that terminals obey instead of showing, or that are invisible: Unicode categories Cc, Cf, Zl and Zp (control
 * characters, including U+009B, which starts a sequence on xterm; direction overrides; tags), letters and selectors without a
 * shape, private use and noncharacters. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},    {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x0600, 0x0605},   {0x061c, 0x061c},
    {0x06dd, 0x06dd},   {0x070f, 0x070f},    {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},    {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},   {0xd800, 0xf8ff},
    {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},
    {0x110bd, 0x110bd}, {0x110cd, 0x110cd},  {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff},
    {0x2fffe, 0x2ffff}, {0x3fffe, 0x10ffff}, /* planes 4 and up have only tags, selectors and private use */
};

static uint32_t character_of(const unsigned char *b, size_t len)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = b[0] & lead[len];
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (b[i] & 0x3f);
    return c;
}

static bool is_seen(const unsigned char *b, size_t len)
{
    if (len == 1)
        return b[0] >= 0x20 && b[0] != 0x7f;
    uint32_t c = character_of(b, len);
    size_t low = 0, high = ARRAY_LEN(unseen);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (unseen[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low == ARRAY_LEN(unseen) || c < unseen[low].first;
}

void str_copy_clean(char *to, size_t size, struct str s)
{
    size_t used = 0;
    while (s.len) {
        if (s.at[0] >= ' ' && s.at[0] <= '~') { /* the common case */
            if (used + 1 >= size)
                break;
            to[used++] = s.at[0];
            s = (struct str){s.at + 1, s.len - 1};
            continue;
        }
        size_t len = str_utf8(s);
        bool good = len > 0 && is_seen((const unsigned char *)s.at, len);
        size_t need = good ? len : 1;
        if (used + need >= size)
            break;
        if (good)
            memcpy(to + used, s.at, len);
        else
            to[used] = '?';
        used += need;
        len = len ? len : 1;
        s = (struct str){s.at + len, s.len - len};
    }
    to[used] = '\0';
}

size_t str_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t rows = MIN_OF(strlen(a), (size_t)LONGEST), columns = MIN_OF(strlen(b), (size_t)LONGEST);
    size_t last[3][LONGEST + 1]; /* this row and the two above it */
    for (size_t j = 0; j <= columns; j++)
        last[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *row = last[i % 3], *above = last[(i + 2) % 3], *above_that = last[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN_OF(best, above[j] + 1);
            best = MIN_OF(best, row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN_OF(best, above_that[j - 2] + 1);
            row[j] = best;
        }
    }
    return last[rows % 3][columns];
}
