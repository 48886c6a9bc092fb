/* SPDX-License-Identifier: Apache-2.0
 * Stable sorting like glibc's, for the same order of rows on every system. qsort() replaces the system's, which isn't stable.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sort_order {
    size_t size;
    posix_compare compare;
    void *user;
};

static void merge(const struct sort_order *s, char *rows, size_t left, size_t count, char *room)
{
    const char *a = rows, *a_end = rows + left * s->size, *b = a_end, *b_end = rows + count * s->size;
    char *to = room;
    while (a < a_end && b < b_end) {
        const char **from = s->compare(a, b, s->user) <= 0 ? &a : &b;
        memcpy(to, *from, s->size);
        *from += s->size;
        to += s->size;
    }
    memcpy(to, a, (size_t)(a_end - a));
    memcpy(rows, room, (size_t)(to - room) + (size_t)(a_end - a));
}

static void sort(const struct sort_order *s, char *rows, size_t count, char *room)
{
    size_t left = count / 2;
    if (count < 2)
        return;
    sort(s, rows, left, room);
    sort(s, rows + left * s->size, count - left, room);
    merge(s, rows, left, count, room);
}

void qsort_r(void *rows, size_t count, size_t size, posix_compare compare, void *user)
{
    char few[4096];
    char *room = count * size <= sizeof few ? few : malloc(count * size);
    if (!room)
        abort();
    sort(&(struct sort_order){size, compare, user}, rows, count, room);
    if (room != few)
        free(room);
}

struct plain {
    int (*compare)(const void *, const void *);
};

static int compare_plain(const void *a, const void *b, void *user)
{
    return ((const struct plain *)user)->compare(a, b);
}

void qsort(void *rows, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    struct plain plain = {compare};
    qsort_r(rows, count, size, compare_plain, &plain);
}
