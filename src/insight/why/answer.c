/* SPDX-License-Identifier: Apache-2.0
 * The answer about one GPU: what it is (symptom before activity), who is doing what, its readings, each said once; then up to two
 * sentences for what also matters. The brief line of a GPU in a list is made of the same words.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/activity/finding.h"
#include "insight/why/rules.h"

/* ---- readings ---- */

enum { SAID_LOAD = 1, SAID_POWER = 2, SAID_HEAT = 4, SAID_FAN = 8, SAID_ALL = 15 };

/* "fan 62%", "fan 1850 rpm", "fan off"; false where there is nothing to say. */
static bool fan_words(const struct facts *f, char out[SHORT_WORDS])
{
    int64_t fan;
    if (f->fan == FAN_OFF)
        snprintf(out, SHORT_WORDS, "fan off");
    else if (f->fan != FAN_NONE && reading_get(f->gpu->fan_permille, &fan))
        snprintf(out, SHORT_WORDS, "fan %lld%%", percent(fan));
    else if (f->fan != FAN_NONE && reading_get(f->gpu->fan_rpm, &fan))
        snprintf(out, SHORT_WORDS, "fan %lld rpm", (long long)fan);
    else
        return false;
    return true;
}

static bool has_symptom(const struct facts *f, enum symptom symptom)
{
    return f->activity.symptoms & 1u << symptom;
}

/* "692 W (at its power limit)"; a limit that somebody lowered is named with the stock one. */
static void power_words(const struct facts *f, const struct why_part *part, char out[NAME_WORDS])
{
    const struct gpu *gpu = f->gpu;
    int64_t power = gpu->power_mw.value, limit, stock;
    struct say s = {out, NAME_WORDS, 0};
    say(&s, "%lld W", words_whole(power, 1000));
    if (!find_cause(part, WHY_POWER_LIMIT))
        return;
    if (reading_or(gpu->throttle_bits, 0) & THROTTLE_POWER_BRAKE)
        say(&s, " (power brake)");
    else if (reading_get(gpu->power_limit_mw, &limit) && reading_get(gpu->power_limit_default_mw, &stock) && stock > limit)
        say(&s, " (limit lowered to %lld W, stock %lld W)", words_whole(limit, 1000), words_whole(stock, 1000));
    else
        say(&s, " (at its power limit)");
}

/* "78%, 280 W, 71 °C, fan 62%": what `said` does not hold already. Returns how many there are. */
static size_t say_readings(struct say *s, const struct facts *f, const struct why_part *part, unsigned said, const char *lead)
{
    char words[NAME_WORDS];
    int64_t value;
    size_t count = 0;
    if (!(said & SAID_LOAD) && (f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES))
        say(s, "%s%lld%%%s", count++ ? ", " : lead, percent(f->load_permille), f->activity.bursts ? " on average" : "");
    if (count && f->past.steady_ms >= STEADY_LEAST_MS && find_cause(part, WHY_HIDDEN_LOAD))
        say(s, " for %s", words_duration(f->past.steady_ms, words)); /* how long somebody has gone unseen */
    if (!(said & SAID_POWER) && f->gpu->power_mw.state == READING_OK) {
        power_words(f, part, words);
        say(s, "%s%s", count++ ? ", " : lead, words);
    }
    if (!(said & SAID_HEAT) && reading_get(f->gpu->temp_mdegc, &value))
        say(s, "%s%lld °C", count++ ? ", " : lead, words_whole(value, 1000));
    if (!(said & SAID_FAN) && fan_words(f, words)) {
        if (!count && strcmp(lead, " ") == 0) /* it begins the sentence */
            words[0] = 'F';
        say(s, "%s%s", count++ ? ", " : lead, words);
    }
    return count;
}

/* ---- what it is ---- */

static bool is_loud(const struct facts *f)
{
    return finding_is_loud(&f->activity, f->gpu, f->load == LOAD_BUSY);
}

