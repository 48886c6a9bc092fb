/* SPDX-License-Identifier: Apache-2.0
 * The answer for the whole host: that of the GPU which matters most, and a word on the others.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/why/rules.h"

enum answer_kind {
    KIND_FAN,
    KIND_LOST,
    KIND_ERROR,
    KIND_BUSY,
    KIND_LIGHT,
    KIND_WARM,
    KIND_COOLING,
    KIND_AWAKE,
    KIND_FAST_FAN,
    KIND_UNKNOWN,
    KIND_IDLE,
    KIND_ASLEEP,
    KIND_COUNT
};

/* "GPU 1 is ...", in the order in which they are said: what is wrong first. */
static const char *const states[KIND_COUNT] = {"without a working fan", "lost",    "unreadable",   "busy",
                                               "lightly loaded",        "warm",    "cooling down", "kept from idling",
                                               "loud by a setting",     "unclear", "idle",         "asleep"};

static enum answer_kind kind_of(const struct why_part *part)
{
    bool light = part->activity.code == ACTIVITY_LIGHTLY_LOADED;
    switch (part->causes[0].code) {
    case WHY_COMPUTE_LOAD:
    case WHY_GRAPHICS_LOAD:
    case WHY_VIDEO_LOAD:
    case WHY_SHARED_LOAD:
    case WHY_INSTANCE_LOAD:
    case WHY_MINING:
    case WHY_MEMORY_TRAFFIC:
    case WHY_POWER_LIMIT:
    case WHY_HIDDEN_LOAD:
    case WHY_LOADING: return light ? KIND_LIGHT : KIND_BUSY;
    case WHY_FAN_STOPPED:
    case WHY_FAN_FAILING: return KIND_FAN;
    case WHY_RECENT_LOAD: return KIND_COOLING;
    case WHY_CONTEXT_HELD:
    case WHY_DISPLAY:
    case WHY_CLOCKS_HELD: return KIND_AWAKE;
    case WHY_FAN_SETTING: return KIND_FAST_FAN;
    case WHY_NOTHING_UNUSUAL: return light ? KIND_LIGHT : KIND_IDLE;
    case WHY_CANNOT_KNOW: return KIND_UNKNOWN;
    case WHY_ASLEEP: return KIND_ASLEEP;
    case WHY_LOST: return KIND_LOST;
    case WHY_ERROR: return KIND_ERROR;
    default: return KIND_WARM;
    }
}

/* How much a GPU is heard and felt: fan, heat and power, each about 0 to 1. What is wrong comes before all that. */
static double weight_of(const struct gpu *gpu, const struct why_part *part)
{
    int64_t value, limit;
    double sum = 0;
    if (part->activity.code == ACTIVITY_FAILING)
        return 10;
    switch (kind_of(part)) {
    case KIND_LOST: return 20;
    case KIND_ERROR: return 0.8;
    case KIND_ASLEEP: return 0;
    default: break;
    }
    if (reading_get(gpu->fan_permille, &value))
        sum += (double)value / 1000;
    else if (reading_get(gpu->fan_rpm, &value))
        sum += MIN_OF((double)value / 4000, 1.0);
    if (reading_get(gpu->temp_mdegc, &value))
        sum += (double)value / 100000;
    if (reading_get(gpu->power_mw, &value) && reading_get(gpu->power_limit_mw, &limit) && limit > 0)
        sum += (double)value / (double)limit;
    if (kind_of(part) == KIND_FAN)
        sum += 2;
    if (part->activity.throttled_by & (THROTTLE_HOT | THROTTLE_POWER_BRAKE | THROTTLE_HW_SLOWDOWN))
        sum += 2;
    return kind_of(part) == KIND_IDLE ? 0.2 * sum : 0.3 + sum;
}

/* "GPU 1 is lost.", "GPUs 1, 4, and 5 are also busy.", "The other 7 GPUs are idle." */
static void say_kind(struct say *s, const struct snapshot *now, const struct why *why, enum answer_kind kind, bool over)
{
    enum { NAMED = 4 };
    size_t main = why->main, count = 0, others = why->gpu_count - 1, said = 0;
    bool simulated = true;
    for (size_t i = 0; i < why->gpu_count; i++)
        if (i != main && kind_of(&why->gpus[i]) == kind) {
            count++;
            simulated &= now->gpus[i].simulated;
        }
    if (!count)
        return;
    const char *gpu = simulated ? "simulated GPU" : "GPU", *also = kind_of(&why->gpus[main]) == kind ? "also " : "";
    const char *is = over ? "was" : "is", *are = over ? "were" : "are";
    if (count == others && count > 1) {
        say(s, " The other %zu %ss %s %s%s.", count, gpu, are, also, states[kind]);
        return;
    }
    if (count > NAMED) {
        say(s, " %zu other %ss %s %s%s.", count, gpu, are, also, states[kind]);
        return;
    }
    char list[96] = "";
    struct say names = SAY(list);
    for (size_t i = 0; i < why->gpu_count; i++)
        if (i != main && kind_of(&why->gpus[i]) == kind) {
            say(&names, "%s%d", said == 0 ? "" : said + 1 == count ? count > 2 ? ", and " : " and " : ", ", why->gpus[i].gpu_index);
            said++;
        }
    say(s, " %s%s %s %s %s%s.", simulated ? "Simulated GPU" : "GPU", count > 1 ? "s" : "", list, count > 1 ? are : is, also,
        states[kind]);
}

void answer_machine(const struct snapshot *now, struct why *why, bool over)
{
    struct say s = SAY(why->answer);
    if (why->machine.cause_count)
        str_copy(why->machine.answer, sizeof why->machine.answer, str_from(why->machine.causes[0].text));
    if (!why->gpu_count) {
        say(&s, "%s", why->machine.answer);
        return;
    }
    size_t main = 0;
    for (size_t i = 1; i < why->gpu_count; i++)
        if (weight_of(&now->gpus[i], &why->gpus[i]) > weight_of(&now->gpus[main], &why->gpus[main]))
            main = i;
    why->main = main;
    str_copy(why->answer, sizeof why->answer, str_from(why->gpus[main].answer));
    s.len = strlen(why->answer);
    if (why->machine.cause_count)
        say(&s, " %s", why->machine.answer);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        say_kind(&s, now, why, (enum answer_kind)kind, over);
}
