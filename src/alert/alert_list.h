/* SPDX-License-Identifier: Apache-2.0
 * The list of alerts, as its own files use it. Private to alert/.
 */
#pragma once

#include "alert/alert.h"

bool alert_same_gpu(const struct alert *a, const struct gpu *g);
/* Makes alerts findable: all at the beginning of a step, a new one as soon as it is known what it is about. */
void alert_link_all(struct alert_set *set);
void alert_link(struct alert_set *set, struct alert *a);
/* The alert of a rule and a subject; NULL: there is none. */
struct alert *alert_find(struct alert_set *set, const struct alert_rule *rule, const struct subject *s);
/* A zeroed one at the end; NULL when there are too many or memory is out. */
struct alert *alert_add(struct alert_set *set);
void alert_remove(struct alert_set *set, size_t i); /* the last one takes its place */
/* Who and what it is about. The sentence stays that of the last moment in which the condition held: it says more than the one
 * after. */
void alert_describe(struct alert *a, const struct alert_rule *rule, const struct subject *s, bool holds);
/* The same for a finding, which holds. The process that the finding names is told of, also where the alert is the GPU's. */
void alert_describe_finding(struct alert *a, const struct alert_rule *rule, const struct subject *s, const struct finding *f);
/* What a rule is about: that of its condition, or what the finding was found on. */
enum alert_scope alert_scope_of(const struct alert_rule *rule, const struct subject *s);