/* The word for the activity; at full load people say busy. */
static const char *activity_words(const struct facts *f)
{
    switch (f->activity.code) {
    case ACTIVITY_BUSY:
    case ACTIVITY_SATURATED: return f->activity.bursts ? "busy in bursts" : "busy";
    case ACTIVITY_LIGHTLY_LOADED: return f->activity.bursts ? "lightly loaded, in bursts" : "lightly loaded";
    case ACTIVITY_FAILING: /* that is a sentence of its own */
        return f->load == LOAD_BUSY ? "busy" : f->load == LOAD_LIGHT ? "lightly loaded" : "idle";
    case ACTIVITY_UNKNOWN: return f->load == LOAD_BUSY ? "busy" : f->load == LOAD_IDLE ? "idle" : "";
    default: return activity_code_words(f->activity.code);
    }
}

/* "throttling (93 °C)", "loud (fan 100%)", "hot (88 °C)", else the activity. Returns what was said with it. */
static unsigned say_state(struct say *s, const struct facts *f)
{
    char fan[SHORT_WORDS];
    int64_t temp = 0;
    bool has_temp = reading_get(f->gpu->temp_mdegc, &temp);
    if (f->activity.throttled_by & THROTTLE_HOT) {
        say(s, "thermal throttling");
        return has_temp && say(s, " (%lld °C)", words_whole(temp, 1000)) ? SAID_HEAT : 0;
    }
    if (is_loud(f) && fan_words(f, fan)) {
        say(s, "loud (%s)", fan);
        return SAID_FAN;
    }
    if (has_symptom(f, SYMPTOM_HOT) && has_temp && f->heat >= HEAT_HOT) {
        say(s, "hot (%lld °C)", words_whole(temp, 1000));
        return SAID_HEAT;
    }
    say(s, "%s", activity_words(f)[0] ? activity_words(f) : "in use");
    return 0;
}

/* Whether say_state named a symptom. */
static bool is_troubled(const struct facts *f)
{
    return f->activity.throttled_by & THROTTLE_HOT || is_loud(f) || (has_symptom(f, SYMPTOM_HOT) && f->heat >= HEAT_HOT);
}

static bool is_normal(const struct facts *f, const struct why_part *part)
{
    static const enum why_code wrong[] = {WHY_AIRFLOW,     WHY_HEAT_LIMIT,  WHY_MEMORY_HOT, WHY_HOTSPOT,  WHY_FAN_STOPPED,
                                          WHY_FAN_FAILING, WHY_HIDDEN_LOAD, WHY_MINING,     WHY_CPU_HEAT, WHY_INSTANCE_LOAD};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (find_cause(part, wrong[i]))
            return false;
    return f->load == LOAD_BUSY && !is_troubled(f) && !f->activity.throttled_by && !has_symptom(f, SYMPTOM_UNUSUAL) &&
           f->activity.code != ACTIVITY_FAILING && f->heat != HEAT_UNKNOWN;
}

/* ---- who is doing what ---- */

static void say_several(struct say *s, const struct facts *f)
{
    const struct workers *w = &f->workers;
    char first[NAME_WORDS], second[NAME_WORDS];
    words_who(w->first, first);
    words_who(w->second, second);
    if (strcmp(first, second) == 0) { /* two workers of one job */
        words_process(w->first, first);
        words_process(w->second, second);
    }
    if (w->suspected)
        say(s, "%zu processes %s on it, the largest %s %s; which one %s working is not known", w->count, are(f), is(f), first,
            is(f));
    else if (w->count > 2)
        say(s, "%s, %s, and %zu more processes %s sharing it", first, second, w->count - 2, are(f));
    else
        say(s, "%s and %s %s sharing it", first, second, are(f));
}

static void say_hidden(struct say *s, const struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    if (gpu->processes_hidden)
        say(s, "%zu process%s that you have no permission to see %s using it", gpu->processes_hidden,
            gpu->processes_hidden == 1 ? "" : "es", gpu->processes_hidden == 1 ? is(f) : are(f));
    else if (gpu->processes_state == READING_DENIED)
        say(s, "you have no permission to see which process %s using it", is(f));
    else if (gpu->processes_state != READING_OK)
        say(s, "its processes %s be listed", cannot(f));
    else if (f->workers.on_card)
        say(s, "none of the visible processes %s doing the work", is(f));
    else
        say(s, "no process %s visible that explain%s it", is(f), f->over ? "ed" : "s");
}

