/* SPDX-License-Identifier: Apache-2.0
 * One notifier: a thread with the queue of one target. Private to notify*.c.
 */
#pragma once

#include "alert/notify/send.h"

enum { NOTIFIER_PATH_SIZE = 4224 };

struct notifier;

struct notifier_setup {
    const struct env *env;
    const char *folder; /* NULL: the queue isn't saved */
    void (*say)(void *user, enum log_level level, const char *message);
    void *user;
};

/* Loads its queue and starts its thread. */
struct notifier *notifier_new(const struct notifier_setup *setup, const struct config_notify *settings, struct error *err);
const char *notifier_name(const struct notifier *n);
void notifier_put(struct notifier *n, const struct alert_notice *notice);
/* Both are called from the service's thread. */
bool notifier_wants_view(const struct notifier *n, struct mono now);
void notifier_show(struct notifier *n, const struct home_view *view, struct mono now);
/* See outbox_roll_begin(). */
void notifier_roll(struct notifier *n, bool begins);
/* Applies new settings for the same name. */
int notifier_change(struct notifier *n, const struct config_notify *settings, struct error *err);
/* Asks the thread to end, and cancels the current attempt. */
void notifier_stop(struct notifier *n);
/* Joins the thread. */
void notifier_free(struct notifier *n);
void notifier_get_stats(struct notifier *n, struct notifier_stats *ret);
