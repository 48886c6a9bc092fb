/* SPDX-License-Identifier: Apache-2.0
 * What is told to people when an alert begins or is over: plain copied data that outlives rules, snapshots and restarts.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "model/severity.h"
#include "model/gpu.h"
#include "model/host.h"

enum {
    NOTICE_ALERT_SIZE = 96,
    NOTICE_SEVERITY_SIZE = 16,
    NOTICE_SUMMARY_SIZE = 512,
    NOTICE_WHY_SIZE = 512,
    NOTICE_LINK_SIZE = 512,
    NOTICE_FINGERPRINT_SIZE = 40,
    NOTICE_LABELS_MAX = 16, /* further ones are left out */
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
    char gpu_name[GPU_NAME_SIZE];        /* "" none */
    char gpu_uuid[GPU_UUID_SIZE];        /* "" none */
    bool simulated;                      /* no real GPU is in trouble */
    char host[HOST_NAME_SIZE];
    bool has_value;
    double value; /* that decided: the left side of the condition */
    char summary[NOTICE_SUMMARY_SIZE];
    char why[NOTICE_WHY_SIZE];   /* what `why` answers at that moment; "" nothing */
    char link[NOTICE_LINK_SIZE]; /* to that moment on the dashboard; "" none */
    struct wall started_at;
    struct wall ended_at;                      /* ms 0 while it is firing */
    char fingerprint[NOTICE_FINGERPRINT_SIZE]; /* the same for one alert of one GPU (or process) over restarts */
    size_t label_count;
    struct notice_label labels[NOTICE_LABELS_MAX];
    size_t notifier_count; /* who is to hear of it: names of [notify.NAME] tables */
    char notifiers[NOTICE_NOTIFIERS_MAX][NOTICE_NOTIFIER_SIZE];
};

/* "firing", "resolved" */
const char *notice_status_name(enum notice_status status);
enum severity notice_severity(const struct alert_notice *n);
/* A key that is there already gets the new value; a full list leaves it out. Values are cleaned of control characters and of what
 * is not UTF-8. */
void notice_add_label(struct alert_notice *n, const char *key, const char *value);
/* The page of the dashboard at `url` for the moment the notice is about; "" or one that is too long: no link. */
void notice_set_link(struct alert_notice *n, const char *url);
void notice_add_notifier(struct alert_notice *n, const char *name);

/* ---- A notice as JSON: the object that webhooks and programs get, and that queues on disk are made of. ---- */

/* The members, for an object that the caller has opened. Keys never vanish; what is not known is null. */
void notice_json_members(struct json_writer *j, const struct alert_notice *n);
/* A whole object. */
void notice_json(struct json_writer *j, const struct alert_notice *n);
/* Reads it back; false: it is none. Names of notifiers are not part of it. */
bool notice_from_json(const json_t *object, struct alert_notice *ret);
