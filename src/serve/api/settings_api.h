/* SPDX-License-Identifier: Apache-2.0
 * POST /api/leases/settings: changes a GPU setting for a time, through the helper that has the permission. Takes as long as the
 * driver does, so a thread does it while the request is parked; one at a time.
 */
#pragma once

#include "base/env.h"
#include "http/token.h"
#include "lease/settings_plan.h"
#include "serve/api/errand.h"

struct setting_errand {
    struct errand errand;
    struct env env;
    /* the request */
    struct gpu_id id;
    int gpu_index;
    struct reading draw_mw;
    bool quiet;
    enum control_kind kind;
    char value[CONTROL_TEXT_SIZE];
    struct wall until;
    char who[TOKEN_NAME_SIZE];
    /* the result */
    int rc;
    struct lease lease;
    struct error err;
};

int setting_errand_init(struct setting_errand *s, struct loop *loop);

void post_setting(struct exchange *x);
