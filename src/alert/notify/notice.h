/* SPDX-License-Identifier: Apache-2.0
 * A message about the beginning or end of an alert: copied data that outlives rules, snapshots and restarts.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "model/gpu.h"
#include "model/host.h"
#include "model/severity.h"

enum {
    NOTICE_ALERT_SIZE = 96,
    NOTICE_SEVERITY_SIZE = 16,
    NOTICE_SUMMARY_SIZE = 512,
    NOTICE_WHY_SIZE = 512,
    NOTICE_LINK_SIZE = 512,
    NOTICE_FINGERPRINT_SIZE = 40,
    NOTICE_LABELS_MAX = 16, /* more are left out */
    NOTICE_LABEL_KEY_SIZE = 64,
    NOTICE_LABEL_VALUE_SIZE = 128,
    NOTICE_NOTIFIERS_MAX = 16,
    NOTICE_NOTIFIER_SIZE = 64,
};

enum notice_status { NOTICE_FIRING, NOTICE_RESOLVED };

struct notice_label {
    char key[NOTICE_LABEL_KEY_SIZE], value[NOTICE_LABEL_VALUE_SIZE];
};

struct alert_notice {
    enum notice_status status;
    char alert[NOTICE_ALERT_SIZE];       /* name of the rule */
    char severity[NOTICE_SEVERITY_SIZE]; /* "info", "notice", "warning", "critical" */
    int gpu_index;                       /* -1: about the host or the daemon */
    char gpu_name[GPU_NAME_SIZE];        /* "": none */
    char gpu_uuid[GPU_UUID_SIZE];        /* "": none */
    bool simulated;                      /* not about a real GPU */
    char host[HOST_NAME_SIZE];
    bool has_value;
    double value; /* left side of the comparison that decided */
    char summary[NOTICE_SUMMARY_SIZE];
    char why[NOTICE_WHY_SIZE];   /* answer of `why` at that moment; "": none */
    char link[NOTICE_LINK_SIZE]; /* to that moment on the dashboard; "": none */
    struct wall started_at;
    struct wall ended_at;                      /* ms 0 while firing */
    char fingerprint[NOTICE_FINGERPRINT_SIZE]; /* identifies one alert of one GPU or process across restarts */
    size_t label_count;
    struct notice_label labels[NOTICE_LABELS_MAX];
    size_t notifier_count; /* recipients: names of [notify.NAME] tables */
    char notifiers[NOTICE_NOTIFIERS_MAX][NOTICE_NOTIFIER_SIZE];
};

/* Notices that are sent together; the leading one provides the values, {{alerts}} lists all. */
struct notice_group {
    const struct alert_notice *const *list; /* the leading one first */
    size_t count;
};

/* "firing", "resolved" */
const char *notice_status_name(enum notice_status status);
enum severity notice_severity(const struct alert_notice *n);
/* Replaces the value of an existing key; a full list ignores new ones. Strips control characters and invalid UTF-8 from values. */
void notice_add_label(struct alert_notice *n, const char *key, const char *value);
/* Links to the moment of the notice on the dashboard at `url`; "" or a URL that is too long: no link. */
void notice_set_link(struct alert_notice *n, const char *url);
void notice_add_notifier(struct alert_notice *n, const char *name);

/* ---- A notice as JSON: for webhooks, programs and the queues on disk. ---- */

/* Writes the members into an object that the caller has opened. Every key is present; unknown values are null. */
void notice_json_members(struct json_writer *j, const struct alert_notice *n);
/* A whole object. */
void notice_json(struct json_writer *j, const struct alert_notice *n);
/* Parses such an object; false if it isn't one. It does not contain the names of notifiers. */
bool notice_from_json(const json_t *object, struct alert_notice *ret);
