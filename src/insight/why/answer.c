/* SPDX-License-Identifier: Apache-2.0
 * The answer about one GPU: a sentence made for its first cause, and up to two more for what also matters.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/why/rules.h"

/* "GPU 0 runs at 78%", "GPU 0 draws 410 W"; returns whether the power was said already. */
static bool say_load(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], since[SHORT_WORDS];
    int64_t value;
    words_gpu(f->gpu, true, name);
    if (f->activity.bursts)
        say(s, "%s works in bursts (%lld%% on average over the last minute)", name, percent(f->load_permille));
    else if (f->activity.code == ACTIVITY_LIGHTLY_LOADED && f->load_basis != BASIS_POWER)
        say(s, "%s is lightly loaded (%lld%%)", name, percent(f->load_permille));
    else if (f->load_basis == BASIS_UTIL && f->past.steady_ms >= STEADY_LEAST_MS)
        say(s, "%s has run at %lld%% for %s", name, percent(f->load_permille), words_duration(f->past.steady_ms, since));
    else if (f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES)
        say(s, "%s runs at %lld%%", name, percent(f->load_permille));
    else if (reading_get(f->gpu->power_mw, &value))
        return say(s, "%s draws %lld W", name, words_whole(value, 1000));
    else
        say(s, "%s works", name);
    return false;
}

/* "; 71 °C and the fan at 62% follow from 280 W" */
static void say_follows(struct say *s, const struct facts *f, bool power_said)
{
    char effects[NAME_WORDS];
    int64_t power;
    bool plural = f->heat != HEAT_UNKNOWN, has_power = !power_said && reading_get(f->gpu->power_mw, &power);
    const char *no_fan = words_no_fan(f), *lead = no_fan ? ", and " : "; ";
    words_effects(f, effects);
    if (no_fan)
        say(s, "; %s", no_fan);
    if (effects[0] && has_power && f->activity.symptoms & 1u << SYMPTOM_UNUSUAL)
        say(s, "%s%s are much for %lld W", lead, effects, words_whole(power, 1000));
    else if (effects[0] && has_power)
        say(s, "%s%s %s from %lld W", lead, effects, plural ? "follow" : "follows", words_whole(power, 1000));
    else if (effects[0])
        say(s, "%s%s %s from that", lead, effects, plural ? "follow" : "follows");
    else if (has_power)
        say(s, "%sit draws %lld W", lead, words_whole(power, 1000));
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
        say(s, "%s has its video %s at %lld%%", words_gpu(f->gpu, true, name), f->encodes ? "encoder" : "decoder",
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
        say(s, " and runs at %lld%%", percent(f->load_permille));
    else if (draws)
        say(s, " and draws %lld W", words_whole(power, 1000));
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
            return say(s, " It is close to its temperature limit of %lld °C.", words_whole(limit, 1000));
        return say(s, " It is %lld °C below its temperature limit.", words_whole(f->margin_mdegc, 1000));
    case WHY_POWER_LIMIT:
        if (bits & THROTTLE_POWER_BRAKE)
            return say(s, " The machine itself holds it back (power brake).");
        if (reading_get(gpu->power_limit_mw, &limit) && reading_get(gpu->power_limit_default_mw, &normal) && normal > limit)
            return say(s, " It is held back by its power limit of %lld W (%lld W by default).", words_whole(limit, 1000),
                       words_whole(normal, 1000));
        if (reading_get(gpu->power_limit_mw, &limit))
            return say(s, " It is held back by its power limit of %lld W.", words_whole(limit, 1000));
        return say(s, " It is held back by its power limit.");
    case WHY_MEMORY_HOT: return say(s, " Its memory is the hot part: %lld °C.", words_whole(gpu->temp_memory_mdegc.value, 1000));
    case WHY_MEMORY_TRAFFIC: return say(s, " %s", cause->text);
    case WHY_AIRFLOW: return f->load == LOAD_BUSY && say(s, " %s", cause->text);
    case WHY_HOTSPOT: return say(s, " One spot of its chip is at %lld °C.", words_whole(gpu->temp_hotspot_mdegc.value, 1000));
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

/* ---- idle and troubled GPUs ---- */

static void answer_recent(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], who[NAME_WORDS], ago[SHORT_WORDS], effects[NAME_WORDS];
    say(s, "%s still cools down: ", words_gpu(f->gpu, true, name));
    if (f->past.ended)
        say(s, "%s ended %s ago", words_process(&f->past.ended->last, who), words_duration(f->past.ended_ago_ms, ago));
    else
        say(s, "its load was %lld%% until %s ago", percent(f->past.fell_from_permille), words_duration(f->past.fell_ago_ms, ago));
    if (words_effects(f, effects)[0])
        say(s, "; %s %s left from that", effects, f->heat != HEAT_UNKNOWN ? "are" : "is");
    if (f->past.temp_falls)
        say(s, ", down from %lld °C", words_whole(f->past.peak_temp_mdegc, 1000));
}

/* "78 °C at 0% load and 30 W" */
static void say_idle_heat(struct say *s, const struct facts *f)
{
    int64_t value;
    if (reading_get(f->gpu->temp_mdegc, &value))
        say(s, "%lld °C", words_whole(value, 1000));
    bool load = f->load_basis == BASIS_UTIL;
    if (load)
        say(s, " at %lld%% load", percent(f->load_permille));
    if (reading_get(f->gpu->power_mw, &value))
        say(s, " %s %lld W", load ? "and" : "at", words_whole(value, 1000));
}

static void answer_airflow(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], ago[SHORT_WORDS];
    int64_t fan;
    const char *no_fan = words_no_fan(f), *causes = "dust, a blocked intake, a warm room or case";
    bool hot = f->heat >= HEAT_HOT || reading_or(f->gpu->temp_mdegc, 0) >= FAN_NEEDED_FROM;
    say(s, "%s is %s without work: ", words_gpu(f->gpu, true, name), hot ? "hot" : "warm");
    say_idle_heat(s, f);
    if (f->past.calm_ms >= CALM_LEAST_MS)
        say(s, " points at the airflow (%s)", causes);
    else if (f->past.fell)
        say(s, " may come from poor airflow (%s), as it hardly cools down since its load fell %s ago", causes,
            words_duration(f->past.fell_ago_ms, ago));
    else
        say(s, " may come from poor airflow (%s) or be left from work that ended unseen", causes);
    if (no_fan)
        say(s, "; %s", no_fan);
    else if (f->fan > FAN_OFF && reading_get(f->gpu->fan_permille, &fan))
        say(s, "; the fan at %lld%% works against it", percent(fan));
}

