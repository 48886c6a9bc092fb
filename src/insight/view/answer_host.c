/* SPDX-License-Identifier: Apache-2.0
 * The answer for the whole host: that of the GPU which matters most, and a word on the others.
 */
#include <string.h>

#include "base/str.h"
#include "insight/view/answer.h"

enum answer_kind {
    KIND_FAN,
    KIND_LOST,
    KIND_ERROR,
    KIND_LATE,
    KIND_WAITING,
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
static const char *const states[KIND_COUNT] = {"without a working fan",
                                               "lost",
                                               "unreadable",
                                               "late",
                                               "waiting",
                                               "busy",
                                               "lightly loaded",
                                               "warm",
                                               "cooling down",
                                               "kept from idling",
                                               "loud by a setting",
                                               "unclear",
                                               "idle",
                                               "asleep"};

static enum answer_kind answer_host_kind_of(const struct why_part *part)
{
    if (part->waits)
        return KIND_WAITING;
    bool light = part->activity.code == ACTIVITY_LIGHTLY_LOADED;
    switch (part->causes[0].code) {
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD:
    case FINDING_VIDEO_LOAD:
    case FINDING_SHARED_LOAD:
    case FINDING_INSTANCE_LOAD:
    case FINDING_MINING:
    case FINDING_MEMORY_TRAFFIC:
    case FINDING_POWER_LIMIT:
    case FINDING_HIDDEN_LOAD:
    case FINDING_LOADING: return light ? KIND_LIGHT : KIND_BUSY;
    case FINDING_NO_WORK_DONE:
    case FINDING_RANKS_WAIT: return KIND_WAITING;
    case FINDING_STRAGGLER: return KIND_LATE;
    case FINDING_FAN_STOPPED:
    case FINDING_FAN_FAILING: return KIND_FAN;
    case FINDING_RECENT_LOAD: return KIND_COOLING;
    case FINDING_CONTEXT_HELD:
    case FINDING_DISPLAY:
    case FINDING_CLOCKS_HELD: return KIND_AWAKE;
    case FINDING_FAN_SETTING: return KIND_FAST_FAN;
    case FINDING_NOTHING_UNUSUAL: return light ? KIND_LIGHT : KIND_IDLE;
    case FINDING_CANNOT_KNOW: return KIND_UNKNOWN;
    case FINDING_ASLEEP: return KIND_ASLEEP;
    case FINDING_LOST: return KIND_LOST;
    case FINDING_ERROR: return KIND_ERROR;
    default: return KIND_WARM;
    }
}

/* The position of the GPU that the first finding is about; 0 where none is about a GPU. */
static size_t main_of(const struct why *why)
{
    for (size_t i = 0; i < why->verdict->count; i++)
        for (size_t k = 0; k < why->gpu_count; k++)
            if (why->gpus[k].gpu_index == why->verdict->findings[i].gpu_index)
                return k;
    return 0;
}

/* "GPU 1 is lost.", "GPUs 1, 4, and 5 are also busy.", "The other 7 GPUs are idle." */
static void say_kind(struct text *s, const struct snapshot *now, const struct why *why, enum answer_kind kind, bool over)
{
    enum { NAMED = 4 };
    size_t main = why->main, count = 0, others = why->gpu_count - 1, said = 0;
    bool simulated = true;
    for (size_t i = 0; i < why->gpu_count; i++)
        if (i != main && answer_host_kind_of(&why->gpus[i]) == kind) {
            count++;
            simulated &= now->gpus[i].simulated;
        }
    if (!count)
        return;
    const char *gpu = simulated ? "simulated GPU" : "GPU", *also = answer_host_kind_of(&why->gpus[main]) == kind ? "also " : "";
    const char *is = over ? "was" : "is", *are = over ? "were" : "are";
    if (count == others && count > 1) {
        text_append(s, " The other %zu %ss %s %s%s.", count, gpu, are, also, states[kind]);
        return;
    }
    if (count > NAMED) {
        text_append(s, " %zu other %ss %s %s%s.", count, gpu, are, also, states[kind]);
        return;
    }
    char list[96] = "";
    struct text names = TEXT(list);
    for (size_t i = 0; i < why->gpu_count; i++)
        if (i != main && answer_host_kind_of(&why->gpus[i]) == kind) {
            text_append(&names, "%s%d",
                        said == 0           ? ""
                        : said + 1 == count ? count > 2 ? ", and " : " and "
                                            : ", ",
                        why->gpus[i].gpu_index);
            said++;
        }
    text_append(s, " %s%s %s %s %s%s.", simulated ? "Simulated GPU" : "GPU", count > 1 ? "s" : "", list, count > 1 ? are : is, also,
                states[kind]);
}

void answer_host(const struct snapshot *now, struct why *why, bool over)
{
    struct text s = TEXT(why->answer);
    if (why->machine.cause_count)
        str_copy(why->machine.answer, sizeof why->machine.answer, str_from(why->machine.causes[0].text));
    if (!why->gpu_count) {
        text_append(&s, "%s", why->machine.answer);
        return;
    }
    why->main = main_of(why);
    str_copy(why->answer, sizeof why->answer, str_from(why->gpus[why->main].answer));
    s.len = strlen(why->answer);
    if (why->machine.cause_count)
        text_append(&s, " %s", why->machine.answer);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        say_kind(&s, now, why, (enum answer_kind)kind, over);
}
