/* SPDX-License-Identifier: Apache-2.0
 * The parts of `whirr notify`.
 */
#pragma once

#include "alert/notify/notify.h"
#include "ask/cli.h"
#include "config/config.h"

/* The message of `test` and `add`. */
void notify_example(const struct env *env, bool resolved, const char *severity, const char *dashboard_url, struct alert_notice *n);
/* What came of it, for people or as JSON; the exit status. */
int notify_print_result(const struct cli *cli, const struct config_notify *c, const struct notifier_result *r);

/* Writes [notify.NAME] into the configuration, after a test message arrived; removes it again. */
const char *notify_reload_command(void); /* for the daemon to read its configuration again */
int notify_add(struct cli *cli, const char *name, const char *type);
int notify_remove(struct cli *cli, const char *name);
/* Says that there is none of this name in that place, and which was meant. */
int notify_unknown(const struct config *config, const char *name, const char *place);

/* What a type needs; NULL: nothing of the kind. */
struct notify_needs {
    const char *type, *url, *token, *to, *user;
};
const struct notify_needs *notify_needs_of(const char *type); /* NULL: no such type that can be added */
/* The table's text from these settings ("" not set), with a line for each. */
struct notify_settings {
    char url[512], token[512], user[128], password[256], from[256], topic[128];
    char to[8][256];
    size_t to_count;
    const char *quiet[8], *digest[8];
    size_t quiet_count, digest_count;
};
void notify_table(struct buf *out, const char *name, const char *type, const struct notify_settings *s);
/* Appends the table and lets built-in alerts notify it. */
int notify_insert(const struct env *env, struct buf *text, const char *trial_path, const char *name, const char *table,
                  struct error *err);
