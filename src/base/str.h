/* SPDX-License-Identifier: Apache-2.0
 * String views: a pointer and a length into memory that the view doesn't own, and number parsing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *at;
    size_t len;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).len, (s).at

static inline struct str str_from(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

bool str_equal(struct str a, struct str b);
uint64_t str_hash(struct str s); /* FNV-1a */
bool str_is(struct str a, const char *text);
bool str_is_any_case(struct str a, const char *text); /* ignores ASCII case */
/* The row of a table of names, or of structs that begin with one (NULL: none), that has this name; its length if there is none. */
size_t str_find_name(const void *rows, size_t row_size, size_t count, struct str name);
#define NAME_FIND(rows, name) str_find_name((rows), sizeof(rows)[0], sizeof(rows) / sizeof(rows)[0], (name))
#define NAME_IN(names, name) (NAME_FIND(names, name) < sizeof(names) / sizeof(names)[0])
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
bool str_contains(struct str s, const char *needle);
bool str_contains_any_case(struct str s, const char *needle); /* ignores ASCII case */
struct str str_trim(struct str s);

/* Cuts the part before the first `separator` off `rest`; false if rest was empty. The last part needs no separator. */
bool str_cut(struct str *rest, char separator, struct str *part);
/* Next run of non-blank characters. */
bool str_word(struct str *rest, struct str *word);

/* A network endpoint as in a URL or a Host header: "HOST", "HOST:PORT", "[IPv6]:PORT". */
struct str_place {
    struct str host; /* without brackets; a name or a numeric address */
    int port;        /* -1: none */
    bool bracketed;  /* an IPv6 address */
};
/* Strict: no user, no blanks, only letters, digits and "-._~" in a name, and a port of at most 65535. */
bool str_to_place(struct str s, struct str_place *ret);
/* An address to listen on, with a port; "*:80" and ":80" mean every address, "::". */
bool str_to_listen(struct str s, struct str_place *ret);
/* The endpoint of an HTTP URL: skips user and password, and fills in the default port. */
bool str_to_url_place(const char *url, struct str_place *ret);
/* 0.0.0.0 or ::. */
bool str_place_is_any(const struct str_place *place);
/* Would a listener on `place` receive traffic for `other`, or conflict with it? */
bool str_place_covers(const struct str_place *place, const struct str_place *other);
/* 127.0.0.0/8, ::1, localhost and the names below it, which never leave the host. */
bool str_is_loopback(struct str host);
bool str_is_address(struct str text); /* IPv4 or IPv6, without a port */

/* Whole-string conversions: false, with *ret untouched, unless the text is a number that fits. */
bool str_to_i64(struct str s, int64_t *ret);
bool str_to_cursor(struct str s, int64_t *ret); /* hexadecimal digits only: 0 to INT64_MAX */
bool str_to_u64(struct str s, uint64_t *ret);   /* decimal, or hexadecimal after 0x */
bool str_to_double(struct str s, double *ret);  /* finite only */

/* "12.34" with scale 1000 -> 12340: decimal text to a scaled integer, rounded, without floating point in between. */
bool str_to_scaled(struct str s, int64_t scale, int64_t *ret);

/* Copies at most size-1 bytes, cutting only between UTF-8 characters; always terminated. */
void str_copy(char *to, size_t size, struct str s);
/* The same, replacing invalid UTF-8, terminal controls and invisible characters with '?': for names from other processes,
 * drivers and hosts. */
void str_copy_clean(char *to, size_t size, struct str s);

/* Length in bytes of the valid UTF-8 character at the front; 0 if invalid (overlong forms and surrogates are). */
size_t str_utf8(struct str s);

/* Writes the character and returns its length in bytes. */
size_t str_put_utf8(uint32_t character, char out[4]);

/* Edit distance, for "did you mean": missing, extra or wrong letters, and swapped neighbors. */
size_t str_distance(const char *a, const char *b);
