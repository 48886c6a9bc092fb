/* SPDX-License-Identifier: Apache-2.0
 * The host: what keeps its GPUs from being seen (no GPU, no driver, the wrong one, no permission, a driver that hangs), and what
 * slows those down that work.
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

static void add_machine_cause(struct why_part *part, bool others, finding_code code, const char *source, const char *message)
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

static void rules_seen(const struct snapshot *now, struct why_part *part)
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
        add_machine_cause(part, now->gpu_count > 0, code, source->name, source->message);
    }
    if (now->gpu_count || part->cause_count)
        return;
    finding_code code = classify(now->driver.error_message);
    if (code != FINDING_CODE_COUNT)
        add_machine_cause(part, false, code, "", now->driver.error_message);
    else
        add_machine_cause(part, false, FINDING_NO_GPU, "", "");
}

/* ---- the host around GPUs that work: its network between nodes, its power, the clocks of its CPU ---- */

enum { AT_WORK_PERMILLE = 200 };

static bool any_at_work(const struct snapshot *now)
{
    for (size_t i = 0; i < now->gpu_count; i++)
        if (reading_or(now->gpus[i].util_permille, 0) >= AT_WORK_PERMILLE)
            return true;
    return false;
}

static void add(struct why_part *part, finding_code code, const char *evidence, const char *sentence)
{
    struct cause_draft d;
    cause_begin(&d, part, code);
    support(&d, 0.9, "%s", evidence);
    cause_end(&d, "%s", sentence);
}

static void rule_infiniband(const struct host *host, struct why_part *part)
{
    struct cause_draft d;
    int64_t lost = reading_or(host->ib_ports_lost, 0), slow = reading_or(host->ib_ports_slow, 0);
    int64_t flaps = reading_or(host->ib_flaps, 0), retries;
    if (lost <= 0 && slow <= 0 && flaps <= 0)
        return;
    cause_begin(&d, part, FINDING_INFINIBAND);
    support(&d, 0.9, "%lld InfiniBand ports have a link", (long long)reading_or(host->ib_ports_up, 0));
    if (host->ib_lost_names[0])
        support(&d, 0, "no link: %s; taken out on purpose: whirr forget NAME", host->ib_lost_names);
    if (flaps > 0)
        support(&d, 0, "lately a link was lost %lld times", (long long)flaps);
    if (reading_get(host->rdma_retries_per_s, &retries) && retries > 0)
        support(&d, 0, "%lld packets a second are sent again", (long long)retries);
    if (lost <= 0 && slow <= 0)
        cause_end(&d, "A link of InfiniBand was lost and came back: a cable or a transceiver is loose or failing");
    else if (lost > 0)
        cause_end(&d, "%lld InfiniBand port%s lost %s link", (long long)lost, lost == 1 ? " has" : "s have",
                  lost == 1 ? "its" : "their");
    else
        cause_end(&d, "%lld InfiniBand port%s slower than %s of the same model", (long long)slow, slow == 1 ? " is" : "s are",
                  slow == 1 ? "others" : "the others");
}

/* Others than GPUs are judged by nothing but whether they are there. */
static void rule_accelerators(const struct snapshot *now, struct why_part *part)
{
    struct cause_draft d;
    const struct gpu *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < now->accelerator_count; i++) {
        const struct gpu *one = &now->accelerators[i];
        if (one->state == GPU_OK || one->state == GPU_ASLEEP || one->released)
            continue;
        if (!count++) {
            first = one;
            cause_begin(&d, part, FINDING_ACCELERATOR_LOST);
        }
        support(&d, count == 1 ? 0.97 : 0, "%s %s: %s", one->id.name, gpu_id_key(&one->id), one->error_message);
    }
    if (count == 1)
        cause_end(&d, "The %s is missing or can't be read: %s", first->id.name, first->error_message);
    else if (count)
        cause_end(&d, "%zu NPUs or accelerators are missing or can't be read", count);
}

void rules_machine(const struct snapshot *now, struct why_part *part)
{
    rule_accelerators(now, part);
    rules_seen(now, part);
    rule_infiniband(&now->host, part);
    if (!any_at_work(now))
        return;
    if (reading_or(now->host.on_battery, 0))
        add(part, FINDING_ON_BATTERY, "no power supply is connected", "The host is running on battery, so its GPUs get less power");
    if (reading_or(now->host.cpu_clocks_low, 0))
        add(part, FINDING_CPU_CLOCKS_LOW, "governor powersave", "The CPU is held at its lowest clocks, so GPUs may wait for it");
}

/* ---- what to do ---- */

void remedy_machine(struct why_part *part, finding_code code)
{
    switch (code) {
    case FINDING_NO_DRIVER: remedy_add(part, REMEDY_INSTALL_DRIVER, NULL); break;
    case FINDING_DRIVER_MISMATCH: remedy_add(part, REMEDY_REBOOT_DRIVER, NULL); break;
    case FINDING_NO_PERMISSION: remedy_add(part, REMEDY_JOIN_GROUP, NULL); break;
    case FINDING_SOURCE_HUNG:
        remedy_add(part, REMEDY_KERNEL_LOG, "Check the kernel log for errors: sudo dmesg; a reboot may be needed.");
        break;
    case FINDING_SOURCE_FAILING:
        remedy_add(part, REMEDY_WAIT, "whirr retries automatically; check the kernel log: sudo dmesg");
        break;
    case FINDING_SOURCE_RELEASED:
        remedy_add(part, REMEDY_WAIT,
                   "Nothing to do: whirr reads it again when the time is over. To end that now: whirr driver release --end");
        break;
    default: remedy_add_own(part, code); break;
    }
    if (code != FINDING_ASLEEP && code != FINDING_SOURCE_RELEASED)
        remedy_add(part, REMEDY_DOCTOR, NULL);
}
