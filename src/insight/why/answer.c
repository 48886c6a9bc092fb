/* SPDX-License-Identifier: Apache-2.0
 * The answer about one GPU: a sentence made for its first cause, and up to two more for what also matters. Sentences about cards
 * that do not work are in why_answer_rest.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/why/rules.h"

/* "GPU 0 runs at 78 %", "GPU 0 draws 410 W"; returns whether the power was said already. */
static bool say_load(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], since[SHORT_WORDS];
    int64_t value;
    words_gpu(f->gpu, true, name);
    if (f->activity.bursts)
        say(s, "%s works in bursts (%lld %% on average over the last minute)", name, percent(f->load_permille));
    else if (f->activity.code == ACTIVITY_LIGHTLY_LOADED && f->load_basis != BASIS_POWER)
        say(s, "%s is lightly loaded (%lld %%)", name, percent(f->load_permille));
    else if (f->load_basis == BASIS_UTIL && f->past.steady_ms >= STEADY_LEAST_MS)
        say(s, "%s has run at %lld %% for %s", name, percent(f->load_permille), words_ago(f->past.steady_ms, since));
    else if (f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES)
        say(s, "%s runs at %lld %%", name, percent(f->load_permille));
    else if (reading_get(f->gpu->power_mw, &value))
        return say(s, "%s draws %lld W", name, whole(value, 1000));
    else
        say(s, "%s works", name);
    return false;
}

void say_follows(struct say *s, const struct facts *f, bool power_said)
{
    char effects[NAME_WORDS];
    int64_t power;
    bool plural = f->heat != HEAT_UNKNOWN, has_power = !power_said && reading_get(f->gpu->power_mw, &power);
    const char *no_fan = words_no_fan(f), *lead = no_fan ? ", and " : "; ";
    words_effects(f, effects);
    if (no_fan)
        say(s, "; %s", no_fan);
    if (effects[0] && has_power && f->activity.symptoms & 1u << SYMPTOM_UNUSUAL)
        say(s, "%s%s are much for %lld W", lead, effects, whole(power, 1000));
    else if (effects[0] && has_power)
        say(s, "%s%s %s from %lld W", lead, effects, plural ? "follow" : "follows", whole(power, 1000));
    else if (effects[0])
        say(s, "%s%s %s from that", lead, effects, plural ? "follow" : "follows");
    else if (has_power)
        say(s, "%sit draws %lld W", lead, whole(power, 1000));
    if (f->fan == FAN_OFF)
        say(s, ", and its fan is off");
}

static void say_several(struct say *s, const struct facts *f)
{
    const struct workers *w = &f->workers;
    char first[NAME_WORDS], second[NAME_WORDS];
    words_process(w->first, first);
    words_process(w->second, second);
    if (w->suspected) {
        say(s, " with %zu processes on it, the biggest %s, but which of them does the work is not known", w->count, first);
        return;
    }
    if (w->count > 2)
        say(s, " because %s, %s and %zu more processes share it", first, second, w->count - 2);
    else
        say(s, " because %s and %s share it", first, second);
}

static void say_hidden(struct say *s, const struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    if (gpu->processes_hidden)
        say(s, " because of %zu process%s that permission is missing to see", gpu->processes_hidden,
            gpu->processes_hidden == 1 ? "" : "es");
    else if (gpu->processes_state == READING_DENIED)
        say(s, ", but permission is missing to see whose work it is");
    else if (gpu->processes_state != READING_OK)
        say(s, ", but the processes on it cannot be listed");
    else if (f->workers.on_card)
        say(s, ", but none of the processes seen on it does the work");
    else
        say(s, ", but no process can be seen that would explain it");
}

static void answer_load(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char who[NAME_WORDS] = "", work[NAME_WORDS], name[SHORT_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    if (p)
        words_process(p, who);
    if (p && f->load == LOAD_UNKNOWN && cause->code != WHY_VIDEO_LOAD) {
        say(s, "%s may be at work for %s, which is on it, but its load cannot be read", words_gpu(f->gpu, true, name), who);
        say_follows(s, f, false);
        return;
    }
    bool power_said = false;
    if (cause->code == WHY_VIDEO_LOAD) {
        say(s, "%s has its video %s at %lld %%", words_gpu(f->gpu, true, name), f->encodes ? "encoder" : "decoder",
            percent(f->video_permille));
        int64_t share;
        size_t equals;
        if (p && video_process(f, &share, &equals) && equals > 1)
            say(s, " because %zu processes %s video on it, among them %s", equals, f->encodes ? "encode" : "decode", who);
        else if (p)
            say(s, " because %s %s video on it", who, f->encodes ? "encodes" : "decodes");
    } else {
        power_said = say_load(s, f);
    }
    if (cause->code == WHY_HIDDEN_LOAD)
        say_hidden(s, f);
    else if (cause->code == WHY_SHARED_LOAD)
        say_several(s, f);
    else if (cause->code == WHY_MINING && p)
        say(s, " because %s mines on it, by %s", who, words_miner(p));
    else if (cause->code != WHY_VIDEO_LOAD && p)
        say(s, "%s because %s %s on it", f->workers.shares_known || f->workers.on_card == 1 ? "" : " most likely", who,
            words_work(p, work));
    say_follows(s, f, power_said);
}

static void answer_instances(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS], text[WHY_TEXT_SIZE];
    int64_t power;
    bool draws = reading_get(f->gpu->power_mw, &power);
    say(s, "%s is divided into instances", words_gpu(f->gpu, true, name));
    if (f->load_basis == BASIS_UTIL)
        say(s, " and runs at %lld %%", percent(f->load_permille));
    else if (draws)
        say(s, " and draws %lld W", whole(power, 1000));
    str_copy(text, sizeof text, str_from(cause->text));
    size_t len = strlen(text);
    if (len && text[len - 1] == '.')
        text[len - 1] = '\0';
    if (!strstr(text, "no process is seen"))
        say(s, " because %s", text);
    else
        say(s, ", but no process is seen in them");
    say_follows(s, f, draws && f->load_basis != BASIS_UTIL);
}

