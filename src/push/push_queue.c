/* SPDX-License-Identifier: Apache-2.0
 * The queue: a sorted list of the directory's contents.
 */
#include "push/push.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/keep.h"
#include "base/os/shared.h"

enum { FOLDER_SIZE = 4200, NAME_DIGITS = 20, BODY_MAX = 64 << 20 };

struct push_waiting {
    uint64_t number;
    uint32_t samples;
    int64_t bytes;
    char *memory; /* NULL: in its file */
};

struct push_queue {
    char folder[FOLDER_SIZE]; /* "": none */
    int64_t bytes_max, bytes;
    struct push_waiting *list;
    size_t first, count, capacity; /* list[first] is the oldest */
    size_t in_memory;
    uint64_t next, samples, lost_samples;
};

static void path_of(const struct push_queue *q, const struct push_waiting *w, char *path, size_t size)
{
    snprintf(path, size, "%s/%0*" PRIu64 ".%" PRIu32, q->folder, NAME_DIGITS, w->number, w->samples);
}

static bool append(struct push_queue *q, struct push_waiting w)
{
    if (q->first && q->first + q->count == q->capacity) {
        memmove(q->list, q->list + q->first, q->count * sizeof *q->list);
        q->first = 0;
    }
    if (!ROOM_FOR_ONE(q->list, q->count, q->capacity, 64))
        return false;
    q->list[q->first + q->count++] = w;
    q->bytes += w.bytes;
    q->samples += w.samples;
    q->in_memory += w.memory != NULL;
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct push_waiting *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool read_name(const char *name, struct push_waiting *ret)
{
    struct str rest = str_from(name), number;
    uint64_t samples;
    if (!str_cut(&rest, '.', &number) || number.len != NAME_DIGITS || strspn(number.at, "0123456789") != NAME_DIGITS ||
        !str_to_u64(rest, &samples) || samples > UINT32_MAX)
        return false;
    ret->number = strtoull(number.at, NULL, 10);
    ret->samples = (uint32_t)samples;
    return true;
}

/* Loads what an earlier run left. Deletes a partially written file. */
static void queue_load(struct push_queue *q)
{
    AUTO_DIR DIR *dir = opendir(q->folder);
    if (!dir) {
        q->folder[0] = '\0'; /* queued files keep their numbers: never overwrite them */
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct push_waiting w = {0};
        char path[FOLDER_SIZE + 300];
        struct stat st;
        snprintf(path, sizeof path, "%s/%.255s", q->folder, e->d_name);
        if (str_ends(str_from(e->d_name), ".new"))
            unlink(path);
        else if (read_name(e->d_name, &w)) {
            q->next = MAX_OF(q->next, w.number + 1);
            w.bytes = stat(path, &st) == 0 ? st.st_size : -1;
            if (w.bytes >= 0)
                append(q, w);
        }
    }
    if (q->count)
        qsort(q->list + q->first, q->count, sizeof *q->list, by_number);
}

struct push_queue *push_queue_new(const char *folder, int64_t bytes_max)
{
    struct push_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->bytes_max = bytes_max;
    q->next = 1;
    if (folder && strlen(folder) < sizeof q->folder && shared_dir_make(folder, 0700, NULL) == 0) {
        str_copy(q->folder, sizeof q->folder, str_from(folder));
        queue_load(q);
    }
    return q;
}

void push_queue_set_max(struct push_queue *q, int64_t bytes_max)
{
    q->bytes_max = bytes_max;
}

void push_queue_free(struct push_queue *q)
{
    for (size_t i = 0; q && i < q->count; i++)
        free(q->list[q->first + i].memory);
    if (q)
        free(q->list);
    free(q);
}

static void drop_oldest(struct push_queue *q)
{
    q->lost_samples += q->list[q->first].samples;
    push_queue_drop_first(q);
}

/* Requests stay in memory only while the disk isn't writable: few of them. */
static int put_in_memory(struct push_queue *q, struct push_waiting w, struct str body)
{
    while (q->in_memory >= PUSH_MEMORY_MAX && q->count)
        drop_oldest(q);
    w.memory = malloc(body.len + 1);
    if (!w.memory)
        return -ENOMEM;
    memcpy(w.memory, body.at, body.len);
    if (append(q, w))
        return 0;
    free(w.memory);
    return -ENOMEM;
}

int push_queue_put(struct push_queue *q, struct str body, uint32_t samples, struct error *err)
{
    struct push_waiting w = {.number = q->next++, .samples = samples, .bytes = (int64_t)body.len};
    char path[FOLDER_SIZE + 48];
    while (q->count && q->bytes + w.bytes > q->bytes_max)
        drop_oldest(q);
    path_of(q, &w, path, sizeof path);
    int rc = q->folder[0] ? keep_write(path, body, err) : -ENOENT;
    if (rc == 0 && append(q, w))
        return 0;
    if (rc == 0)
        rc = error_set(err, -ENOMEM, "out of memory");
    if (q->folder[0])
        unlink(path); /* maybe written, but not synced */
    if (put_in_memory(q, w, body) < 0)
        q->lost_samples += samples;
    return q->folder[0] ? rc : 0;
}

bool push_queue_first(struct push_queue *q, struct buf *body, uint32_t *samples)
{
    while (q->count) {
        const struct push_waiting *w = &q->list[q->first];
        char path[FOLDER_SIZE + 48];
        struct error err = {0};
        size_t before = body->len;
        path_of(q, w, path, sizeof path);
        *samples = w->samples;
        if (w->memory) {
            buf_add(body, w->memory, (size_t)w->bytes);
            return true;
        }
        int rc = keep_read(path, body, &err);
        if (rc == 0 && (int64_t)(body->len - before) == w->bytes)
            return true;
        body->len = before;
        if (rc < 0 && !is_gone(rc))
            return false; /* it waits until it is readable */
        drop_oldest(q);
    }
    return false;
}

void push_queue_drop_first(struct push_queue *q)
{
    if (!q->count)
        return;
    struct push_waiting *w = &q->list[q->first];
    char path[FOLDER_SIZE + 48];
    path_of(q, w, path, sizeof path);
    q->bytes -= w->bytes;
    q->samples -= w->samples;
    q->in_memory -= w->memory != NULL;
    if (w->memory)
        free(w->memory);
    else
        unlink(path);
    q->first++;
    if (--q->count == 0)
        q->first = 0;
}

void push_queue_get(const struct push_queue *q, struct push_queue_state *ret)
{
    *ret =
        (struct push_queue_state){.requests = q->count, .bytes = q->bytes, .samples = q->samples, .lost_samples = q->lost_samples};
}
