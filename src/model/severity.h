/* SPDX-License-Identifier: Apache-2.0
 * How bad a finding is, and how long its headline: all that most readers of findings need to know.
 */
#pragma once

#include <stdbool.h>

enum { FINDING_HEADLINE_SIZE = 224 };

enum severity { SEVERITY_INFO, SEVERITY_NOTICE, SEVERITY_WARNING, SEVERITY_CRITICAL };

const char *severity_text(enum severity severity); /* "info", "notice", "warning", "critical" */
bool severity_from_text(const char *word, enum severity *ret);