static void answer_other(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS];
    say(s, "%s: %s", words_gpu(f->gpu, true, name), cause->text);
    if (s->len && s->at[s->len - 1] == '.')
        s->at[--s->len] = '\0';
    say_follows(s, f, false);
}

/* A further sentence for a cause that is not the first. */
static bool say_also(struct say *s, const struct facts *f, const struct why_part *part, const struct why_cause *cause)
{
    const struct gpu *gpu = f->gpu;
    int64_t bits = reading_or(gpu->throttle_bits, 0), limit, normal;
    char who[NAME_WORDS], bytes[SHORT_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(gpu, cause->pid) : NULL;
    bool stopped = part->causes[0].code == WHY_FAN_STOPPED || part->causes[0].code == WHY_FAN_FAILING;
    switch (cause->code) {
    case WHY_HEAT_LIMIT:
        if (bits & THROTTLE_HOT)
            return say(s, " It slows itself down because of the heat.");
        if (reading_get(f->limit_mdegc, &limit) && limit > 0)
            return say(s, " It is close to its temperature limit of %lld C.", whole(limit, 1000));
        return say(s, " It is %lld C below its temperature limit.", whole(f->margin_mdegc, 1000));
    case WHY_POWER_LIMIT:
        if (bits & THROTTLE_POWER_BRAKE)
            return say(s, " The machine itself holds it back (power brake).");
        if (reading_get(gpu->power_limit_mw, &limit) && reading_get(gpu->power_limit_default_mw, &normal) && normal > limit)
            return say(s, " It is held back by its power limit of %lld W (%lld W by default).", whole(limit, 1000),
                       whole(normal, 1000));
        if (reading_get(gpu->power_limit_mw, &limit))
            return say(s, " It is held back by its power limit of %lld W.", whole(limit, 1000));
        return say(s, " It is held back by its power limit.");
    case WHY_MEMORY_HOT: return say(s, " Its memory is the hot part: %lld C.", whole(gpu->temp_memory_mdegc.value, 1000));
    case WHY_MEMORY_TRAFFIC: return say(s, " %s", cause->text);
    case WHY_AIRFLOW: return f->load == LOAD_BUSY && say(s, " %s", cause->text);
    case WHY_HOTSPOT: return say(s, " One spot of its chip is at %lld C.", whole(gpu->temp_hotspot_mdegc.value, 1000));
    case WHY_VRAM_HELD:
        if (part->causes[0].code != WHY_NOTHING_UNUSUAL || !p)
            return false;
        return say(s, " The %s of memory that %s holds does not drive the fan.", words_bytes(p->mem_bytes.value, bytes),
                   words_process(p, who));
    case WHY_COMPUTE_LOAD:
    case WHY_GRAPHICS_LOAD:
    case WHY_MINING:
    case WHY_SHARED_LOAD: return stopped && p && say(s, " The heat comes from the work of %s.", words_process(p, who));
    default: return false;
    }
}

static void answer_state(struct say *s, const struct gpu *gpu)
{
    char name[SHORT_WORDS];
    words_gpu(gpu, true, name);
    if (gpu->state == GPU_ASLEEP)
        say(s, "%s is asleep: it does no work and needs no cooling, so the noise comes from elsewhere", name);
    else if (gpu->state == GPU_LOST)
        say(s, "%s is lost: the machine can no longer reach it, and nothing can be said about its fan", name);
    else
        say(s, "%s cannot be read", name);
    if (gpu->state != GPU_ASLEEP && gpu->error_message[0])
        say(s, " (the driver says: %.120s)", gpu->error_message);
}

void answer_gpu(const struct facts *f, struct why_part *part)
{
    struct say s = SAY(part->answer);
    if (f->gpu->state != GPU_OK) {
        answer_state(&s, f->gpu);
        say_stop(&s);
        return;
    }
    const struct why_cause *first = &part->causes[0];
    switch (first->code) {
    case WHY_COMPUTE_LOAD:
    case WHY_GRAPHICS_LOAD:
    case WHY_VIDEO_LOAD:
    case WHY_SHARED_LOAD:
    case WHY_MINING:
    case WHY_HIDDEN_LOAD: answer_load(&s, f, first); break;
    case WHY_INSTANCE_LOAD: answer_instances(&s, f, first); break;
    case WHY_HEAT_LIMIT:
    case WHY_HOTSPOT:
    case WHY_POWER_LIMIT:
    case WHY_MEMORY_TRAFFIC: answer_other(&s, f, first); break;
    default: answer_rest(&s, f, first); break;
    }
    say_stop(&s);
    for (size_t i = 1, more = 0; i < part->cause_count && more < 2; i++)
        more += say_also(&s, f, part, &part->causes[i]);
    if (f->activity.symptoms & 1u << SYMPTOM_MEMORY_FULL)
        say(&s, " Its memory is full.");
}