static void say_video(struct say *s, const struct facts *f, const char *who)
{
    const char *work = f->encodes ? "encoding" : "decoding";
    int64_t share;
    size_t equals;
    if (who[0] && video_process(f, &share, &equals) && equals > 1)
        say(s, "%zu processes %s %s video, among them %s", equals, are(f), work, who);
    else if (who[0])
        say(s, "%s %s %s video", who, is(f), work);
    else
        say(s, "video %s being %sd", is(f), f->encodes ? "encode" : "decode");
    say(s, " (%s %lld%%)", f->encodes ? "encoder" : "decoder", percent(f->video_permille));
}

/* "python3 train.py (alice) is training", for causes that are work. False: it is no work. */
static bool say_work(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char who[NAME_WORDS] = "", work[NAME_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    if (p)
        words_who(p, who);
    switch (cause->code) {
    case WHY_VIDEO_LOAD: say_video(s, f, who); return true;
    case WHY_HIDDEN_LOAD: say_hidden(s, f); return true;
    case WHY_SHARED_LOAD: say_several(s, f); return true;
    case WHY_INSTANCE_LOAD: say(s, "%.*s", (int)(strlen(cause->text) - 1), cause->text); return true;
    case WHY_MINING: return p && say(s, "%s %s mining, judging by %s", who, is(f), words_miner(p));
    case WHY_COMPUTE_LOAD:
    case WHY_GRAPHICS_LOAD: break;
    default: return false;
    }
    if (!p)
        return false;
    bool sure = f->workers.shares_known || f->workers.on_card == 1;
    return say(s, "%s %s %s%s", who, is(f), sure ? "" : "probably ", words_work(p, work));
}

static const struct why_cause *work_cause(const struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (part->causes[i].code <= WHY_HIDDEN_LOAD && part->causes[i].code != WHY_MEMORY_TRAFFIC)
            return &part->causes[i];
    return NULL;
}

/* ---- a GPU at work ---- */

static void answer_load(struct say *s, const struct facts *f, struct why_part *part)
{
    struct why_brief *brief = &part->brief;
    char name[SHORT_WORDS], who[NAME_WORDS], doing[WHY_TEXT_SIZE] = "";
    const struct why_cause *cause = work_cause(part);
    const struct process *p = cause && cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    int64_t power;
    words_gpu(f->gpu, true, name);
    if (p && f->load == LOAD_UNKNOWN && cause->code != WHY_VIDEO_LOAD && cause->code != WHY_INSTANCE_LOAD) {
        say(s, "%s may %s busy: %s %s on it, but its utilization %s be read.", name, f->over ? "have been" : "be",
            words_who(p, who), is(f), cannot(f));
        say_readings(s, f, part, 0, " ");
        return;
    }
    say(s, "%s %s ", name, is(f));
    unsigned said = say_state(s, f);
    str_copy(brief->headline, sizeof brief->headline, str_from(s->at));
    struct say d = SAY(doing);
    if (cause)
        say_work(&d, f, cause);
    if (find_cause(part, WHY_AIRFLOW) && reading_get(f->gpu->power_mw, &power)) {
        say(s, " because it %s dissipate %lld W", cannot(f), words_whole(power, 1000));
        said |= SAID_POWER;
        str_copy(brief->headline, sizeof brief->headline, str_from(s->at));
    } else if (is_troubled(f) && doing[0] && cause->code != WHY_HIDDEN_LOAD) {
        say(s, " because %s", doing);
        doing[0] = '\0';
    }
    if (doing[0])
        say(s, ": %s", doing);
    say_stop(s);
    if (say_readings(s, f, part, said, " ") && is_normal(f, part))
        say(s, ", normal for this work");
}

/* A further sentence for a cause that is not the first. */
static bool say_also(struct say *s, const struct facts *f, const struct why_part *part, const struct why_cause *cause)
{
    const struct gpu *gpu = f->gpu;
    int64_t bits = reading_or(gpu->throttle_bits, 0), limit, busy;
    char who[NAME_WORDS], bytes[SHORT_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(gpu, cause->pid) : NULL;
    const char *its = f->over ? "was" : "is";
    bool stopped = part->causes[0].code == WHY_FAN_STOPPED || part->causes[0].code == WHY_FAN_FAILING;
    switch (cause->code) {
    case WHY_HEAT_LIMIT:
        if (bits & THROTTLE_HOT)
            return stopped && say(s, " It %s thermal throttling.", its);
        if (reading_get(f->limit_mdegc, &limit) && limit > 0)
            return say(s, " It %s close to its temperature limit of %lld °C.", its, words_whole(limit, 1000));
        return say(s, " It %s %lld °C below its temperature limit.", its, words_whole(f->margin_mdegc, 1000));
    case WHY_MEMORY_HOT: return say(s, " Its memory %s at %lld °C.", its, words_whole(gpu->temp_memory_mdegc.value, 1000));
    case WHY_MEMORY_TRAFFIC:
        if (reading_get(gpu->mem_util_permille, &busy) && busy >= 800)
            return say(s, " Its memory %s busy %lld%% of the time.", its, percent(busy));
        return say(s, " %s", cause->text);
    case WHY_HOTSPOT: return say(s, " Its hot spot %s at %lld °C.", its, words_whole(gpu->temp_hotspot_mdegc.value, 1000));
    case WHY_VRAM_HELD:
        if (part->causes[0].code != WHY_NOTHING_UNUSUAL || !p)
            return false;
        return say(s, " The %s that %s %s holding does not drive the fan.", words_bytes(p->mem_bytes.value, bytes),
                   words_who(p, who), its);
    case WHY_COMPUTE_LOAD:
    case WHY_GRAPHICS_LOAD:
    case WHY_MINING:
    case WHY_SHARED_LOAD: return stopped && p && say(s, " The heat %s from %s.", f->over ? "came" : "comes", words_who(p, who));
    default: return false;
    }
}

/* ---- idle and troubled GPUs ---- */

static void answer_recent(struct say *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], who[NAME_WORDS], ago[SHORT_WORDS];
    const char *then = f->over ? "before" : "ago";
    int64_t temp;
    say(s, "%s %s cooling down: ", words_gpu(f->gpu, true, name), is(f));
    if (f->past.ended)
        say(s, "%s%s ended %s %s.", words_who(&f->past.ended->last, who), f->over ? " had" : "",
            words_duration(f->past.ended_ago_ms, ago), then);
    else
        say(s, "utilization %s %lld%% until %s %s.", f->over ? "had been" : "was", percent(f->past.fell_from_permille),
            words_duration(f->past.fell_ago_ms, ago), then);
    unsigned said = SAID_POWER | SAID_LOAD;
    if (f->past.temp_falls && reading_get(f->gpu->temp_mdegc, &temp)) {
        said |= SAID_HEAT;
        say(s, " %lld °C, down from %lld °C", words_whole(temp, 1000), words_whole(f->past.peak_temp_mdegc, 1000));
    }
    say_readings(s, f, part, said, said & SAID_HEAT ? ", " : " ");
}

static void answer_airflow(struct say *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], ago[SHORT_WORDS];
    int64_t temp, power;
    const char *causes = "dust, a blocked intake, a warm room or case", *be = f->over ? "have been" : "be";
    bool hot = f->heat >= HEAT_HOT || reading_or(f->gpu->temp_mdegc, 0) >= FAN_NEEDED_FROM;
    say(s, "%s %s %s", words_gpu(f->gpu, true, name), is(f), hot ? "hot" : "warm");
    if (reading_get(f->gpu->temp_mdegc, &temp))
        say(s, " (%lld °C)", words_whole(temp, 1000));
    say(s, " while idle");
    if (reading_get(f->gpu->power_mw, &power))
        say(s, " at %lld W", words_whole(power, 1000));
    if (f->past.calm_ms >= CALM_LEAST_MS)
        say(s, ": very likely airflow (%s)", causes);
    else if (f->past.fell)
        say(s, ": it may %s poor airflow (%s), as it %s hardly cooled down since the work ended %s %s", be, causes, has(f),
            words_duration(f->past.fell_ago_ms, ago), f->over ? "before" : "ago");
    else
        say(s, ": it may %s poor airflow (%s), or work that ended unseen", be, causes);
    say_stop(s);
    if (f->fan == FAN_NONE)
        say(s, " It has no fan of its own");
    else
        say_readings(s, f, part, SAID_ALL & ~(unsigned)SAID_FAN, " ");
}

