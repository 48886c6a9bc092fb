/* SPDX-License-Identifier: Apache-2.0
 * Alert rules: those built in (rules.def) and those of the configuration, read and checked.
 */
#pragma once

#include "alert/expr/expr.h"
#include "alert/notify/notice.h"
#include "base/env.h"
#include "config/config.h"

enum { RULE_LABELS_MAX = 8, RULES_MAX = CONFIG_ENTRIES_MAX + 32 };

struct alert_rule {
    char name[NOTICE_ALERT_SIZE];
    bool builtin;
    bool changed;    /* built in, and changed in the configuration */
    bool enabled;    /* else it is only listed */
    bool every_rise; /* exactly as often as it happens: neither damped nor remembered over a restart */
    enum config_severity severity;
    enum alert_scope scope;
    struct expr *when;
    struct expr *clear; /* NULL: when `when` does not hold */
    int64_t hold_ms, clear_hold_ms;
    char *summary;             /* a template; "": made from the rule */
    const char *help;          /* of a built-in one; else "" */
    struct config_map labels;  /* in the configuration */
    struct config_list notify; /* the same */
};

struct alert_rules {
    size_t count;
    struct alert_rule list[RULES_MAX];
};

/* Reads all rules; the configuration must outlive them. Mistakes become problems with their place (env: to read the file again, so
 * that the column within a line is right), all of them at once. -EINVAL when there were errors, -ENOMEM. */
int alert_rules_new(const struct config *config, const struct env *env, struct config_problems *problems, struct alert_rules **ret);
void alert_rules_free(struct alert_rules *rules);                                             /* NULL is fine */
const struct alert_rule *alert_rules_find(const struct alert_rules *rules, const char *name); /* NULL: there is none */

const char *severity_name(enum config_severity severity);

/* Checks the names in {{}}. 0, or -EINVAL with the place. */
int summary_check(struct str text, enum alert_scope scope, struct expr_error *err);
/* The sentence for people about a subject. held_ms: how long the condition was seen to hold, which is {{for}}. */
void summary_write(struct buf *out, const struct alert_rule *rule, const struct subject *subject, int64_t held_ms);

/* ---- Where inside a text of a configuration file a mistake stands: the value's place is known, escapes and quotes move the rest.
 */

/* Moves the origin of a text to its character `column` (from 1). What is not in a file, or cannot be read again, stays. */
void place_inside_text(const struct env *env, struct config_origin *origin, int column);
