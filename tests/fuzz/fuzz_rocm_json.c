/* SPDX-License-Identifier: Apache-2.0
 * What rocm-smi and amd-smi print.
 */
#include "source/rocm_smi/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct rocm_cards cards = {0};
    struct error err = {0};
    rocm_smi_parse(text, &cards, &err);
    rocm_cards_done(&cards);
    if (amd_smi_parse_static(text, &cards, &err) == 0)
        amd_smi_parse_metric(text, &cards, &err);
    rocm_cards_done(&cards);
    return 0;
}