static void answer_neighbour(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], other[SHORT_WORDS];
    int64_t temp, power;
    say(s, "%s does nothing itself but is warmed by %s", words_gpu(f->gpu, true, name), words_gpu(f->neighbour, false, other));
    if (reading_get(f->neighbour->temp_mdegc, &temp))
        say(s, ", which works at %lld °C", words_whole(temp, 1000));
    if (reading_get(f->neighbour->power_mw, &power))
        say(s, " and %lld W", words_whole(power, 1000));
    say_follows(s, f, true);
}

/* " at P2, 1695 MHz and 115 W" */
static void say_awake(struct say *s, const struct facts *f)
{
    int64_t value;
    char parts[3][SHORT_WORDS];
    size_t count = 0;
    if (reading_get(f->gpu->pstate, &value))
        snprintf(parts[count++], SHORT_WORDS, "P%lld", (long long)value);
    if (!f->clocks_by_state && reading_get(f->gpu->clock_graphics_khz, &value))
        snprintf(parts[count++], SHORT_WORDS, "%lld MHz", words_whole(value, 1000));
    if (reading_get(f->gpu->power_mw, &value))
        snprintf(parts[count++], SHORT_WORDS, "%lld W", words_whole(value, 1000));
    for (size_t i = 0; i < count; i++)
        say(s, "%s%s", i == 0 ? " at " : i + 1 == count ? " and " : ", ", parts[i]);
}

