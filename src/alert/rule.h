/* SPDX-License-Identifier: Apache-2.0
 * Alert rules: one for every finding that is worth an alert, and the checked conditions of the configuration.
 */
#pragma once

#include "alert/expr/expr.h"
#include "alert/notify/notice.h"
#include "base/env.h"
#include "config/config.h"
#include "model/finding.h"

enum { RULE_LABELS_MAX = 8, RULES_MAX = CONFIG_ENTRIES_MAX + FINDING_CODES_MAX + 8 };

struct alert_rule {
    char name[NOTICE_ALERT_SIZE];
    bool builtin;
    bool changed;              /* a built-in rule, changed by the configuration */
    bool enabled;              /* otherwise only listed */
    finding_code finding;      /* of a rule without a condition */
    enum severity severity;    /* of a finding: its usual one */
    enum severity notify_from; /* less severe alerts are only shown */
    enum alert_scope scope;
    struct expr *when;  /* NULL: the finding decides */
    struct expr *clear; /* NULL: ends when `when` no longer holds */
    int64_t hold_ms, clear_hold_ms;
    char *summary;             /* a template; "": the finding's headline, or derived from the condition */
    const char *help;          /* of a built-in rule, or "" */
    struct config_map labels;  /* borrowed from the configuration */
    struct config_list notify; /* likewise */
};

struct alert_rules {
    size_t count;
    struct alert_rule list[RULES_MAX];
};

/* Reads all rules; the configuration must outlive them. Reports all mistakes as problems with their place (reading the file
 * again through `env` for the exact column). -EINVAL if there were errors, -ENOMEM. */
int alert_rules_new(const struct config *config, const struct env *env, struct config_problems *problems, struct alert_rules **ret);
void alert_rules_free(struct alert_rules *rules);                                             /* NULL is fine */
const struct alert_rule *alert_rules_find(const struct alert_rules *rules, const char *name); /* NULL if not found */

static inline bool rule_is_finding(const struct alert_rule *rule)
{
    return !rule->when;
}
/* Whether the finding counts for its rule: a guess doesn't. */
bool rule_takes(const struct alert_rule *rule, const struct finding *f);
/* Whether the condition holds, or the finding is present. */
enum truth rule_holds(const struct alert_rule *rule, const struct subject *s);
/* The rule for findings of this code, or NULL if they make no alerts. */
const struct alert_rule *alert_rules_of_finding(const struct alert_rules *rules, finding_code code);

/* Checks the names in {{}}. 0, or -EINVAL with the position. */
int summary_check(struct str text, enum alert_scope scope, struct expr_error *err);
/* Writes the summary for a subject. held_ms: how long the condition has held, for {{for}}. */
void summary_write(struct buf *out, const struct alert_rule *rule, const struct subject *subject, int64_t held_ms);
