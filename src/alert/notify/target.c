/* SPDX-License-Identifier: Apache-2.0
 * Turns a configuration table into a target that outlives it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/notify/send.h"
#include "base/cleanup.h"
#include "base/secret/mask.h"

static const char *const type_names[] = {"webhook",  "slack",  "discord",  "ntfy",   "alertmanager", "command", "email",
                                         "telegram", "gotify", "pushover", "matrix", "desktop",      "mqtt"};

const char *notify_type_name(enum config_notify_type type)
{
    return (size_t)type < ARRAY_LEN(type_names) ? type_names[type] : NULL;
}

/* The shortest interval between messages that a service asks for; faster notices are sent together. */
static int64_t polite_interval_ms(enum config_notify_type type)
{
    switch (type) {
    case CONFIG_NOTIFY_SLACK: return 1000;    /* one message per second */
    case CONFIG_NOTIFY_DISCORD: return 500;   /* five in two seconds */
    case CONFIG_NOTIFY_TELEGRAM: return 1000; /* one per second and chat */
    default: return 0;
    }
}

/* Shows scheme://host:port/... without path, query, user and password. */
static void show_url(const char *url, char shown[NOTIFIER_TARGET_SIZE])
{
    AUTO_BUF struct buf masked = BUF(16 * 1024);
    mask_text(str_from(url), &masked); /* masks what remains of a password that contains URL delimiters */
    url = masked.at ? masked.at : "";
    const char *host = strstr(url, "://");
    size_t scheme = host ? (size_t)(host - url) + 3 : 0;
    size_t len = strcspn(url + scheme, "/?#");
    const char *at = memrchr(url + scheme, '@', len), *from = at ? at + 1 : url + scheme;
    size_t rest = len - (size_t)(from - (url + scheme));
    snprintf(shown, NOTIFIER_TARGET_SIZE, "%.*s%.*s%s", (int)scheme, url, (int)MIN_OF(rest, (size_t)120), from,
             url[scheme + len] ? "/..." : "");
}

static bool copy_headers(struct notify_target *t, const struct config_map *map)
{
    size_t count = 0;
    for (size_t i = 0; i < map->count && count < NOTIFY_HEADERS_MAX; i++) {
        const struct config_pair *pair = &map->pairs[i];
        size_t size = strlen(pair->key) + strlen(pair->value) + 3;
        if (strpbrk(pair->key, "\r\n:") || strpbrk(pair->value, "\r\n"))
            continue; /* not a valid header; `whirr config check` reports it */
        if (str_is_any_case(str_from(pair->key), "content-type")) {
            free(t->content_type);
            t->content_type = strdup(pair->value);
            if (!t->content_type)
                return false;
            continue;
        }
        t->headers[count] = malloc(size);
        if (!t->headers[count])
            return false;
        snprintf(t->headers[count++], size, "%s: %s", pair->key, pair->value);
    }
    return true;
}

static bool copy_command(struct notify_target *t, const struct config_list *list)
{
    for (size_t i = 0; i < MIN_OF(list->count, (size_t)NOTIFY_ARGUMENTS_MAX); i++)
        if (!(t->command[i] = strdup(list->items[i])))
            return false;
    return true;
}

static bool copy_recipients(struct notify_target *t, const struct config_list *list)
{
    for (size_t i = 0; i < MIN_OF(list->count, (size_t)NOTIFY_RECIPIENTS_MAX); i++)
        if (!(t->to[i] = strdup(list->items[i])))
            return false;
    return true;
}

/* Shows the server, which people recognize. Recipients are private. */
static void show_target(struct notify_target *t)
{
    switch (t->type) {
    case CONFIG_NOTIFY_COMMAND: str_copy(t->shown, sizeof t->shown, str_from(t->command[0] ? t->command[0] : "")); return;
    case CONFIG_NOTIFY_DESKTOP: str_copy(t->shown, sizeof t->shown, STR("desktop session")); return;
    case CONFIG_NOTIFY_TELEGRAM: show_url(t->url[0] ? t->url : "https://api.telegram.org", t->shown); return;
    case CONFIG_NOTIFY_PUSHOVER: show_url(t->url[0] ? t->url : "https://api.pushover.net", t->shown); return;
    default: show_url(t->url, t->shown);
    }
}