static void answer_neighbour(struct say *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], other[SHORT_WORDS];
    int64_t temp, power;
    say(s, "%s %s idle, but warmed by %s", words_gpu(f->gpu, true, name), is(f), words_gpu(f->neighbour, false, other));
    if (reading_get(f->neighbour->temp_mdegc, &temp))
        say(s, ", which %s busy at %lld °C", is(f), words_whole(temp, 1000));
    if (reading_get(f->neighbour->power_mw, &power))
        say(s, " and %lld W", words_whole(power, 1000));
    say_stop(s);
    say_readings(s, f, part, SAID_LOAD, " ");
}

/* "P2, 1695 MHz" */
static void say_clocks(struct say *s, const struct facts *f, const char *lead)
{
    int64_t value;
    size_t count = 0;
    if (reading_get(f->gpu->pstate, &value))
        say(s, "%sP%lld", count++ ? ", " : lead, (long long)value);
    if (!f->clocks_by_state && reading_get(f->gpu->clock_graphics_khz, &value))
        say(s, "%s%lld MHz", count++ ? ", " : lead, words_whole(value, 1000));
}

/* "kept from idling at 38 W by python3 (bob), which is holding 7.0 GiB" */
static unsigned say_kept(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char who[NAME_WORDS], bytes[SHORT_WORDS];
    int64_t power, held;
    unsigned said = 0;
    const struct process *p = cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    if (f->activity.code == ACTIVITY_LIGHTLY_LOADED)
        say(s, "lightly loaded and ");
    say(s, "kept from idling");
    if (reading_get(f->gpu->power_mw, &power))
        said = say(s, " at %lld W", words_whole(power, 1000)) ? SAID_POWER : 0;
    if (cause->code == WHY_DISPLAY)
        say(s, " by its displays, which hold the memory clock at %lld MHz", words_whole(f->gpu->clock_memory_khz.value, 1000));
    else if (p && reading_get(p->mem_bytes, &held))
        say(s, " by %s, which %s %s", words_who(p, who), f->over ? "held" : "holds", words_bytes(held, bytes));
    else if (p)
        say(s, " by %s", words_who(p, who));
    else if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_APP_CLOCKS)
        say(s, " by clocks that are set to stay high");
    else
        say(s, " by clocks that stay high; no process %s visible that asks for it", is(f));
    return said;
}

