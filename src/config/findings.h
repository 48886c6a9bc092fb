/* SPDX-License-Identifier: Apache-2.0
 * Settings of findings.
 */
#pragma once

#include "model/finding.h"

struct config;

/* Collects [finding.CODE], and each [[alert]] named like a built-in alert. */
void config_findings(const struct config *config, struct finding_settings *ret);
/* Whether the name is this finding's code, or an older name of its alert. */
bool config_names_finding(const char *name, finding_code code);
const char *config_old_alert(size_t i); /* older names, some twice; NULL at the end */
