/* SPDX-License-Identifier: Apache-2.0
 * Reservations of room: one line each, "KEY AT_MS BYTES FREE_BYTES".
 */
#include "ask/reserve.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/keep.h"
#include "config/places.h"

enum { TEXT_MAX = 65536 };

/* How much of them is not used yet: memory that went since the oldest was made is that of the oldest first. */
static int64_t unused(const struct reservations *r, const char *key, int64_t free_bytes)
{
    int64_t used = 0, left = 0;
    bool first = true;
    for (size_t i = 0; i < r->count; i++) {
        const struct reservation *one = &r->list[i];
        if (strcmp(one->key, key) != 0)
            continue;
        if (first)
            used = MAX_OF(one->free_bytes - free_bytes, (int64_t)0);
        first = false;
        int64_t its = MIN_OF(used, one->bytes);
        used -= its;
        left += one->bytes - its;
    }
    return left;
}

bool reservations_take(struct reservations *r, const char *key, int64_t bytes, int64_t free_bytes, struct wall now)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].at.ms <= now.ms && now.ms - r->list[i].at.ms < RESERVE_MS)
            r->list[kept++] = r->list[i];
    r->count = kept;
    if (r->count == RESERVE_MAX || free_bytes - unused(r, key, free_bytes) < bytes)
        return false;
    struct reservation *one = &r->list[r->count++];
    *one = (struct reservation){.at = now, .bytes = bytes, .free_bytes = free_bytes};
    str_copy(one->key, sizeof one->key, str_from(key));
    return true;
}

static void parse(struct str text, struct reservations *r)
{
    struct str line, cells[4];
    while (r->count < RESERVE_MAX && str_cut(&text, '\n', &line)) {
        struct reservation *one = &r->list[r->count];
        bool whole = true;
        for (size_t i = 0; i < ARRAY_LEN(cells) && whole; i++)
            whole = str_word(&line, &cells[i]);
        whole = whole && cells[0].len && cells[0].len < sizeof one->key && str_to_i64(cells[1], &one->at.ms) &&
                str_to_i64(cells[2], &one->bytes) && str_to_i64(cells[3], &one->free_bytes) && one->bytes > 0;
        if (!whole)
            continue;
        str_copy(one->key, sizeof one->key, cells[0]);
        r->count++;
    }
}

static void write_out(const char *path, const struct reservations *r)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    struct error err;
    for (size_t i = 0; i < r->count; i++)
        buf_printf(&text, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n", r->list[i].key, r->list[i].at.ms, r->list[i].bytes,
                   r->list[i].free_bytes);
    if (!text.failed)
        keep_write(path, buf_view(&text), &err);
}

bool reserve_room(const char *key, int64_t bytes, int64_t free_bytes, struct wall now)
{
    char folder[PLACE_SIZE], path[PLACE_SIZE + 16], lock[PLACE_SIZE + 16];
    struct error err = {0};
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    AUTO_FREE struct reservations *r = calloc(1, sizeof *r);
    if (!r || place_runtime(folder, &err) < 0)
        return true;
    snprintf(path, sizeof path, "%s/reserved", folder);
    snprintf(lock, sizeof lock, "%s/reserved.lock", folder);
    AUTO_CLOSE int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        return true;
    if (keep_read(path, &text, &err) == 0)
        parse(buf_view(&text), r);
    bool taken = reservations_take(r, key, bytes, free_bytes, now);
    if (taken)
        write_out(path, r);
    return taken;
}
