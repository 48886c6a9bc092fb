/* SPDX-License-Identifier: Apache-2.0
 * Errors that a GPU counts and what its driver asks for, from the readings of the moment; and those that its driver or the
 * kernel log told of (XIDs, faults of the driver).
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "model/finding_code.h"
#include "source/fault/fault.h"

/* How much of its memory a GPU may lose before it is worn out: rows exchanged for uncorrected errors, pages retired. */
enum { ROWS_MAX = 512, PAGES_MAX = 60 };

#define ERROR_CONFIDENCE 0.97

/* The first of a kind stays: the worst is looked for first. */
static void tell(struct collection *c, const struct gpu *gpu, finding_code code, enum severity severity, const char *advice,
                 const char *what)
{
    if (verdict_find(c->verdict, gpu->index, code))
        return;
    struct finding *found = collect(c, gpu, code, severity, ERROR_CONFIDENCE, 0, "%s", what);
    if (found)
        found->advice = advice;
}

static void find_demand(const struct facts *f, struct collection *c)
{
    enum { NOTHING, RESET, REBOOT, DRAIN, DRAIN_AND_RESET, RECOVER_DOMAIN, BUS_RESET, SYSTEM_REBOOT };
    const char *needs = f->over ? " needed" : " needs";
    char what[80];
    int64_t wanted = reading_or(f->gpu->recovery_action, NOTHING);
    if (wanted == NOTHING)
        return;
    if (wanted == DRAIN) {
        tell(c, f->gpu, FINDING_DRIVER_VERDICT, SEVERITY_WARNING,
             "Let the work on the GPU finish, start nothing new there (drain it), then reset the GPU.",
             ": the driver reports that work must be drained from the GPU");
        return;
    }
    if (wanted == RECOVER_DOMAIN) {
        tell(c, f->gpu, FINDING_DRIVER_VERDICT, SEVERITY_CRITICAL,
             "Restart the service of its IMEX domain on all hosts of the domain.",
             ": the driver reports that its IMEX domain (memory shared between hosts) must be recovered");
        return;
    }
    bool reboot = wanted == REBOOT || wanted == SYSTEM_REBOOT;
    snprintf(what, sizeof what, "%s %s: the driver %s for it", needs, reboot ? "a reboot of the host" : "a reset",
             f->over ? "asked" : "asks");
    tell(c, f->gpu, FINDING_DRIVER_VERDICT, SEVERITY_CRITICAL,
         reboot ? "Let the work on it finish, then reboot the host." : ADVICE_RESET, what);
}

/* What nvidia-smi shows under "ECC Errors", with repairs that the driver plans or has given up. */
static void find_memory_errors(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t rows = reading_or(gpu->remapped_rows_uncorrected, 0), errors = reading_or(gpu->ecc_uncorrected, 0);
    int64_t pages = reading_or(gpu->retired_pages_sbe, 0) + reading_or(gpu->retired_pages_dbe, 0);
    char worn[80] = "", lost[80] = "", counted[96] = "";
    if (rows >= ROWS_MAX)
        snprintf(worn, sizeof worn, ": %lld rows of its memory had errors that could not be corrected", (long long)rows);
    if (pages >= PAGES_MAX)
        snprintf(lost, sizeof lost, ": %lld pages of its memory are retired", (long long)pages);
    if (errors > 0)
        snprintf(counted, sizeof counted, ": %lld memory error%s not corrected since the driver was loaded", (long long)errors,
                 errors == 1 ? " was" : "s were");
    const struct {
        bool found;
        finding_code code;
        enum severity severity;
        const char *advice, *what;
    } errors_of[] = {
        {errors > 0, FINDING_ECC, SEVERITY_CRITICAL, NULL, counted},
        {reading_or(gpu->remapped_rows_failed, 0), FINDING_ROW_REMAP, SEVERITY_CRITICAL, ADVICE_REPLACE,
         " has failing memory: a bad row could not be exchanged for a spare one"},
        {rows >= ROWS_MAX, FINDING_ROW_REMAP, SEVERITY_CRITICAL, ADVICE_REPLACE, worn},
        {reading_or(gpu->remapped_rows_pending, 0), FINDING_ROW_REMAP, SEVERITY_WARNING, NULL,
         ": a bad row of its memory is exchanged for a spare one at the next reset"},
        {reading_or(gpu->bank_remap_pending, 0), FINDING_ROW_REMAP, SEVERITY_WARNING, NULL,
         ": a bad bank of its memory is exchanged for a spare one at the next reset"},
        {reading_or(gpu->unrepairable_memory, 0), FINDING_REPAIR, SEVERITY_CRITICAL, ADVICE_REPLACE,
         " has failing memory: its errors can't be repaired"},
        {reading_or(gpu->ecc_sram_threshold, 0), FINDING_REPAIR, SEVERITY_CRITICAL, ADVICE_REPLACE,
         ": its caches had more uncorrected errors than the driver tolerates"},
        {reading_or(gpu->channel_repair_pending, 0), FINDING_REPAIR, SEVERITY_WARNING, NULL,
         ": a bad channel of its memory is repaired at the next reset"},
        {reading_or(gpu->tpc_repair_pending, 0), FINDING_REPAIR, SEVERITY_WARNING, NULL,
         ": a bad part of the chip (TPC) is repaired at the next reset"},
        {pages >= PAGES_MAX, FINDING_RETIRED_PAGES, SEVERITY_CRITICAL, ADVICE_REPLACE, lost},
        {reading_or(gpu->retired_pages_pending, 0), FINDING_RETIRED_PAGES, SEVERITY_WARNING, NULL,
         ": a bad page of its memory is retired at the next reboot"},
    };
    for (size_t i = 0; i < ARRAY_LEN(errors_of); i++)
        if (errors_of[i].found)
            tell(c, gpu, errors_of[i].code, errors_of[i].severity, errors_of[i].advice, errors_of[i].what);
}

