/* SPDX-License-Identifier: Apache-2.0
 * Starts the notifiers, and answers requests about them.
 */
#include "daemon/part.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "config/places.h"
#include "format/notifiers.h"
#include "insight/view/why.h"
#include "serve/data/data.h"

struct notify_part {
    const struct part_host *host;
    struct notifier_service *service; /* NULL: it failed to start; see the log */
};

static void *open_notify(const struct part_host *host, struct error *ret)
{
    (void)ret;
    const struct config *config = host->config;
    struct notify_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    char state[PLACE_SIZE], folder[PLACE_SIZE + 8] = "";
    struct error err = {0};
    if (config->notify_count && place_state(state, &err) == 0)
        snprintf(folder, sizeof folder, "%s/notify", state);
    else if (config->notify_count)
        log_warn("queued notifications will not survive a restart", LOG_TEXT("error", err.text));
    const struct notifier_options options = {
        .env = host->env, .config = config, .folder = folder[0] ? folder : NULL, .say = log_plainly};
    p->host = host;
    p->service = notifier_service_new(&options, &err);
    if (!p->service)
        log_error("no notifications of alerts are sent", LOG_TEXT("error", err.text));
    return p;
}

/* Passes the host's state, with the answers of why, to notifiers that publish it. */
static void notify_part_sampled(void *part, const struct snapshot *s)
{
    struct notify_part *p = part;
    struct mono now = clock_mono(p->host->env->clock);
    if (!p->service || !p->host->server || !notifier_service_wants_view(p->service, now))
        return;
    AUTO_FREE struct home_view *view = calloc(1, sizeof *view + s->gpu_count * sizeof view->gpu_why[0]);
    const struct why *why = data_why(server_data(p->host->server));
    if (!view)
        return;
    view->snapshot = s;
    str_copy(view->why, sizeof view->why, str_from(why ? why->answer : ""));
    for (size_t i = 0; why && i < MIN_OF(s->gpu_count, why->gpu_count); i++)
        str_copy(view->gpu_why[i], sizeof view->gpu_why[i], str_from(why->gpus[i].answer));
    notifier_service_show(p->service, view, now);
}

static void notify_part_reload(void *part, const struct config *config)
{
    struct notify_part *p = part;
    struct error err = {0};
    if (p->service && notifier_service_reload(p->service, config, &err) < 0)
        log_error("not all notifiers could be changed", LOG_TEXT("error", err.text));
}

/* Waits about a second for messages being sent. */
static void close_notify(void *part)
{
    struct notify_part *p = part;
    if (p)
        notifier_service_free(p->service);
    free(p);
}

void notify_part_tell(struct notify_part *p, const struct alert_notice *notice)
{
    if (p->service)
        notifier_service_put(p->service, notice);
}

void notify_part_roll_begin(struct notify_part *p)
{
    if (p->service)
        notifier_service_roll_begin(p->service);
}

void notify_part_roll_end(struct notify_part *p)
{
    if (p->service)
        notifier_service_roll_end(p->service);
}

static size_t stats(struct notify_part *p, struct notifier_stats *list)
{
    return p->service ? notifier_service_stats(p->service, list, NOTIFIERS_MAX) : 0;
}

static int get_notifiers(void *part, const struct part_request *r, struct buf *out)
{
    (void)r;
    AUTO_FREE struct notifier_stats *list = calloc(NOTIFIERS_MAX, sizeof *list);
    if (!list)
        return 500;
    json_notifiers(JSON_LINE(out), list, stats(part, list));
    return 200;
}

static void notify_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    (void)s;
    AUTO_FREE struct notifier_stats *list = calloc(NOTIFIERS_MAX, sizeof *list);
    if (list)
        prometheus_notifiers(out, list, stats(part, list));
}

static const struct route routes_of_notify[] = {{"/api/notifiers", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_notifiers}};

const struct part_ops notify_part_ops = {.name = "notify",
                                         .routes = routes_of_notify,
                                         .route_count = ARRAY_LEN(routes_of_notify),
                                         .open = open_notify,
                                         .sampled = notify_part_sampled,
                                         .metrics = notify_part_metrics,
                                         .reload = notify_part_reload,
                                         .close = close_notify};
