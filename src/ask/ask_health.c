/* SPDX-License-Identifier: Apache-2.0
 * Queries the daemon first: it knows how long a problem lasted, and whether it recurred.
 */
#include "ask/ask_health.h"

#include <errno.h>

int health_ask(const struct cli *cli, struct session *session, struct health **ret, struct health_basis *basis, struct buf *texts,
               struct error *err)
{
    AUTO_BUF struct buf answer = BUF(4 << 20);
    struct health *health = NULL;
    if (session_get(session, "/api/gpu/health", &answer) == 200)
        health = health_from_json(buf_view(&answer), basis, texts);
    if (!health && cli->host)
        return error_set(err, -EPROTO, "%s sent no verdict on its GPUs: it is a different version, or has no health monitoring",
                         cli->host);
    if (!health)
        health = session_health(session, basis);
    if (!health)
        return error_set(err, -ENOMEM, "out of memory");
    *ret = health;
    return 0;
}
