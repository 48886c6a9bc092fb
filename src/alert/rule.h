/* SPDX-License-Identifier: Apache-2.0
 * Alert rules: one for every finding that is worth an alert, and the conditions of the configuration, read and checked.
 */
#pragma once

#include "alert/expr/expr.h"
#include "alert/notify/notice.h"
#include "base/env.h"
#include "config/config.h"
#include "model/finding.h"

enum { RULE_LABELS_MAX = 8, RULES_MAX = CONFIG_ENTRIES_MAX + FINDING_CODE_COUNT + 8 };

struct alert_rule {
    char name[NOTICE_ALERT_SIZE];
    bool builtin;
    bool changed;              /* built in, and changed in the configuration */
    bool enabled;              /* else it is only listed */
    enum finding_code finding; /* of a rule without a condition: what it is about */
    enum severity severity;    /* of a finding: in the ordinary case */
    enum severity notify_from; /* what is less severe is shown only */
    enum alert_scope scope;
    struct expr *when;  /* NULL: the finding decides */
    struct expr *clear; /* NULL: when that no longer holds */
    int64_t hold_ms, clear_hold_ms;
    char *summary;             /* a template; "": the headline, or made from the condition */
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

static inline bool rule_is_finding(const struct alert_rule *rule)
{
    return !rule->when;
}
/* Whether this finding is one for the rule, which is about such findings: a guess is none. */
bool rule_takes(const struct alert_rule *rule, const struct finding *f);
/* Whether the condition holds, or the finding is there. */
enum truth rule_holds(const struct alert_rule *rule, const struct subject *s);
/* The rule about findings of a code; NULL: they make no alerts. */
const struct alert_rule *alert_rules_of_finding(const struct alert_rules *rules, enum finding_code code);

/* Checks the names in {{}}. 0, or -EINVAL with the place. */
int summary_check(struct str text, enum alert_scope scope, struct expr_error *err);
/* The sentence for people about a subject. held_ms: how long the condition was seen to hold, which is {{for}}. */
void summary_write(struct buf *out, const struct alert_rule *rule, const struct subject *subject, int64_t held_ms);

/* ---- Where inside a text of a configuration file a mistake stands: the value's place is known, escapes and quotes move the rest.
 */

/* Moves the origin of a text to its character `column` (from 1). What is not in a file, or cannot be read again, stays. */
void place_inside_text(const struct env *env, struct config_origin *origin, int column);