static void answer_clocks(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS], who[NAME_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    words_gpu(f->gpu, true, name);
    if (f->load == LOAD_LIGHT)
        say(s, "%s does little (%lld%%)", name, percent(f->load_permille));
    else
        say(s, "%s does nothing", name);
    if (cause->code == WHY_DISPLAY) {
        say(s, ", but its screens keep the memory clock at %lld MHz", words_whole(f->gpu->clock_memory_khz.value, 1000));
        say_follows(s, f, false);
        return;
    }
    if (p) {
        say(s, ", but %s keeps it awake", words_process(p, who));
        say_awake(s, f);
    } else {
        bool fixed = reading_or(f->gpu->throttle_bits, 0) & THROTTLE_APP_CLOCKS;
        say(s, fixed ? ", but its clocks are set to stay high" : ", but its clocks stay high");
        say_awake(s, f);
        say(s, ", and no process is seen that asks for it");
    }
    say_follows(s, f, true);
}

static void answer_fan(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS];
    int64_t temp = 0, fan = reading_or(f->gpu->fan_permille, 0), target;
    words_gpu(f->gpu, true, name);
    bool has_temp = reading_get(f->gpu->temp_mdegc, &temp);
    if (cause->code == WHY_FAN_STOPPED) {
        say(s, "%s is at %lld °C but its fan stands still", name, words_whole(temp, 1000));
    } else if (cause->code == WHY_FAN_FAILING) {
        if (f->fan_stuck)
            say(s, "%s drives its fan at %lld%% but it does not turn", name, percent(fan));
        else if (f->gpu->fan_permille.state == READING_OK && reading_get(f->gpu->fan_target_permille, &target))
            say(s, "%s asks its fan for %lld%% but it turns at %lld%% only", name, percent(target), percent(fan));
        else
            say(s, "%s asks its fan for %s but it turns at %lld rpm only", name, f->fan_judged.asked,
                (long long)reading_or(f->gpu->fan_rpm, 0));
        if (has_temp)
            say(s, "; the card is at %lld °C", words_whole(temp, 1000));
    } else {
        bool sure = f->past.calm_ms >= CALM_LEAST_MS;
        say(s, "%s is idle and cool (%lld °C), so its fan", name, words_whole(temp, 1000));
        if (f->gpu->fan_permille.state == READING_OK)
            say(s, " at %lld%%", percent(fan));
        else if (reading_get(f->gpu->fan_rpm, &fan))
            say(s, " at %lld rpm", (long long)fan);
        say(s, " %sfollows a setting (a fan curve or a fixed speed), not heat", sure ? "" : "most likely ");
    }
}

/* "is idle at 43 °C and 25 W"; returns false when nothing of it is known. */
static bool say_rest(struct say *s, const struct facts *f)
{
    int64_t value;
    size_t before = s->len;
    if (f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES) {
        if (f->load == LOAD_IDLE)
            say(s, " is idle");
        else
            say(s, f->load == LOAD_LIGHT ? " is lightly loaded (%lld%%)" : " works (%lld%%)", percent(f->load_permille));
    } else if (f->heat != HEAT_UNKNOWN || f->power != POWER_UNKNOWN) {
        say(s, " is");
    }
    const char *at = " at ";
    if (reading_get(f->gpu->temp_mdegc, &value)) {
        say(s, "%s%lld °C", at, words_whole(value, 1000));
        at = " and ";
    }
    if (reading_get(f->gpu->power_mw, &value))
        say(s, "%s%lld W", at, words_whole(value, 1000));
    return s->len > before;
}

static void answer_nothing(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t fan;
    const char *no_fan = words_no_fan(f);
    say(s, "Nothing unusual: %s", words_gpu(f->gpu, false, name));
    say_rest(s, f);
    if (f->fan == FAN_OFF)
        say(s, " with its fan off");
    else if (reading_get(f->gpu->fan_permille, &fan))
        say(s, " with its fan at %lld%%, an ordinary minimum", percent(fan));
    else if (reading_get(f->gpu->fan_rpm, &fan))
        say(s, " with its fan at %lld rpm", (long long)fan);
    else if (no_fan)
        say(s, "; %s", no_fan);
    if (f->load == LOAD_UNKNOWN && f->divided)
        say(s, "; whether its instances are busy is unknown (no utilization in MIG mode)");
}

