/* SPDX-License-Identifier: Apache-2.0
 * Bytes through a window, with every length checked against the file.
 */
#include "insight/fit/gguf_reader.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const uint64_t HEADER_MAX = (uint64_t)512 << 20; /* vocabularies are a few MiB */

int gguf_fail(struct gguf_reader *r, int code, const char *why)
{
    if (!r->failed)
        r->failed = error_set(r->err, code, "%s (at byte %llu)", why, (unsigned long long)r->at);
    return r->failed;
}

static bool gguf_reader_load(struct gguf_reader *r)
{
    ssize_t got = r->in->read(r->in->user, r->at, r->window, GGUF_WINDOW);
    if (got < 0)
        return gguf_fail(r, (int)got, strerror((int)-got)) == 0;
    r->window_at = r->at;
    r->window_len = (size_t)got;
    return got > 0 || gguf_fail(r, -ENODATA, "the file ends within its header") == 0;
}

bool gguf_take(struct gguf_reader *r, void *to, size_t size)
{
    unsigned char *out = to;
    while (size && !r->failed) {
        if (r->at < r->window_at || r->at >= r->window_at + r->window_len) {
            if (!gguf_reader_load(r))
                return false;
            continue;
        }
        size_t from = (size_t)(r->at - r->window_at), n = MIN_OF(size, r->window_len - from);
        memcpy(out, r->window + from, n);
        out += n;
        r->at += n;
        size -= n;
    }
    return !r->failed;
}

bool gguf_skip(struct gguf_reader *r, uint64_t size)
{
    if (r->failed)
        return false;
    if (size > r->in->size || r->at > r->in->size - size)
        return gguf_fail(r, -ENODATA, "the file ends within its header") == 0;
    r->at += size;
    if (r->at > HEADER_MAX)
        return gguf_fail(r, -EFBIG, "the header is larger than 512 MiB") == 0;
    return true;
}

uint64_t gguf_number(struct gguf_reader *r, size_t size)
{
    unsigned char raw[8] = {0};
    uint64_t value = 0;
    if (!gguf_take(r, raw, size))
        return 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | raw[i];
    return value;
}

void gguf_text(struct gguf_reader *r, char *to, size_t size)
{
    uint64_t len = gguf_number(r, 8);
    size_t kept = (size_t)MIN_OF(len, (uint64_t)size - 1);
    char raw[GGUF_KEY_SIZE * 2];
    kept = MIN_OF(kept, sizeof raw);
    to[0] = '\0';
    if (r->failed || len > r->in->size) {
        gguf_fail(r, -EBADMSG, "a text is longer than the file");
        return;
    }
    if (gguf_take(r, raw, kept) && gguf_skip(r, len - kept))
        str_copy_clean(to, size, (struct str){raw, kept});
}
