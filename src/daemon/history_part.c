/* SPDX-License-Identifier: Apache-2.0
 * Starts the store for the daemon.
 */
#include "daemon/history_part.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "config/places.h"

static void say(void *user, enum log_level level, const char *message)
{
    (void)user;
    log_write(level, message, (const struct log_field[]){{0}});
}

static int64_t days(double n)
{
    return (int64_t)(n * 86400000.0);
}

struct store_limits history_limits(const struct config *config)
{
    return (struct store_limits){
        .raw_ms = days(config->store.raw_days),
        .minute_ms = days(config->store.minute_days),
        .hour_ms = days(config->store.hour_days),
        .process_ms = days(config->store.process_days),
        .event_ms = days(config->store.event_days),
        .max_bytes = config->store.max_size_bytes,
    };
}

struct store_service *history_start(const struct config *config, const struct env *env, struct error *err)
{
    char url[PLACE_SIZE + 32], folder[PLACE_SIZE], queue[PLACE_SIZE + 32] = "";
    *err = (struct error){0};
    if (strcmp(config->store.url, "none") == 0)
        return NULL;
    bool automatic = strcmp(config->store.url, "auto") == 0, server = strncmp(config->store.url, "postgres", 8) == 0;
    if ((automatic || server) && place_state(folder, err) < 0)
        return NULL;
    if (automatic)
        snprintf(url, sizeof url, "sqlite:%s/whirr.db", folder);
    else
        snprintf(url, sizeof url, "%s", config->store.url);
    if (server)
        snprintf(queue, sizeof queue, "%s/queue.db", folder);
    const struct store_service_options options = {
        .clock = env->clock,
        .store = {.env = env, .url = url, .host = config->store.host, .limits = history_limits(config)},
        .queue_path = queue[0] ? queue : NULL,
        .queue_bytes = config->store.queue_bytes,
        .say = say,
    };
    struct store_service *v = store_service_new(&options, err);
    if (v)
        store_service_event(v, &(struct store_event){.at = clock_wall(env->clock),
                                                     .gpu_index = -1,
                                                     .kind = "daemon",
                                                     .severity = "info",
                                                     .text = "whirr " WHIRR_VERSION " started"});
    return v;
}

void history_health(struct store_service *v, struct json_writer *j)
{
    struct store_status status = {0};
    if (v)
        store_service_status(v, &status);
    jw_object(j);
    jw_key_text(j, "state", v ? store_state_name(status.state) : "off");
    jw_key_text(j, "kind", v ? status.kind : NULL);
    jw_key_int(j, "queued_rows", status.queued);
    jw_key_text(j, "message", status.message[0] ? status.message : NULL);
    jw_key_int(j, "written_total", (int64_t)status.written);
    jw_key_int(j, "lost_total", (int64_t)status.lost);
    jw_key(j, "used_bytes");
    if (v && status.used_bytes >= 0)
        jw_int(j, status.used_bytes);
    else
        jw_null(j);
    jw_end(j);
}
