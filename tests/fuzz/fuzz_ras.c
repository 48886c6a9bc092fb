/* SPDX-License-Identifier: Apache-2.0
 * What NCCL's RAS answers.
 */
#include "remote/ras.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ras_report report;
    uint16_t port;
    if (ras_parse((struct str){(const char *)data, size}, &report) == 0 && report.missing_count > RAS_MISSING_MAX)
        __builtin_trap();
    ras_port((struct str){(const char *)data, size}, &port);
    return 0;
}
