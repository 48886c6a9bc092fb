/* SPDX-License-Identifier: Apache-2.0
 * The table of evidence about a program on its host.
 */
#include "model/host_evidence.h"

const struct evidence_meta evidence_table[EVIDENCE_COUNT] = {
#define EVIDENCE(field, ...) {#field, __VA_ARGS__},
#include "model/host_evidence.def"
#undef EVIDENCE
};
