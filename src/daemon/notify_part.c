/* SPDX-License-Identifier: Apache-2.0
 * Starts the notifiers, and answers for them.
 */
#include "daemon/notify_part.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "config/places.h"
#include "format/table/notifiers.h"

struct notify_part {
    struct notifier_service *service; /* NULL: it could not be started, and the log says why */
};

static void say(void *user, enum log_level level, const char *message)
{
    (void)user;
    log_write(level, message, (const struct log_field[]){{0}});
}

struct notify_part *notify_part_new(const struct env *env, const struct config *config)
{
    struct notify_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    char state[PLACE_SIZE], folder[PLACE_SIZE + 8] = "";
    struct error err = {0};
    if (config->notify_count && place_state(state, &err) == 0)
        snprintf(folder, sizeof folder, "%s/notify", state);
    else if (config->notify_count)
        log_warn("notices that wait do not survive a restart", LOG_TEXT("error", err.text));
    const struct notifier_options options = {.env = env, .config = config, .folder = folder[0] ? folder : NULL, .say = say};
    p->service = notifier_service_new(&options, &err);
    if (!p->service)
        log_error("nobody is told of alerts", LOG_TEXT("error", err.text));
    return p;
}

void notify_part_reload(struct notify_part *p, const struct config *config)
{
    struct error err = {0};
    if (p->service && notifier_service_reload(p->service, config, &err) < 0)
        log_error("not all notifiers could be changed", LOG_TEXT("error", err.text));
}

void notify_part_free(struct notify_part *p)
{
    if (p)
        notifier_service_free(p->service);
    free(p);
}

void notify_part_tell(struct notify_part *p, const struct alert_notice *notice)
{
    if (p->service)
        notifier_service_tell(p->service, notice);
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

int notify_part_request(struct notify_part *p, const struct part_request *r, struct buf *out)
{
    if (!str_is(r->path, "/api/notifiers"))
        return 0;
    AUTO_FREE struct notifier_stats *list = calloc(NOTIFIERS_MAX, sizeof *list);
    if (!list)
        return 500;
    struct json_writer j = JSON_WRITER(out);
    json_notifiers(&j, list, stats(p, list));
    buf_char(out, '\n');
    return 200;
}

void notify_part_metrics(struct notify_part *p, struct buf *out)
{
    AUTO_FREE struct notifier_stats *list = calloc(NOTIFIERS_MAX, sizeof *list);
    if (list)
        prometheus_notifiers(out, list, stats(p, list));
}
