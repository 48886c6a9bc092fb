/* SPDX-License-Identifier: Apache-2.0
 * A GPU that is not working, or whose trouble is not its work: cooling down, kept from idling, its fan, heat from elsewhere.
 */

#include "base/cleanup.h"
#include "insight/view/answer.h"

static void answer_recent(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], who[PROCESS_WORDS], ago[SHORT_WORDS];
    const char *then = f->over ? "before" : "ago";
    int64_t temp;
    text_append(s, "%s %s cooling down: ", words_gpu(f->gpu, true, name), is(f));
    if (f->past.ended)
        text_append(s, "%s%s ended %s %s.", process_words(&f->past.ended->last, LONG_NAME, who), f->over ? " had" : "",
                    words_duration(f->past.ended_ago_ms, ago), then);
    else
        text_append(s, "utilization %s %lld%% until %s %s.", f->over ? "had been" : "was", percent(f->past.fell_from_permille),
                    words_duration(f->past.fell_ago_ms, ago), then);
    unsigned said = SAID_POWER | SAID_LOAD;
    if (f->past.temp_falls && reading_get(f->gpu->temp_mdegc, &temp)) {
        said |= SAID_HEAT;
        text_append(s, " %lld °C, down from %lld °C", words_whole(temp, 1000), words_whole(f->past.peak_temp_mdegc, 1000));
    }
    say_readings(s, f, part, said, said & SAID_HEAT ? ", " : " ");
}

void answer_airflow(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], ago[SHORT_WORDS];
    int64_t temp, power;
    const char *causes = "dust, a blocked intake, a warm room or case", *be = f->over ? "have been" : "be";
    bool hot = f->heat >= HEAT_HOT || reading_or(f->gpu->temp_mdegc, 0) >= FAN_NEEDED_FROM;
    text_append(s, "%s %s %s", words_gpu(f->gpu, true, name), is(f), hot ? "hot" : "warm");
    if (reading_get(f->gpu->temp_mdegc, &temp))
        text_append(s, " (%lld °C)", words_whole(temp, 1000));
    text_append(s, " while idle");
    if (reading_get(f->gpu->power_mw, &power))
        text_append(s, " at %lld W", words_whole(power, 1000));
    if (f->past.calm_ms >= CALM_LEAST_MS)
        text_append(s, ": very likely airflow (%s)", causes);
    else if (f->past.fell)
        text_append(s, ": it may %s poor airflow (%s), as it %s hardly cooled down since the work ended %s %s", be, causes, has(f),
                    words_duration(f->past.fell_ago_ms, ago), f->over ? "before" : "ago");
    else
        text_append(s, ": it may %s poor airflow (%s), or work that ended unseen", be, causes);
    text_stop(s);
    if (f->fan == FAN_NONE)
        text_append(s, " It has no fan of its own");
    else
        say_readings(s, f, part, SAID_ALL & ~(unsigned)SAID_FAN, " ");
}

static void answer_neighbor(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], other[SHORT_WORDS];
    int64_t temp, power;
    text_append(s, "%s %s idle, but warmed by %s", words_gpu(f->gpu, true, name), is(f), words_gpu(f->neighbor, false, other));
    if (reading_get(f->neighbor->temp_mdegc, &temp))
        text_append(s, ", which %s busy at %lld °C", is(f), words_whole(temp, 1000));
    if (reading_get(f->neighbor->power_mw, &power))
        text_append(s, " and %lld W", words_whole(power, 1000));
    text_stop(s);
    say_readings(s, f, part, SAID_LOAD, " ");
}

/* "P2, 1695 MHz" */
static void say_clocks(struct text *s, const struct facts *f, const char *lead)
{
    int64_t value;
    size_t count = 0;
    if (reading_get(f->gpu->pstate, &value))
        text_append(s, "%sP%lld", count++ ? ", " : lead, (long long)value);
    if (!f->clocks_by_state && reading_get(f->gpu->clock_graphics_khz, &value))
        text_append(s, "%s%lld MHz", count++ ? ", " : lead, words_whole(value, 1000));
}