static void detect_reported(const struct facts *f, struct collection *c)
{
    find_demand(f, c);
    find_memory_errors(f, c);
}

const struct area area_errors = {.find = detect_reported};

/* ---- errors from drivers and the kernel log ---- */

/* What it is worth now; INFO: nothing any more. */
static enum severity severity_of_logged(const struct logged_fault *l, enum fault_class class)
{
    enum { DAY_MS = 86400000, HOUR_MS = 3600000, OFTEN = 3 }; /* so many of an application in a day deserve a look */
    switch (class) {
    case FAULT_INFORM: return SEVERITY_INFO;
    case FAULT_APPLICATION:
        if (l->ago_ms > DAY_MS)
            return SEVERITY_INFO;
        if (l->times >= OFTEN)
            return SEVERITY_WARNING;
        return l->ago_ms <= HOUR_MS ? SEVERITY_NOTICE : SEVERITY_INFO;
    case FAULT_UNKNOWN:
    case FAULT_LOOK:
        if (l->cured || l->ago_ms > DAY_MS)
            return SEVERITY_INFO;
        return l->returned ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    case FAULT_RESET:
    case FAULT_REBOOT:
    case FAULT_CABLE: break;
    }
    return l->cured ? SEVERITY_INFO : SEVERITY_CRITICAL;
}

static void say_logged(const struct logged_fault *l, const struct fault_info *info, struct finding *ret)
{
    bool xid = ret->code == FINDING_XID;
    char span[SHORT_WORDS], when[SHORT_WORDS + 8] = "just now", often[32] = "";
    if (l->ago_ms >= MS_PER_S)
        snprintf(when, sizeof when, "%s ago", words_duration(l->ago_ms, span));
    if (l->times > 1)
        snprintf(often, sizeof often, ", %u times", (unsigned)l->times);
    bool returned = l->returned && ret->severity == SEVERITY_CRITICAL;
    const char *again = returned ? ", and again after a reset" : "";
    const char *what = info ? info->what
                       : ret->fault > XID_CATALOG_LAST
                           ? "an error that is newer than this catalog (" XID_CATALOG "); the vendor may describe it"
                           : "an error that whirr does not know; the vendor's catalog of XIDs may describe it";
    ret->advice = returned ? ADVICE_AGAIN : fault_action(info ? info->class : FAULT_UNKNOWN);
    if (xid)
        snprintf(ret->headline, sizeof ret->headline, "GPU %d: XID %d %s%s%s: %s", ret->gpu_index, (int)ret->fault, when, often,
                 again, what);
    else
        snprintf(ret->headline, sizeof ret->headline, "GPU %d: %s, %s%s%s (kernel log)", ret->gpu_index, what, when, often, again);
}

bool judge_logged(const struct logged_fault *l, struct finding *ret)
{
    bool xid = ret->code == FINDING_XID;
    const struct fault_info *info = xid                                 ? xid_find(ret->fault)
                                    : ret->code == FINDING_DRIVER_FAULT ? driver_fault_find(ret->fault)
                                                                        : NULL;
    if (!xid && !info) /* no fault of a log, or that of another version */
        return false;
    ret->severity = severity_of_logged(l, info ? info->class : FAULT_UNKNOWN);
    if (ret->severity == SEVERITY_INFO)
        return false;
    say_logged(l, info, ret);
    return true;
}
