/* SPDX-License-Identifier: Apache-2.0
 * String views: a pointer and a length into memory that the view does not own, and the parsing of numbers from them.
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
bool str_is(struct str a, const char *text);
bool str_is_any_case(struct str a, const char *text); /* A and a are the same, in ASCII */
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
bool str_contains(struct str s, const char *needle);
bool str_contains_any_case(struct str s, const char *needle); /* A and a are the same, in ASCII */
struct str str_trim(struct str s);

/* Cuts the part before the first `separator` off `rest`; false when rest was empty. The last part has no separator behind it. */
bool str_cut(struct str *rest, char separator, struct str *part);
/* Next run of non-blank characters. */
bool str_word(struct str *rest, struct str *word);

/* Where something is on the network, as in a URL or in Host: "HOST", "HOST:PORT", "[IPv6]:PORT". */
struct str_place {
    struct str host; /* without brackets; a name or an address in numbers */
    int port;        /* -1: none is given */
    bool bracketed;  /* an IPv6 address */
};
/* Strictly: no user, no blank, no other character in a name than letters, digits and "-._~", no port but a number to 65535. */
bool str_to_place(struct str s, struct str_place *ret);
/* Where to listen: a place with a port; "*:80" and ":80" are every address, "::". */
bool str_to_listen(struct str s, struct str_place *ret);
/* Where a URL of HTTP leads: behind a user and a password, with its usual port where it gives none. */
bool str_to_url_place(const char *url, struct str_place *ret);
/* 0.0.0.0 or ::. */
bool str_place_is_any(const struct str_place *place);
/* Would a listener on `place` take what is sent to `other`, or its place? */
bool str_place_covers(const struct str_place *place, const struct str_place *other);
/* 127.0.0.0/8, ::1, localhost and the names below it, which never leave the host. */
bool str_is_loopback(struct str host);
bool str_is_address(struct str text); /* of IPv4 or IPv6, without a port */

/* Whole-string conversions: false, and *ret untouched, on anything else than a number that fits. */
bool str_to_i64(struct str s, int64_t *ret);
bool str_to_cursor(struct str s, int64_t *ret); /* hexadecimal digits alone: a number from 0 up to INT64_MAX */
bool str_to_u64(struct str s, uint64_t *ret);   /* decimal, or hexadecimal behind 0x */
bool str_to_double(struct str s, double *ret);  /* finite only */

/* "12.34" with scale 1000 -> 12340: decimal text to a scaled integer, rounded, without floating point in between. */
bool str_to_scaled(struct str s, int64_t scale, int64_t *ret);

/* Copies at most size-1 bytes, cutting only between UTF-8 characters; always terminated. */
void str_copy(char *to, size_t size, struct str s);
/* The same, with invalid UTF-8, what a terminal would obey and what cannot be seen replaced by '?': for names that come from other
 * processes, drivers and hosts. */
void str_copy_clean(char *to, size_t size, struct str s);

/* Length in bytes of the valid UTF-8 character at the front; 0 if there is none (overlong forms and surrogates count as none). */
size_t str_utf8(struct str s);

/* Writes the character and returns its length in bytes. */
size_t str_put_utf8(uint32_t character, char out[4]);

/* Edit distance, for "did you mean": letters that are missing, too many or wrong, and neighbors that were swapped. */
size_t str_distance(const char *a, const char *b);
