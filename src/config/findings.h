/* SPDX-License-Identifier: Apache-2.0
 * Settings of findings.
 */
#pragma once

#include "model/finding.h"

struct config;

/* What [finding.CODE] and an [[alert]] with the name of a built-in alert say of findings. */
void config_findings(const struct config *config, struct finding_settings *ret);
/* Whether a name is this finding's code, or an older name of its alert. */
bool config_names_finding(const char *name, enum finding_code code);
const char *config_old_alert(size_t i); /* the older names, some twice; NULL behind the last */
/* The codes that an older name of an alert stands for, as "hot, heat_limit"; "" none. */
void config_old_alert_text(const char *name, char *text, size_t size);
