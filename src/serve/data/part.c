/* SPDX-License-Identifier: Apache-2.0
 * Passes requests to the parts of the daemon.
 */
#include "serve/data/part.h"

#include "model/snapshot.h"
#include "net/http_message.h"

bool part_query(const struct part_request *r, const char *key, char *value, size_t size)
{
    return r->http && http_query(r->http, key, value, size);
}

int part_which_gpu(const struct part_request *r, const struct snapshot *s, int *ret, struct buf *out)
{
    char which[GPU_UUID_SIZE];
    *ret = ALL_GPUS;
    if (!part_query(r, "gpu", which, sizeof which) && !part_query(r, "gpu_index", which, sizeof which))
        return 200;
    *ret = s ? snapshot_find_gpu(s, which) : -1;
    return *ret >= 0 ? 200 : part_error(out, 404, "no_such_gpu", "No such GPU.");
}

int part_error(struct buf *out, int status, const char *code, const char *message)
{
    http_error_body(out, code, message);
    return status;
}