static void answer_clocks(struct say *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS];
    say(s, "%s %s ", words_gpu(f->gpu, true, name), is(f));
    unsigned said = say_kept(s, f, &part->causes[0]);
    say_stop(s);
    size_t before = s->len;
    if (part->causes[0].code != WHY_DISPLAY)
        say_clocks(s, f, " ");
    say_readings(s, f, part, said, s->len > before ? ", " : " ");
}

static void answer_fan(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS];
    int64_t temp = 0, fan = reading_or(f->gpu->fan_permille, 0), target;
    words_gpu(f->gpu, true, name);
    bool has_temp = reading_get(f->gpu->temp_mdegc, &temp);
    if (cause->code == WHY_FAN_STOPPED) {
        say(s, "%s %s at %lld °C, but its fan %s stopped", name, is(f), words_whole(temp, 1000), has(f));
    } else if (cause->code == WHY_FAN_FAILING) {
        if (f->fan_stuck)
            say(s, "%s %s driving its fan at %lld%%, but it %s turning", name, is(f), percent(fan), f->over ? "wasn't" : "isn't");
        else if (f->gpu->fan_permille.state == READING_OK && reading_get(f->gpu->fan_target_permille, &target))
            say(s, "%s %s asking its fan for %lld%%, but it %s turning at only %lld%%", name, is(f), percent(target), is(f),
                percent(fan));
        else
            say(s, "%s %s asking its fan for %s, but it %s turning at only %lld rpm", name, is(f), f->fan_judged.asked, is(f),
                (long long)reading_or(f->gpu->fan_rpm, 0));
        if (has_temp)
            say(s, "; the GPU %s at %lld °C", is(f), words_whole(temp, 1000));
    } else {
        bool sure = f->past.calm_ms >= CALM_LEAST_MS;
        char speed[SHORT_WORDS];
        say(s, "%s %s idle and cool (%lld °C)", name, is(f), words_whole(temp, 1000));
        if (fan_words(f, speed))
            say(s, "; %s", speed);
        say(s, " %s %sa setting (a fan curve or a fixed speed), not heat", is(f), sure ? "" : "very likely ");
    }
}

