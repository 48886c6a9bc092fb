/* SPDX-License-Identifier: Apache-2.0
 * Plans changes: reads the current values and checks the new ones against the GPU's range.
 */
#include "lease/settings_plan.h"

#include <errno.h>

void change_list_done(struct change_list *l)
{
    control_close(&l->set);
}

static int add_change(struct change_list *l, const struct gpu *gpu, enum control_kind kind, const char *text, struct error *err)
{
    const char *key = gpu_id_key(&gpu->id);
    struct change c = {.gpu = control_find(&l->set, key), .draw_mw = gpu->power_mw};
    if (!c.gpu)
        return error_set(err, -EOPNOTSUPP, "GPU %d has no settings that whirr can change", gpu->index);
    c.setting = (struct request_setting){.gpu_index = gpu->index, .kind = kind};
    str_copy(c.setting.gpu, sizeof c.setting.gpu, str_from(key));
    int rc = control_look(c.gpu, kind, &c.state, err);
    c.denied = rc == -EACCES;
    if (rc < 0 && !c.denied)
        return error_prefix(err, "GPU %d", gpu->index);
    rc = text ? control_parse(kind, text, &c.state, &c.setting.value, err)
         : control_quiet(kind, &c.state, gpu->power_mw, &c.setting.value) ? 0
                                                                          : -ENOENT;
    if (rc == 0 && l->count == REQUEST_SETTINGS_MAX)
        return error_set(err, -E2BIG, "more than %d settings at once; choose a GPU with --gpu", REQUEST_SETTINGS_MAX);
    if (rc == 0)
        l->at[l->count++] = c;
    return rc == -ERANGE ? error_prefix(err, "GPU %d", gpu->index) : rc;
}

int plan_setting(struct change_list *l, const struct gpu *gpu, enum control_kind kind, const char *text, struct error *err)
{
    int rc = add_change(l, gpu, kind, text, err);
    /* Some GPUs have levels instead of clocks. */
    if (rc == -EOPNOTSUPP && kind == CONTROL_CLOCKS && add_change(l, gpu, CONTROL_LEVEL, text, NULL) == 0)
        return 0;
    return rc;
}

int plan_quiet(struct change_list *l, const struct gpu *gpu, struct error *err)
{
    size_t before = l->count;
    struct error why = {0};
    int rc = add_change(l, gpu, CONTROL_POWER, NULL, &why);
    (void)add_change(l, gpu, CONTROL_ACOUSTIC, NULL, NULL);
    if (l->count > before)
        return 0;
    return rc == -ENOENT ? error_set(err, rc, "GPU %d is as quiet as its settings can make it", gpu->index)
                         : error_set(err, rc, "%s", why.text);
}
