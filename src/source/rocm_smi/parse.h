/* SPDX-License-Identifier: Apache-2.0
 * Parses the JSON of rocm-smi and amd-smi into GPUs. Knows the keys of every release seen; keeps no state.
 */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "model/gpu.h"

struct rocm_cards {
    struct gpu *cards; /* id, metrics and properties */
    size_t count;
    bool no_memory; /* out of memory for one of them */
};

/* `rocm-smi ... --json`: one object per card, values mostly strings. 0, -EBADMSG, -ENODEV or -ENOMEM. */
int rocm_smi_parse(struct str text, struct rocm_cards *ret, struct error *err);
/* `amd-smi static --json` creates the list of cards, `amd-smi metric --json` fills it in. */
int amd_smi_parse_static(struct str text, struct rocm_cards *ret, struct error *err);
int amd_smi_parse_metric(struct str text, struct rocm_cards *cards, struct error *err);
void rocm_cards_done(struct rocm_cards *c);
