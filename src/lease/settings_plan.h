/* SPDX-License-Identifier: Apache-2.0
 * Planned changes of settings: for commands, and for API clients.
 */
#pragma once

#include "lease/settings_request.h"

/* A change of one GPU, checked but not made. */
struct change {
    struct request_setting setting;
    struct control_state state;
    const struct control_gpu *gpu;
    struct reading draw_mw; /* its power draw */
    bool denied;            /* this process lacks permission */
};

struct change_list {
    struct control_set set;
    size_t count;
    struct change at[REQUEST_SETTINGS_MAX];
};
void change_list_done(struct change_list *l);
#define AUTO_CHANGES __attribute__((cleanup(change_list_done)))

/* Adds one as people write it ("330W", "1400-1800"), using the open `set`. -EINVAL, -ERANGE, -EOPNOTSUPP with a sentence. */
int plan_setting(struct change_list *l, const struct gpu *gpu, enum control_kind kind, const char *text, struct error *err);
/* Adds whatever makes it quieter. */
int plan_quiet(struct change_list *l, const struct gpu *gpu, struct error *err);
