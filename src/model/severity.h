/* SPDX-License-Identifier: Apache-2.0
 * The severity of a finding, and the size of its headline: all that most users of findings need.
 */
#pragma once

#include <stdbool.h>

enum { FINDING_HEADLINE_SIZE = 224 };

enum severity { SEVERITY_INFO, SEVERITY_NOTICE, SEVERITY_WARNING, SEVERITY_CRITICAL };

const char *severity_text(enum severity severity); /* "info", "notice", "warning", "critical" */
bool severity_from_text(const char *word, enum severity *ret);
