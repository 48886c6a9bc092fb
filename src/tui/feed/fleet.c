/* SPDX-License-Identifier: Apache-2.0
 * All hosts, from the fleet's database.
 */
#include "config/config.h"
#include "tui/feed/internal.h"

void feed_ask_fleet(struct feed *f)
{
    struct error err = {0};
    const struct fleet_place place = {.env = &f->cli->env,
                                      .url = f->fleet,
                                      .timeout_ms = FEED_FLEET_TIMEOUT_MS,
                                      .settings = f->cli->settings ? &f->cli->settings->fleet : NULL};
    struct news *n = news_new(NEWS_FLEET);
    if (!n)
        return;
    if (fleet_fetch(&place, FLEET_WANT_ALL, &n->fleet, &err) < 0) {
        feed_report(f, NEWS_TROUBLE, true, err.text[0] ? err.text : "the fleet's database did not answer");
        news_free(n);
        return;
    }
    n->number = clock_wall(f->cli->env.clock).ms;
    mailbox_put(f->news, n);
}
