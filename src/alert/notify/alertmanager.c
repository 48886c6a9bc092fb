/* SPDX-License-Identifier: Apache-2.0
 * Converts notices for POST /api/v2/alerts. Findings have the names and labels of the shipped Prometheus rules
 * (tools/check-findings): Alertmanager keeps one alert of the two.
 */
#include "alert/notify/message.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "model/finding.h"

#define ALERTS_PATH "/api/v2/alerts"
#define RUNBOOK "https://whirr.invalid/docs/findings.md#"

void alertmanager_url(const char *given, char url[NOTIFY_URL_SIZE])
{
    const char *query = strchr(given, '?');
    struct str base = {given, query ? (size_t)(query - given) : strlen(given)};
    while (base.len && base.at[base.len - 1] == '/')
        base.len--;
    const char *rest = str_ends(base, ALERTS_PATH) ? "" : str_ends(base, "/api/v2") ? "/alerts" : ALERTS_PATH;
    snprintf(url, NOTIFY_URL_SIZE, STR_FMT "%s%s", STR_ARG(base), rest, query ? query : "");
}

/* Alertmanager's label names match [a-zA-Z_][a-zA-Z0-9_]*. */
static void label_name(const char *key, char name[NOTICE_LABEL_KEY_SIZE + 1])
{
    size_t at = 0;
    if (isdigit((unsigned char)key[0]))
        name[at++] = '_';
    for (; *key && at < NOTICE_LABEL_KEY_SIZE; key++)
        name[at++] = (char)(isalnum((unsigned char)*key) && (unsigned char)*key < 128 ? *key : '_');
    name[at] = '\0';
}

static const char *const reserved[] = {"alertname", "severity", "host", "gpu", "uuid", "name", "code", "simulated", "source"};
/* Who it is about: these change while the finding stays, so they are no part of its name. */
static const char *const about[] = {"process", "pid", "user"};

static bool is_listed(const char *key, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], key) == 0)
            return true;
    return false;
}

/* "fan_stopped" -> "GpuFanStopped"; a host's begin with "Whirr". */
static void rule_name(finding_code code, char name[NOTICE_ALERT_SIZE])
{
    const char *from = finding_code_name(code);
    size_t at = (size_t)snprintf(name, NOTICE_ALERT_SIZE, "%s", finding_kind(code)->area == AREA_HOST ? "Whirr" : "Gpu");
    for (bool upper = true; *from && at < NOTICE_ALERT_SIZE - 1; from++) {
        if (*from != '_')
            name[at++] = (char)(upper ? toupper((unsigned char)*from) : *from);
        upper = *from == '_';
    }
    name[at] = '\0';
}

static void put_label(struct json_writer *j, const char *key, const char *value)
{
    if (value[0])
        jw_key_text(j, key, value);
}

static void put_labels(struct json_writer *j, const struct alert_notice *n)
{
    char index[16] = "", names[NOTICE_LABELS_MAX][NOTICE_LABEL_KEY_SIZE + 1], rule[NOTICE_ALERT_SIZE];
    finding_code code;
    bool found = finding_code_from_name(n->alert, &code);
    if (found)
        rule_name(code, rule);
    if (n->gpu_index >= 0)
        snprintf(index, sizeof index, "%d", n->gpu_index);
    jw_key_object(j, "labels");
    put_label(j, "alertname", found ? rule : n->alert);
    put_label(j, "severity", n->severity);
    put_label(j, "host", n->host);
    put_label(j, "gpu", index);
    put_label(j, "uuid", n->gpu_uuid);
    put_label(j, "name", n->gpu_name);
    put_label(j, "code", found ? n->alert : "");
    put_label(j, "simulated", n->simulated ? "true" : "");
    put_label(j, "source", "whirr");
    for (size_t i = 0; i < n->label_count; i++) {
        label_name(n->labels[i].key, names[i]);
        bool taken = !names[i][0] || is_listed(names[i], reserved, ARRAY_LEN(reserved)) ||
                     (found && is_listed(names[i], about, ARRAY_LEN(about)));
        for (size_t k = 0; k < i; k++)
            taken |= strcmp(names[i], names[k]) == 0;
        if (!taken)
            put_label(j, names[i], n->labels[i].value);
    }
    jw_end(j);
}

static void put_annotations_of_finding(struct json_writer *j, const struct alert_notice *n)
{
    finding_code code;
    char url[sizeof RUNBOOK + NOTICE_ALERT_SIZE];
    if (!finding_code_from_name(n->alert, &code))
        return;
    for (size_t i = 0; i < n->label_count; i++)
        if (is_listed(n->labels[i].key, about, ARRAY_LEN(about)))
            put_label(j, n->labels[i].key, n->labels[i].value);
    snprintf(url, sizeof url, RUNBOOK "%s", n->alert);
    put_label(j, "runbook_url", url);
}

static void put_alert(struct json_writer *j, const struct alert_notice *n, struct wall now)
{
    char from[WALL_TEXT_SIZE], to[WALL_TEXT_SIZE], value[40];
    struct wall ends = n->status == NOTICE_RESOLVED ? n->ended_at : (struct wall){now.ms + ALERTMANAGER_ENDS_MS};
    wall_format(n->started_at, from);
    wall_format(ends.ms ? ends : now, to);
    snprintf(value, sizeof value, "%g", n->value);
    jw_object(j);
    put_labels(j, n);
    jw_key_object(j, "annotations");
    put_label(j, "summary", n->summary);
    put_label(j, "value", n->has_value ? value : "");
    put_label(j, "why", n->why);
    put_annotations_of_finding(j, n);
    jw_end(j);
    jw_key_text(j, "startsAt", from);
    jw_key_text(j, "endsAt", to);
    put_label(j, "generatorURL", n->link);
    jw_end(j);
}

void alertmanager_body(const struct notice_group *group, struct wall now, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    jw_array(&j);
    for (size_t i = 0; i < group->count; i++)
        put_alert(&j, group->list[i], now);
    jw_end(&j);
}