static void answer_nothing(struct say *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], who[NAME_WORDS], work[NAME_WORDS];
    const char *activity = activity_words(f);
    const struct why_cause *cause = work_cause(part);
    const struct process *p = cause && cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    words_gpu(f->gpu, true, name);
    if (f->load == LOAD_UNKNOWN && f->divided)
        say(s, "%s %s cool; whether its instances %s busy is unknown (no utilization in MIG mode)", name, is(f), are(f));
    else if (f->load == LOAD_UNKNOWN)
        say(s, "%s %s cool and quiet, as expected", name, is(f));
    else if (f->load == LOAD_IDLE)
        say(s, "%s %s idle%s", name, is(f), f->load_basis == BASIS_POWER ? ", judging by its power" : "");
    else
        say(s, "%s %s %s", name, is(f), activity[0] ? activity : "in use");
    if (p && f->load != LOAD_IDLE)
        say(s, ": %s %s %s", words_who(p, who), is(f), words_work(p, work));
    say_stop(s);
    say_readings(s, f, part, f->load == LOAD_IDLE ? SAID_LOAD : 0, " ");
}

static void say_missing(struct say *s, const struct facts *f)
{
    const struct {
        const char *name;
        enum reading_state state;
    } wanted[] = {
        {"utilization", f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES ? READING_OK : f->gpu->util_permille.state},
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
        say(s, f->past.known ? ": no cause fits its readings" : ": the minutes before are not known");
        return;
    }
    say(s, denied ? ": no permission to read its " : ": its ");
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (wanted[i].state != READING_OK) {
            say(s, "%s%s", said == 0 ? "" : said + 1 == missing ? missing > 2 ? ", and " : " and " : ", ", wanted[i].name);
            said++;
        }
    if (!denied)
        say(s, " %s be read%s", cannot(f), f->gpu->util_permille.state == READING_PENDING ? " yet" : "");
}

static void answer_unknown(struct say *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS];
    words_gpu(f->gpu, true, name);
    size_t start = s->len;
    say(s, "%s %s ", name, is(f));
    const char *activity = activity_words(f);
    bool known = activity[0] && f->load_basis != BASIS_POWER;
    if (known)
        say(s, "%s", activity);
    known |= say_readings(s, f, part, known && f->load == LOAD_IDLE ? SAID_LOAD : 0, known ? ", " : "at ") > 0;
    if (known) {
        say(s, "; can't tell why");
    } else {
        s->len = start;
        say(s, "Can't tell what %s %s doing", words_gpu(f->gpu, false, name), is(f));
    }
    say_missing(s, f);
}

static void answer_loading(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], who[NAME_WORDS], bytes[SHORT_WORDS];
    int64_t held;
    say(s, "%s %s loading: %s %s filling its memory", words_gpu(f->gpu, true, name), is(f), words_who(f->loading, who), is(f));
    if (reading_get(f->loading->mem_bytes, &held))
        say(s, " (%s so far)", words_bytes(held, bytes));
}

static void answer_cpu(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], fan[SHORT_WORDS];
    int64_t load, temp;
    say(s, "%s %s %s", words_gpu(f->gpu, true, name), is(f), f->load == LOAD_IDLE ? "idle" : activity_words(f));
    say(s, "; the CPU %s busy", is(f));
    if (reading_get(f->now->host.cpu_permille, &load))
        say(s, " (%lld%%)", percent(load));
    if (reading_get(f->now->host.cpu_temp_mdegc, &temp))
        say(s, " at %lld °C", words_whole(temp, 1000));
    say(s, " and shares its cooling");
    if (f->fan > FAN_OFF && fan_words(f, fan))
        say(s, " (%s)", fan);
}

