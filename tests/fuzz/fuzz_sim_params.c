/* SPDX-License-Identifier: Apache-2.0
 * `--source sim:...`: whatever is typed, it is a machine that can be read, or refused with a sentence.
 */
#include <stdlib.h>
#include <string.h>

#include "source/sim/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *params = strndup((const char *)data, size);
    if (!params)
        return 0;
    struct clock_manual clock;
    clock_manual_init(&clock, (struct wall){1800000000000});
    struct env env = {.sysroot = "", .clock = &clock.clock};
    struct source *s = NULL;
    struct error err = {0};
    /* A hang is meant to hang, and a late start to take its time. */
    if (!strstr(params, "hang") && !strstr(params, "slow") && !strstr(params, "start")) {
        if (sim_source.open(&env, params, &s, &err) == 0) {
            struct gpu g = {0};
            if (sim_source.refresh(s, GROUP_ALL, &err) == 0)
                sim_source.sample(s, 0, GROUP_ALL, &g);
            gpu_done(&g);
            sim_source.close(s);
        } else if (!err.text[0]) {
            abort();
        }
    }
    free(params);
    return 0;
}
