/* SPDX-License-Identifier: Apache-2.0
 * The codes of all findings: FINDING_LOST, ...
 */
#pragma once

enum {
#define FINDING(name, ...) FINDING_##name,
#include "model/findings.def"
#undef FINDING
    FINDING_CODE_COUNT
};