static void answer_memory(struct say *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS];
    say(s, "%s %s hot: its memory %s at %lld °C.", words_gpu(f->gpu, true, name), is(f), is(f),
        words_whole(f->gpu->temp_memory_mdegc.value, 1000));
    say_readings(s, f, part, 0, " ");
}

static void answer_rest(struct say *s, const struct facts *f, const struct why_part *part)
{
    const struct why_cause *first = &part->causes[0];
    switch (first->code) {
    case WHY_RECENT_LOAD: answer_recent(s, f, part); break;
    case WHY_CONTEXT_HELD:
    case WHY_DISPLAY:
    case WHY_CLOCKS_HELD: answer_clocks(s, f, part); break;
    case WHY_NEIGHBOUR_HEAT: answer_neighbour(s, f, part); break;
    case WHY_FAN_STOPPED:
    case WHY_FAN_FAILING:
    case WHY_FAN_SETTING: answer_fan(s, f, first); break;
    case WHY_LOADING: answer_loading(s, f); break;
    case WHY_CPU_HEAT: answer_cpu(s, f); break;
    case WHY_MEMORY_HOT: answer_memory(s, f, part); break;
    case WHY_NOTHING_UNUSUAL: answer_nothing(s, f, part); break;
    default: answer_unknown(s, f, part); break;
    }
}

/* ---- the line in a list ---- */

static void brief_state(struct why_brief *b, const struct facts *f, const struct why_part *part, struct say *state)
{
    const struct why_cause *first = &part->causes[0];
    char who[NAME_WORDS], ago[SHORT_WORDS];
    struct say doing = SAY(b->doing);
    switch (first->code) {
    case WHY_RECENT_LOAD:
        say(state, "cooling down");
        if (f->past.ended)
            say(&doing, "%s ended %s %s", words_who(&f->past.ended->last, who), words_duration(f->past.ended_ago_ms, ago),
                f->over ? "before" : "ago");
        return;
    case WHY_CONTEXT_HELD:
    case WHY_DISPLAY:
    case WHY_CLOCKS_HELD: {
        struct say whole = SAY(b->doing);
        say_kept(&whole, f, first);
        return;
    }
    case WHY_FAN_STOPPED: say(state, "hot, fan stopped"); return;
    case WHY_FAN_FAILING: say(state, "fan failing"); return;
    case WHY_FAN_SETTING:
        say(state, "idle");
        say(&doing, "the fan follows a setting, not heat");
        return;
    case WHY_LOADING:
        say(state, "loading");
        say(&doing, "%s %s filling its memory", words_who(f->loading, who), is(f));
        return;
    case WHY_AIRFLOW:
        if (f->load == LOAD_IDLE)
            say(state, "%s while idle", f->heat >= HEAT_HOT ? "hot" : "warm");
        break;
    case WHY_NEIGHBOUR_HEAT: say(state, "idle, warmed by a neighbor"); return;
    case WHY_CPU_HEAT: say(state, "idle, warmed by the CPU"); return;
    default: break;
    }
    if (!state->len)
        say(state, "%s", f->load == LOAD_IDLE && !is_troubled(f) ? "idle" : activity_words(f)[0] ? activity_words(f) : "unknown");
    const struct why_cause *work = work_cause(part);
    if (work && f->load != LOAD_IDLE)
        say_work(&doing, f, work);
    else if (work && work->code == WHY_VIDEO_LOAD)
        say_work(&doing, f, work);
}

/* Numbers that differ between GPUs in the same state are apart from its words. */
static void make_brief(const struct facts *f, struct why_part *part)
{
    struct why_brief *b = &part->brief;
    struct say state = SAY(b->state), numbers = SAY(b->numbers);
    bool idle = f->load == LOAD_IDLE && f->heat < HEAT_WARM && f->fan < FAN_RAISED;
    bool fan = part->causes[0].code == WHY_FAN_STOPPED || part->causes[0].code == WHY_FAN_FAILING;
    if (is_troubled(f) && f->load != LOAD_IDLE && !fan) {
        say(&state, f->activity.throttled_by & THROTTLE_HOT ? "thermal throttling" : is_loud(f) ? "loud" : "hot");
        say_readings(&numbers, f, part, SAID_POWER | (is_loud(f) ? 0 : SAID_FAN), "");
        const struct why_cause *work = work_cause(part);
        struct say doing = SAY(b->doing);
        if (work)
            say_work(&doing, f, work);
        return;
    }
    brief_state(b, f, part, &state);
    if (state.len && !idle)
        say_readings(&numbers, f, part, SAID_POWER | (f->fan >= FAN_RAISED && f->load == LOAD_IDLE ? SAID_LOAD : SAID_FAN), "");
}

