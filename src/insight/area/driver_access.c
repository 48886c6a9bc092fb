/* SPDX-License-Identifier: Apache-2.0
 * What keeps GPUs from being read: no driver, the wrong one, no permission, a driver that fails or hangs, or no GPU at all.
 */
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "model/finding_code.h"

/* Drivers and libraries of all vendors say these things in words of their own. */
static const struct {
    const char *words;
    finding_code code;
} phrases[] = {
    {"mismatch", FINDING_DRIVER_MISMATCH},        {"not loaded", FINDING_NO_DRIVER}, {"couldn't communicate", FINDING_NO_DRIVER},
    {"driver is not running", FINDING_NO_DRIVER}, {"no driver", FINDING_NO_DRIVER},
};

static finding_code classify(const char *message)
{
    for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
        if (strcasestr(message, phrases[i].words))
            return phrases[i].code;
    return says_denied(message) ? FINDING_NO_PERMISSION : FINDING_CODE_COUNT;
}

static finding_code classify_source(const struct source_status *source)
{
    switch (source->state) {
    case SOURCE_OK: return FINDING_CODE_COUNT;
    case SOURCE_HUNG: return FINDING_SOURCE_HUNG;
    case SOURCE_RELEASED: return FINDING_SOURCE_RELEASED;
    case SOURCE_ASLEEP: return FINDING_ASLEEP;
    case SOURCE_OFF: return classify(source->message);
    case SOURCE_FAILING:
    case SOURCE_SET_ASIDE: break;
    }
    finding_code code = classify(source->message);
    return code == FINDING_CODE_COUNT ? FINDING_SOURCE_FAILING : code;
}

/* The reason why GPUs cannot be read; NULL for codes with a sentence of their own. */
static const char *reason_of(finding_code code)
{
    switch (code) {
    case FINDING_SOURCE_HUNG: return "the driver is not responding";
    case FINDING_DRIVER_MISMATCH: return "the loaded driver and its library do not match";
    case FINDING_NO_PERMISSION: return "you have no permission";
    case FINDING_SOURCE_FAILING: return "queries to the driver are failing";
    case FINDING_NO_DRIVER: return "its driver is not loaded";
    case FINDING_SOURCE_RELEASED: return "the driver was released on request";
    default: return NULL;
    }
}

static void add_source_cause(struct why_part *part, bool others, finding_code code, const char *source, const char *message)
{
    struct cause_draft d;
    const char *reason = reason_of(code);
    if (find_cause(part, code))
        return;
    cause_begin(&d, part, code);
    if (message[0])
        support(&d, 0.95, "%s: %.120s", source[0] ? source : "the driver", message);
    else if (source[0])
        support(&d, 0.95, "source %s", source);
    else
        support(&d, 0.95, "none of the sources found a GPU");
    if (reason)
        cause_end(&d, "%s can't be read because %s (%s%s%.100s)", others ? "Some GPUs" : "The GPU", reason,
                  source[0] ? source : "driver", message[0] ? ": " : "", message);
    else if (code == FINDING_ASLEEP)
        cause_end(&d, "All GPUs are asleep: they need no cooling, so the noise comes from something else");
    else
        cause_end(&d, "No GPU was found on this host");
}

/* GPUs that it should read, and does not: what it says is in their words. */
static bool lists_gpus(const struct snapshot *now, const char *source)
{
    for (size_t i = 0; i < now->gpu_count; i++)
        if (strcmp(now->gpus[i].source, source) == 0 && !snapshot_source_started(now, &now->gpus[i]))
            return true;
    return false;
}

void rules_source(const struct snapshot *now, struct why_part *part)
{
    size_t sources = MIN_OF(now->source_count, (size_t)SOURCES_MAX);
    for (size_t i = 0; i < sources; i++) {
        const struct source_status *source = &now->sources[i];
        finding_code code = classify_source(source);
        /* Beside GPUs that are listed, a driver that is not there is no news: most hosts have GPUs of one vendor. A GPU that misses
         * its driver, is asleep or released says so itself. */
        bool own_words = code == FINDING_NO_DRIVER || code == FINDING_ASLEEP || code == FINDING_SOURCE_RELEASED;
        if (code == FINDING_CODE_COUNT || (now->gpu_count && (own_words || lists_gpus(now, source->name))))
            continue;
        add_source_cause(part, now->gpu_count > 0, code, source->name, source->message);
    }
    if (now->gpu_count || part->cause_count)
        return;
    finding_code code = classify(now->driver.error_message);
    if (code != FINDING_CODE_COUNT)
        add_source_cause(part, false, code, "", now->driver.error_message);
    else
        add_source_cause(part, false, FINDING_NO_GPU, "", "");
}

/* ---- what to do ---- */

bool remedy_source(struct why_part *part, finding_code code)
{
    switch (code) {
    case FINDING_NO_DRIVER: remedy_add(part, REMEDY_INSTALL_DRIVER, NULL); return true;
    case FINDING_DRIVER_MISMATCH: remedy_add(part, REMEDY_REBOOT_DRIVER, NULL); return true;
    case FINDING_NO_PERMISSION: remedy_add(part, REMEDY_JOIN_GROUP, NULL); return true;
    case FINDING_SOURCE_HUNG:
        remedy_add(part, REMEDY_KERNEL_LOG, "Check the kernel log for errors: sudo dmesg; a reboot may be needed.");
        return true;
    case FINDING_SOURCE_FAILING:
        remedy_add(part, REMEDY_WAIT, "whirr retries automatically; check the kernel log: sudo dmesg");
        return true;
    case FINDING_SOURCE_RELEASED:
        remedy_add(part, REMEDY_WAIT,
                   "Nothing to do: whirr reads it again when the time is over. To end that now: whirr driver release --end");
        return true;
    default: return false;
    }
}
