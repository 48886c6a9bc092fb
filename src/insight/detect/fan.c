/* SPDX-License-Identifier: Apache-2.0
 * A fan that a person has set: nothing makes it faster when the GPU gets hot.
 */
#include <string.h>

#include "insight/detect/detect.h"
#include "insight/facts/words.h"

enum { SLOW_MAX = 600 };

void detect_fan(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t fan, temp;
    bool by_hand = gpu->fan_control.state == READING_OK && strcmp(gpu->fan_control.value, "manual") == 0;
    if (!by_hand || f->heat < HEAT_HOT || !reading_get(gpu->fan_permille, &fan) || fan > SLOW_MAX ||
        !reading_get(gpu->temp_mdegc, &temp))
        return;
    collect(c, gpu, FINDING_FAN_BY_HAND, SEVERITY_WARNING, 0.9, 0, "GPU %d: its fan %s set to %lld%% by hand, too slow for %lld °C",
            gpu->index, is(f), percent(fan), words_whole(temp, 1000));
}
