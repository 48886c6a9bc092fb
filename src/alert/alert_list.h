/* SPDX-License-Identifier: Apache-2.0
 * The list of alerts, shared by the files that maintain it. Private to alert/.
 */
#pragma once

#include "alert/alert.h"

bool alert_same_gpu(const struct alert *a, const struct gpu *g);
/* Enter alerts into the hash table: all of them when a step begins, a new one as soon as its subject is known. */
void alert_link_all(struct alert_set *set);
void alert_link(struct alert_set *set, struct alert *a);
/* The alert of a rule and a subject, or NULL. */
struct alert *alert_find(struct alert_set *set, const struct alert_rule *rule, const struct subject *s);
/* Appends a zeroed alert; NULL if the list is full or out of memory. */
struct alert *alert_add(struct alert_set *set);
void alert_remove(struct alert_set *set, size_t i); /* moves the last alert into its place */
/* Sets the subject and the summary. The summary stays that of the last moment when the condition held, which says more than a
 * later one. */
void alert_describe(struct alert *a, const struct alert_rule *rule, const struct subject *s, bool holds);
/* The same for an active finding. Names the finding's process even if the alert is about the GPU. */
void alert_describe_finding(struct alert *a, const struct alert_rule *rule, const struct subject *s, const struct finding *f);