static void join_lines(const struct config_list *list, char text[NOTIFIER_HOURS_SIZE])
{
    AUTO_BUF struct buf all = BUF(64 * 1024);
    for (size_t i = 0; i < list->count; i++)
        buf_printf(&all, "%s%s", i ? "\n" : "", list->items[i]);
    str_copy(text, NOTIFIER_HOURS_SIZE, buf_view(&all));
}

/* The global quiet hours are for people: programs may set their own. */
static void set_hours(struct notify_target *t, const struct config_notify *c)
{
    bool program = t->type == CONFIG_NOTIFY_ALERTMANAGER || t->type == CONFIG_NOTIFY_MQTT;
    bool inherited = c->entry.origins && config_origin_of(&c->entry, "notify", "quiet")->kind == CONFIG_FROM_DEFAULT;
    if (!(program && inherited) && quiet_parse(&c->quiet, false, &t->rules.quiet, NULL) == 0)
        join_lines(&c->quiet, t->quiet_text);
    if (quiet_parse(&c->digest, true, &t->rules.digest, NULL) == 0)
        join_lines(&c->digest, t->digest_text);
}

struct notify_target *notify_target_new(const struct config_notify *c)
{
    struct notify_target *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    str_copy(t->name, sizeof t->name, str_from(c->entry.name));
    t->type = (enum config_notify_type)c->type;
    t->timeout_ms = c->timeout_ms;
    int64_t interval = MAX_OF(c->min_interval_ms, polite_interval_ms(t->type));
    bool alertmanager = t->type == CONFIG_NOTIFY_ALERTMANAGER;
    t->rules = (struct outbox_rules){
        .send_resolved = c->resolved || alertmanager, /* Alertmanager decides itself whom to notify */
        .group = c->group_wait_ms > 0 || interval > 0 || alertmanager,
        .group_max = notify_group_max(t->type),
        .group_wait_ms = c->group_wait_ms,
        .min_interval_ms = interval,
        .repeat_ms = alertmanager ? ALERTMANAGER_RESEND_MS : 0,
    };
    set_hours(t, c);
    t->url = strdup(c->url);
    t->template_text = strdup(c->template);
    t->token = strdup(c->token);
    t->from = strdup(c->from);
    t->user = strdup(c->user);
    t->password = strdup(c->password);
    t->tls_ca = strdup(c->tls_ca);
    t->topic = strdup(c->topic);
    t->discovery = strdup(c->discovery);
    t->clear = c->tls == CONFIG_NOTIFY_TLS_NONE;
    bool good = t->url && t->template_text && t->token && t->from && t->user && t->password && t->tls_ca && t->topic &&
                t->discovery && copy_headers(t, &c->headers) && copy_command(t, &c->command) && copy_recipients(t, &c->to);
    if (!good) {
        notify_target_free(t);
        return NULL;
    }
    show_target(t);
    return t;
}

void notify_target_free(struct notify_target *t)
{
    if (!t)
        return;
    broker_close(t);
    desktop_close(t->desktop);
    free(t->topic);
    free(t->discovery);
    free(t->url);
    free(t->template_text);
    free(t->content_type);
    free(t->token);
    free(t->from);
    free(t->user);
    free(t->password);
    free(t->tls_ca);
    for (size_t i = 0; i < NOTIFY_RECIPIENTS_MAX; i++)
        free(t->to[i]);
    for (size_t i = 0; i < NOTIFY_HEADERS_MAX; i++)
        free(t->headers[i]);
    for (size_t i = 0; i < NOTIFY_ARGUMENTS_MAX; i++)
        free(t->command[i]);
    free(t);
}
