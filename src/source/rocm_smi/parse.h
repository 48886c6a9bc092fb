/* SPDX-License-Identifier: Apache-2.0
 * What rocm-smi and amd-smi print as JSON, turned into GPUs. Knows the key names of every release seen; keeps no state.
 */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "model/gpu.h"

struct rocm_cards {
    struct gpu *cards; /* id, metrics and properties */
    size_t count;
    bool no_memory; /* for one of them */
};

/* `rocm-smi ... --json`: one object a card, values mostly strings. 0, -EBADMSG, -ENODEV or -ENOMEM. */
int rocm_smi_parse(struct str text, struct rocm_cards *ret, struct error *err);
/* `amd-smi static --json` makes the list of cards, `amd-smi metric --json` fills it in. */
int amd_smi_parse_static(struct str text, struct rocm_cards *ret, struct error *err);
int amd_smi_parse_metric(struct str text, struct rocm_cards *cards, struct error *err);
void rocm_cards_done(struct rocm_cards *c);