/* "kept from idling at 38 W by python3 (bob), which is holding 7.0 GiB" */
unsigned say_kept(struct text *s, const struct facts *f, const struct why_cause *cause)
{
    char who[PROCESS_WORDS], bytes[SHORT_WORDS];
    int64_t power, held;
    unsigned said = 0;
    const struct process *p = cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    if (f->activity.code == ACTIVITY_LIGHTLY_LOADED)
        text_append(s, "lightly loaded and ");
    text_append(s, "kept from idling");
    if (reading_get(f->gpu->power_mw, &power))
        said = text_append(s, " at %lld W", words_whole(power, 1000)) ? SAID_POWER : 0;
    if (cause->code == FINDING_DISPLAY)
        text_append(s, " by its displays, which hold the memory clock at %lld MHz",
                    words_whole(f->gpu->clock_memory_khz.value, 1000));
    else if (p && reading_get(p->mem_bytes, &held))
        text_append(s, " by %s, which %s%s %s", process_words(p, LONG_NAME, who),
                    !process_stands_stopped(p) ? ""
                    : f->over                  ? "was stopped and "
                                               : "is stopped and ",
                    f->over ? "held" : "holds", words_bytes(held, bytes));
    else if (p)
        text_append(s, " by %s", process_words(p, LONG_NAME, who));
    else if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_APP_CLOCKS)
        text_append(s, " by clocks that are set to stay high");
    else
        text_append(s, " by clocks that stay high; no process %s visible that asks for it", is(f));
    return said;
}

static void answer_clocks(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS];
    text_append(s, "%s %s ", words_gpu(f->gpu, true, name), is(f));
    unsigned said = say_kept(s, f, &part->causes[0]);
    text_stop(s);
    size_t before = s->len;
    if (part->causes[0].code != FINDING_DISPLAY)
        say_clocks(s, f, " ");
    say_readings(s, f, part, said, s->len > before ? ", " : " ");
}

static void answer_fan(struct text *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS];
    int64_t temp = 0, fan = reading_or(f->gpu->fan_permille, 0), target;
    words_gpu(f->gpu, true, name);
    bool has_temp = reading_get(f->gpu->temp_mdegc, &temp);
    if (cause->code == FINDING_FAN_STOPPED) {
        text_append(s, "%s %s at %lld °C, but its fan %s stopped", name, is(f), words_whole(temp, 1000), has(f));
    } else if (cause->code == FINDING_FAN_FAILING) {
        if (f->fan_stuck)
            text_append(s, "%s %s driving its fan at %lld%%, but it %s turning", name, is(f), percent(fan),
                        f->over ? "wasn't" : "isn't");
        else if (f->gpu->fan_permille.state == READING_OK && reading_get(f->gpu->fan_target_permille, &target))
            text_append(s, "%s %s asking its fan for %lld%%, but it %s turning at only %lld%%", name, is(f), percent(target), is(f),
                        percent(fan));
        else
            text_append(s, "%s %s asking its fan for %s, but it %s turning at only %lld rpm", name, is(f), f->fan_judged.asked,
                        is(f), (long long)reading_or(f->gpu->fan_rpm, 0));
        if (has_temp)
            text_append(s, "; the GPU %s at %lld °C", is(f), words_whole(temp, 1000));
    } else {
        bool sure = f->past.calm_ms >= CALM_LEAST_MS;
        char speed[SHORT_WORDS];
        text_append(s, "%s %s idle and cool (%lld °C)", name, is(f), words_whole(temp, 1000));
        if (words_fan_speed(f, speed))
            text_append(s, "; %s", speed);
        text_append(s, " %s %sa setting (a fan curve or a fixed speed), not heat", is(f), sure ? "" : "very likely ");
    }
}

static void answer_nothing(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], who[PROCESS_WORDS], work[NAME_WORDS];
    const char *activity = words_activity(f);
    const struct why_cause *cause = find_work_cause(part);
    const struct process *p = cause && cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    words_gpu(f->gpu, true, name);
    if (f->load == LOAD_UNKNOWN && f->divided)
        text_append(s, "%s %s cool; whether its instances %s busy is unknown (no utilization in MIG mode)", name, is(f), are(f));
    else if (f->load == LOAD_UNKNOWN)
        text_append(s, "%s %s cool and quiet, as expected", name, is(f));
    else if (f->load == LOAD_IDLE)
        text_append(s, "%s %s idle%s", name, is(f), f->load_basis == BASIS_POWER ? ", judging by its power" : "");
    else
        text_append(s, "%s %s %s", name, is(f), activity[0] ? activity : "in use");
    if (p && f->load != LOAD_IDLE)
        text_append(s, ": %s %s %s", process_words(p, WITH_OWNER, who), is(f), words_work(p, work));
    text_stop(s);
    say_readings(s, f, part, f->load == LOAD_IDLE ? SAID_LOAD : 0, " ");
}

