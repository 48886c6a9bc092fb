/* SPDX-License-Identifier: Apache-2.0
 * The moment against what is usual for this GPU: hotter at the same power means that the heat gets away less well than it did.
 */
#include <string.h>

#include "insight/area/area.h"
#include "model/finding_code.h"

/* Heat of a higher power is not gone before so long. */
enum { SETTLED_MS = 300000 };

/* It drew notably more within the last minutes: what it has is the heat of then. */
static bool cools_down(const struct facts *f)
{
    const struct recent_gpu *past = activity_past(f->now, f->gpu, f->recent);
    int64_t power, then;
    if (!reading_get(f->gpu->power_mw, &power))
        return true;
    for (size_t i = 0; past && i < past->count; i++) {
        const struct recent_point *p = &past->points[i];
        if (f->now->taken_at.ms - p->at.ms <= SETTLED_MS && reading_get(p->power_mw, &then) && then > power + power / 4 + 20000)
            return true;
    }
    return false;
}

/* The cause that other rules have made of it already, to be made stronger; it comes back into the list with cause_end(). */
static void take_back(struct cause_draft *d, struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++) {
        if (part->causes[i].code != FINDING_AIRFLOW)
            continue;
        d->cause = part->causes[i];
        part->cause_count--;
        memmove(&part->causes[i], &part->causes[i + 1], (part->cause_count - i) * sizeof part->causes[0]);
        return;
    }
}

static void support_usual_heat(struct cause_draft *d, const struct usual *u)
{
    support(d, 0.7 * u->confidence, "%lld °C is usual %s (%lld to %lld °C on %d days)", words_whole(u->temp_mdegc.value, 1000),
            words_at_power(u), words_whole(u->temp_low_mdegc.value, 1000), words_whole(u->temp_high_mdegc.value, 1000), u->days);
    if (u->ambient_mdegc.state == READING_OK)
        support(d, 0, "in air of %lld °C", words_whole(u->ambient_mdegc.value, 1000));
}

static void support_drift(struct cause_draft *d, const struct usual *u)
{
    char words[DRIFT_WORDS];
    if (u->drift.rising)
        support(d, 0.4, "%s", baseline_drift_words(&u->drift, words));
}

static void rule_hot(const struct facts *f, struct why_part *part)
{
    const struct usual *u = &part->usual;
    struct cause_draft d;
    int64_t temp, fan;
    if (!reading_get(f->gpu->temp_mdegc, &temp))
        return;
    cause_begin(&d, part, FINDING_AIRFLOW);
    take_back(&d, part);
    support_usual_heat(&d, u);
    support_drift(&d, u);
    support_power(&d, f, 0.1);
    if (u->fan_behind && reading_get(f->gpu->fan_permille, &fan)) {
        doubt(&d, 0.5, "its fan is at %lld%%; %lld%% is usual at this power", percent(fan), percent(u->fan_permille.value));
        cause_end(&d, " %s at %lld °C; %lld °C is usual at this power, with a faster fan", is(f), words_whole(temp, 1000),
                  words_whole(u->temp_mdegc.value, 1000));
        return;
    }
    cause_end(&d, " %s at %lld °C; %lld °C is usual %s: airflow or dust", is(f), words_whole(temp, 1000),
              words_whole(u->temp_mdegc.value, 1000), words_at_power(u));
}

static void rule_loud(const struct facts *f, struct why_part *part)
{
    const struct usual *u = &part->usual;
    struct cause_draft d;
    int64_t fan;
    if (find_cause(part, FINDING_AIRFLOW) || !reading_get(f->gpu->fan_permille, &fan))
        return;
    cause_begin(&d, part, FINDING_AIRFLOW);
    support(&d, 0.6 * u->confidence, "%lld%% is usual at this power (%d days)", percent(u->fan_permille.value), u->days);
    support_drift(&d, u);
    support_power(&d, f, 0.1);
    cause_end(&d, ": its fan %s at %lld%%; %lld%% is usual at this power: airflow, dust or a warm room", is(f), percent(fan),
              percent(u->fan_permille.value));
}

/* Nothing is wrong with a GPU that is hotter like all others of its host. */
static void rule_warm_room(const struct facts *f, struct why_part *part)
{
    const struct usual *u = &part->usual;
    struct cause_draft d;
    cause_begin(&d, part, FINDING_AIRFLOW);
    support_usual_heat(&d, u);
    doubt(&d, 0.65, "the other GPUs of this host are hotter than usual, too");
    cause_end(&d, " %s at %lld °C; %lld °C is usual %s, and the other GPUs are hotter than usual, too: a warm room or case", is(f),
              words_whole(f->gpu->temp_mdegc.value, 1000), words_whole(u->temp_mdegc.value, 1000), words_at_power(u));
}

static void rules_usual(const struct facts *f, struct why_part *part)
{
    struct usual *u = &part->usual;
    if (!u->too_hot && !u->too_fast && !u->warm_room)
        return;
    if (cools_down(f)) {
        u->too_hot = u->too_fast = u->warm_room = false;
        return;
    }
    if (u->warm_room)
        rule_warm_room(f, part);
    else if (u->too_hot)
        rule_hot(f, part);
    else
        rule_loud(f, part);
}

const struct area area_hotter = {.weigh = rules_usual};
