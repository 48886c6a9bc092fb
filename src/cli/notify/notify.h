/* SPDX-License-Identifier: Apache-2.0
 * The parts of `whirr notify`.
 */
#pragma once

#include "alert/notify/notify.h"
#include "ask/cli.h"
#include "config/config.h"
#include "config/places.h"

/* The message that `test` and `add` send. */
void notify_example(const struct env *env, bool resolved, const char *severity, const char *dashboard_url, struct alert_notice *n);
int notify_remove(struct cli *cli, const char *name);
/* Reports that `place` has no notifier of this name, and suggests one. */
int notify_unknown(const struct config *config, const char *name, const char *place);

/* Questions for the settings that a type needs; NULL: not needed. */
struct notify_needs {
    const char *type, *url, *token, *to, *user;
};
const struct notify_needs *notify_needs_of(const char *type); /* NULL: not a type that can be added */
/* Settings for notify_table(), which writes a line for each; "": not set. */
struct notify_settings {
    char url[512], token[512], user[128], password[256], from[256], topic[128];
    char to[8][256];
    size_t to_count;
    const char *quiet[8], *digest[8];
    size_t quiet_count, digest_count;
};
void notify_table(struct buf *out, const char *name, const char *type, const struct notify_settings *s);
/* Appends the table and adds it to the notifiers of built-in alerts. */
int notify_insert(const struct env *env, struct buf *text, const char *trial_path, const char *name, const char *table,
                  struct error *err);

/* What `whirr notify add` added and is still there. */
struct notify_added {
    char name[64], path[PLACE_SIZE];
    struct wall at;
};
void notify_added_each(void (*each)(void *user, const struct notify_added *a), void *user);