static void say_missing(struct text *s, const struct facts *f)
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
        bool warm = f->load == LOAD_IDLE && f->heat >= HEAT_LUKEWARM;
        text_append(s, f->past.known ? ": no cause fits its readings"
                       : warm        ? ": the minutes before are not known; work may just have ended, or its heat doesn't get away"
                                     : ": the minutes before are not known");
        return;
    }
    text_append(s, denied ? ": no permission to read its " : ": its ");
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (wanted[i].state != READING_OK) {
            text_append(s, "%s%s", said == 0 ? "" : said + 1 == missing ? missing > 2 ? ", and " : " and " : ", ", wanted[i].name);
            said++;
        }
    if (!denied)
        text_append(s, " %s be read%s", cannot(f), f->gpu->util_permille.state == READING_PENDING ? " yet" : "");
}

static void answer_unknown(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS];
    words_gpu(f->gpu, true, name);
    size_t start = s->len;
    text_append(s, "%s %s ", name, is(f));
    const char *activity = words_activity(f);
    bool known = activity[0] && f->load_basis != BASIS_POWER;
    if (known)
        text_append(s, "%s", activity);
    known |= say_readings(s, f, part, known && f->load == LOAD_IDLE ? SAID_LOAD : 0, known ? ", " : "at ") > 0;
    if (known) {
        text_append(s, "; can't tell why");
    } else {
        s->len = start;
        text_append(s, "Can't tell what %s %s doing", words_gpu(f->gpu, false, name), is(f));
    }
    say_missing(s, f);
}

static void answer_loading(struct text *s, const struct facts *f)
{
    char name[SHORT_WORDS], who[PROCESS_WORDS], bytes[SHORT_WORDS];
    int64_t held;
    text_append(s, "%s %s loading: %s %s filling its memory", words_gpu(f->gpu, true, name), is(f),
                process_words(f->loading, LONG_NAME, who), is(f));
    if (reading_get(f->loading->mem_bytes, &held))
        text_append(s, " (%s so far)", words_bytes(held, bytes));
}

static void answer_cpu(struct text *s, const struct facts *f)
{
    char name[SHORT_WORDS], fan[SHORT_WORDS];
    int64_t load, temp;
    text_append(s, "%s %s %s", words_gpu(f->gpu, true, name), is(f), f->load == LOAD_IDLE ? "idle" : words_activity(f));
    text_append(s, "; the CPU %s busy", is(f));
    if (reading_get(f->now->host.cpu_permille, &load))
        text_append(s, " (%lld%%)", percent(load));
    if (reading_get(f->now->host.cpu_temp_mdegc, &temp))
        text_append(s, " at %lld °C", words_whole(temp, 1000));
    text_append(s, " and shares its cooling");
    if (f->fan > FAN_OFF && words_fan_speed(f, fan))
        text_append(s, " (%s)", fan);
}

static void answer_memory(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS];
    text_append(s, "%s %s hot: its memory %s at %lld °C.", words_gpu(f->gpu, true, name), is(f), is(f),
                words_whole(f->gpu->temp_memory_mdegc.value, 1000));
    say_readings(s, f, part, 0, " ");
}

void answer_idle(struct text *s, const struct facts *f, const struct why_part *part)
{
    const struct why_cause *first = &part->causes[0];
    switch (first->code) {
    case FINDING_RECENT_LOAD: answer_recent(s, f, part); break;
    case FINDING_CONTEXT_HELD:
    case FINDING_DISPLAY:
    case FINDING_CLOCKS_HELD: answer_clocks(s, f, part); break;
    case FINDING_NEIGHBOUR_HEAT: answer_neighbor(s, f, part); break;
    case FINDING_FAN_STOPPED:
    case FINDING_FAN_FAILING:
    case FINDING_FAN_SETTING: answer_fan(s, f, first); break;
    case FINDING_LOADING: answer_loading(s, f); break;
    case FINDING_CPU_HEAT: answer_cpu(s, f); break;
    case FINDING_MEMORY_HOT: answer_memory(s, f, part); break;
    case FINDING_NOTHING_UNUSUAL: answer_nothing(s, f, part); break;
    default: answer_unknown(s, f, part); break;
    }
}
