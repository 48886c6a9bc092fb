/* SPDX-License-Identifier: Apache-2.0
 * WebSocket frames: a payload lies inside of what arrived, and no piece of a good frame is a frame.
 */
#include <stdlib.h>
#include <string.h>

#include "serve/live/live.h"
#include "serve/live/ws_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size ? size : 1);
    if (!bytes)
        return 0;
    if (size)
        memcpy(bytes, data, size);
    struct ws_frame f;
    for (size_t used = 0; used < size;) {
        char first[2 * WS_HEAD_MAX];
        size_t short_of = size - used < sizeof first ? size - used : sizeof first;
        memcpy(first, bytes + used, short_of);
        ssize_t n = ws_frame_parse(bytes + used, size - used, &f);
        require(n <= (ssize_t)(size - used));
        if (n <= 0)
            break;
        require(f.payload.at >= bytes + used && f.payload.at + f.payload.len == bytes + used + n);
        if ((size_t)n <= short_of)
            require(ws_frame_parse(first, (size_t)n - 1, &f) == 0 && ws_frame_parse(first, (size_t)n, &f) == n);
        ws_text_is_valid(f.payload);
        struct sio_packet p;
        sio_parse(f.payload, &p);
        used += (size_t)n;
    }
    free(bytes);
    return 0;
}
