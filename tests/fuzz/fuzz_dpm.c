/* SPDX-License-Identifier: Apache-2.0
 * Tables of clock and link states.
 */
#include <stdlib.h>

#include "source/amdgpu/amdgpu_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct dpm_clock clock;
    struct dpm_link link;
    dpm_parse_clock(text, &clock);
    require(clock.now_khz.state != READING_OK || (clock.now_khz.value >= 0 && clock.now_khz.value <= 100000000));
    dpm_parse_link(text, &link);
    require(link.width.state != READING_OK || (link.width.value >= 1 && link.width.value <= link.width_max.value));
    return 0;
}