/* ---- the answer ---- */

static void answer_state(struct say *s, const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    char name[SHORT_WORDS];
    struct say state = SAY(part->brief.state), doing = SAY(part->brief.doing);
    words_gpu(gpu, true, name);
    if (gpu->state == GPU_ASLEEP)
        say(s, "%s %s asleep: it needs no cooling, so the noise %s from something else", name, is(f), f->over ? "came" : "comes");
    else if (gpu->state == GPU_LOST)
        say(s, "%s %s lost: the driver %s reach it anymore", name, is(f), cannot(f));
    else
        say(s, "%s %s be read", name, cannot(f));
    say(&state, "%s", gpu->state == GPU_ASLEEP ? "asleep" : gpu->state == GPU_LOST ? "lost" : "unreadable");
    if (gpu->state != GPU_ASLEEP && gpu->error_message[0]) {
        say(s, " (driver: %.120s)", gpu->error_message);
        say(&doing, "%.120s", gpu->error_message);
    }
}

/* Where no better one was made, the first sentence is the headline. */
static void finish_headline(struct why_part *part, bool trouble)
{
    struct why_brief *b = &part->brief;
    const char *end = strstr(part->answer, ". ");
    b->trouble = trouble;
    if (!trouble)
        b->headline[0] = '\0';
    else if (!b->headline[0])
        str_copy(b->headline, sizeof b->headline,
                 (struct str){part->answer, end ? (size_t)(end - part->answer) : strlen(part->answer) - 1});
}

void answer_gpu(const struct facts *f, struct why_part *part)
{
    struct say s = SAY(part->answer);
    if (f->gpu->state != GPU_OK) {
        answer_state(&s, f, part);
        say_stop(&s);
        finish_headline(part, f->gpu->state != GPU_ASLEEP);
        return;
    }
    const struct why_cause *first = &part->causes[0];
    bool broken = f->activity.code == ACTIVITY_FAILING;
    char name[SHORT_WORDS];
    if (broken)
        say(&s, "%s %s failing memory. ", words_gpu(f->gpu, true, name), f->over ? "had" : "has");
    switch (first->code) {
    case WHY_COMPUTE_LOAD:
    case WHY_GRAPHICS_LOAD:
    case WHY_VIDEO_LOAD:
    case WHY_SHARED_LOAD:
    case WHY_MINING:
    case WHY_HIDDEN_LOAD:
    case WHY_INSTANCE_LOAD:
    case WHY_HEAT_LIMIT:
    case WHY_HOTSPOT:
    case WHY_POWER_LIMIT:
    case WHY_MEMORY_TRAFFIC: answer_load(&s, f, part); break;
    case WHY_AIRFLOW:
        if (f->load == LOAD_IDLE)
            answer_airflow(&s, f, part);
        else
            answer_load(&s, f, part);
        break;
    default: answer_rest(&s, f, part); break;
    }
    say_stop(&s);
    for (size_t i = first->code == WHY_HOTSPOT || first->code == WHY_HEAT_LIMIT ? 0 : 1, more = 0;
         i < part->cause_count && more < 2; i++)
        more += say_also(&s, f, part, &part->causes[i]);
    if (has_symptom(f, SYMPTOM_MEMORY_FULL))
        say(&s, " Its memory %s full.", is(f));
    make_brief(f, part);
    if (broken) {
        str_copy(part->brief.state, sizeof part->brief.state, STR("failing memory"));
        part->brief.headline[0] = '\0'; /* the first sentence */
    }
    finish_headline(part, broken || is_troubled(f) || first->code == WHY_FAN_STOPPED || first->code == WHY_FAN_FAILING ||
                              first->code == WHY_AIRFLOW);
}
