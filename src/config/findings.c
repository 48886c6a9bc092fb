/* SPDX-License-Identifier: Apache-2.0
 * Configuration of findings: [finding.CODE], and the older names of alerts, which only this file knows.
 */
#include "config/findings.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "model/finding_code.h"

/* Alerts had their own names before they were based on findings. */
static const struct {
    const char *name;
    finding_code code;
} old_names[] = {
    {"gpu_hot", FINDING_HOT},
    {"gpu_hot", FINDING_HEAT_LIMIT},
    {"gpu_throttled", FINDING_HEAT_LIMIT},
    {"gpu_throttled", FINDING_SLOWDOWN},
    {"gpu_power_limited", FINDING_POWER_LIMIT},
    {"vram_nearly_full", FINDING_VRAM_FULL},
    {"ecc_errors", FINDING_ECC},
    {"ecc_errors", FINDING_ROW_REMAP},
    {"ecc_errors", FINDING_RETIRED_PAGES},
    {"xid_error", FINDING_XID},
    {"gpu_lost", FINDING_LOST},
    {"gpu_missing", FINDING_LOST},
    {"gpu_error", FINDING_ERROR},
    {"gpu_failing", FINDING_DRIVER_VERDICT},
    {"gpu_failing", FINDING_REPAIR},
    {"link_degraded", FINDING_PCIE_LINK},
    {"idle_process", FINDING_CONTEXT_HELD},
    {"idle_process", FINDING_VRAM_HELD},
    {"source_down", FINDING_SOURCE_FAILING},
    {"source_down", FINDING_SOURCE_HUNG},
};

bool config_names_finding(const char *name, finding_code code)
{
    if (strcmp(name, finding_code_name(code)) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(old_names); i++)
        if (old_names[i].code == code && strcmp(name, old_names[i].name) == 0)
            return true;
    return false;
}

const char *config_old_alert(size_t i)
{
    return i < ARRAY_LEN(old_names) ? old_names[i].name : NULL;
}

static bool is_set(const struct config_entry *entry, const char *section, const char *key)
{
    return config_origin_of(entry, section, key)->kind != CONFIG_FROM_DEFAULT;
}

/* An [[alert]] without a condition changes the finding it names. */
static void apply_alert(const struct config_alert *a, struct finding_setting *s)
{
    if (is_set(&a->entry, "alert", "severity")) {
        s->has_severity = true;
        s->severity = (enum severity)a->severity;
    }
    if (is_set(&a->entry, "alert", "for")) {
        s->has_hold = true;
        s->hold_ms = a->hold_ms;
    }
}

static void apply_finding(const struct config_finding *f, struct finding_setting *s)
{
    if (f->severity > 0) { /* 0: auto */
        s->has_severity = true;
        s->severity = (enum severity)(f->severity - 1);
    }
    if (is_set(&f->entry, "finding", "hold")) {
        s->has_hold = true;
        s->hold_ms = f->hold_ms;
    }
    s->muted = f->mute;
}

void config_findings(const struct config *config, struct finding_settings *ret)
{
    *ret = (struct finding_settings){0};
    for (size_t code = 0; code < FINDING_CODE_COUNT; code++) {
        for (size_t i = 0; i < config->alert_count; i++)
            if (!config->alert[i].when[0] && config_names_finding(config->alert[i].name, (finding_code)code))
                apply_alert(&config->alert[i], &ret->list[code]);
        for (size_t i = 0; i < config->finding_count; i++)
            if (strcmp(config->finding[i].entry.name, finding_code_name((finding_code)code)) == 0)
                apply_finding(&config->finding[i], &ret->list[code]);
    }
}