static void say_missing(struct say *s, const struct facts *f)
{
    const struct {
        const char *name;
        enum reading_state state;
    } wanted[] = {
        {"load", f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES ? READING_OK : f->gpu->util_permille.state},
        {"temperature", f->gpu->temp_mdegc.state},
        {"power", f->gpu->power_mw.state},
        {"fan", f->fan != FAN_UNKNOWN ? READING_OK : f->gpu->fan_permille.state},
    };
    size_t missing = 0, said = 0;
    bool denied = false;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        missing += wanted[i].state != READING_OK;
        denied |= wanted[i].state == READING_DENIED;
    }
    if (!missing) {
        say(s, f->past.known ? ": no cause fits what can be read" : ": the minutes before are not known");
        return;
    }
    say(s, denied ? ": permission is missing to read its " : ": its ");
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (wanted[i].state != READING_OK) {
            say(s, "%s%s", said == 0 ? "" : said + 1 == missing ? " and " : ", ", wanted[i].name);
            said++;
        }
    if (!denied)
        say(s, " cannot be read%s", f->gpu->util_permille.state == READING_PENDING ? " yet" : "");
}

static void answer_unknown(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t fan;
    words_gpu(f->gpu, true, name);
    size_t start = s->len;
    say(s, "%s", name);
    bool known = say_rest(s, f);
    if (f->fan == FAN_OFF)
        known |= say(s, known ? " with its fan off" : " has its fan off");
    else if (reading_get(f->gpu->fan_permille, &fan))
        known |= say(s, known ? " with the fan at %lld%%" : " has its fan at %lld%%", percent(fan));
    else if (reading_get(f->gpu->fan_rpm, &fan))
        known |= say(s, known ? " with the fan at %lld rpm" : " has its fan at %lld rpm", (long long)fan);
    if (known) {
        say(s, ", but why cannot be known");
    } else {
        s->len = start;
        say(s, "What %s does cannot be known", words_gpu(f->gpu, false, name));
    }
    say_missing(s, f);
}

static void answer_loading(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], who[NAME_WORDS], bytes[SHORT_WORDS];
    int64_t held;
    say(s, "%s is loading: %s is filling its memory", words_gpu(f->gpu, true, name), words_process(f->loading, who));
    if (reading_get(f->loading->mem_bytes, &held))
        say(s, " (%s so far)", words_bytes(held, bytes));
}

static void answer_cpu(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t load, temp, rpm;
    bool hot = reading_get(f->now->host.cpu_temp_mdegc, &temp), speed = reading_get(f->gpu->fan_rpm, &rpm) && rpm > 0;
    say(s, "%s is %s", words_gpu(f->gpu, true, name), f->load == LOAD_IDLE ? "idle" : "lightly loaded");
    say(s, "; the CPU is working");
    if (reading_get(f->now->host.cpu_permille, &load))
        say(s, " (%lld%%)", percent(load));
    if (hot)
        say(s, " at %lld °C", words_whole(temp, 1000));
    say(s, " and shares its cooling");
    if (speed)
        say(s, ", so the fan turns at %lld rpm", (long long)rpm);
}

static void answer_memory(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t chip, fan;
    say(s, "%s has hot memory: %lld °C there", words_gpu(f->gpu, true, name), words_whole(f->gpu->temp_memory_mdegc.value, 1000));
    if (reading_get(f->gpu->temp_mdegc, &chip))
        say(s, ", %lld °C on the chip", words_whole(chip, 1000));
    if (f->fan >= FAN_RAISED && reading_get(f->gpu->fan_permille, &fan))
        say(s, "; the fan at %lld%% cools it", percent(fan));
}

static void answer_rest(struct say *s, const struct facts *f, const struct why_cause *first)
{
    switch (first->code) {
    case WHY_RECENT_LOAD: answer_recent(s, f); break;
    case WHY_CONTEXT_HELD:
    case WHY_DISPLAY:
    case WHY_CLOCKS_HELD: answer_clocks(s, f, first); break;
    case WHY_AIRFLOW: answer_airflow(s, f); break;
    case WHY_NEIGHBOUR_HEAT: answer_neighbour(s, f); break;
    case WHY_FAN_STOPPED:
    case WHY_FAN_FAILING:
    case WHY_FAN_SETTING: answer_fan(s, f, first); break;
    case WHY_LOADING: answer_loading(s, f); break;
    case WHY_CPU_HEAT: answer_cpu(s, f); break;
    case WHY_MEMORY_HOT: answer_memory(s, f); break;
    case WHY_NOTHING_UNUSUAL: answer_nothing(s, f); break;
    default: answer_unknown(s, f); break;
    }
}

/* ---- the answer ---- */

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
