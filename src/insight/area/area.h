/* SPDX-License-Identifier: Apache-2.0
 * Areas: pure functions from the facts of one GPU to findings, one file for each area. All thresholds of an area are in its
 * file or in insight/facts/levels.h. Rules weigh causes against each other, line of evidence by line of evidence; the others find
 * what needs no weighing.
 */
#pragma once

#include "insight/area/part.h"
#include "insight/facts/facts.h"
#include "insight/facts/words.h"

struct forecast_gpu;

/* ---- causes ----
 * A rule begins a cause, adds evidence line by line, and ends it; each line raises the confidence by its weight
 * (c = 1 - (1 - c)(1 - weight)), each doubt lowers it by its factor. So confidence is nothing but its evidence. */

/* Below this a cause is not worth a line; from the second on it is worth the answer. */
#define CONFIDENCE_LEAST 0.05
#define CONFIDENCE_MOST 0.97 /* nothing is certain */
#define CONFIDENCE_ANSWER 0.3
#define CONFIDENCE_FAR 0.3 /* trouble too far ahead for a word; it only takes the claim of calm away */

/* A cause in the making. */
struct cause_draft {
    struct why_part *part;
    struct why_cause cause;
};

void cause_begin(struct cause_draft *d, struct why_part *part, finding_code code);
void cause_process(struct cause_draft *d, const struct process *p);
/* A line that weighs nothing. */
void cause_evidence(struct why_cause *cause, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
void support(struct cause_draft *d, double weight, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
/* format may be NULL: a doubt without a line */
void doubt(struct cause_draft *d, double factor, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
/* Adds it to the list; the weakest makes room. Their order comes from the verdict. `format` is the headline behind "GPU 1", or the
 * whole one for the host:
 * ": its fan has stopped (93 °C)", " is throttling (93 °C)". Every surface says it in these words. */
void cause_end(struct cause_draft *d, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

const struct why_cause *find_cause(const struct why_part *part, finding_code code);
double best_confidence(const struct why_part *part);

/* Evidence that many rules share; each adds nothing where the reading is absent. */
void support_load(struct cause_draft *d, const struct facts *f, double weight);
void support_power(struct cause_draft *d, const struct facts *f, double weight);
void support_temperature(struct cause_draft *d, const struct facts *f, double weight);
void support_fan(struct cause_draft *d, const struct facts *f, double weight);
void support_calm(struct cause_draft *d, const struct facts *f, double weight); /* it was idle for a while */
/* The same, with a doubt where the minutes before are not known, or work ended in them. */
void weigh_past(struct cause_draft *d, const struct facts *f, double known, double unknown);
void support_share(struct cause_draft *d, const struct facts *f, const struct process *p); /* what a process has of it */
bool recently_busy(const struct facts *f);
bool draws_little(const struct facts *f);

/* ---- findings on their way to a verdict: the same fact found twice is one, with the higher severity ---- */

struct collection {
    const struct snapshot *now;
    struct verdict *verdict;
    size_t most; /* findings that it has room for */
};

/* Room for a verdict about this snapshot. -ENOMEM. */
int collection_init(struct collection *c, const struct snapshot *now);

/* NULL: no more room. */
struct finding *collect_finding(struct collection *c, const struct finding *found);
/* `format` is the headline behind "GPU 1". NULL: no more room. */
struct finding *collect(struct collection *c, const struct gpu *gpu, finding_code code, enum severity severity, double confidence,
                        int32_t pid, const char *format, ...) __attribute__((format(gnu_printf, 7, 8)));

/* Makes findings of the causes that were weighed. `gpu` may be NULL: the host. */
void collect_causes(struct collection *c, const struct gpu *gpu, struct why_part *part);

/* ---- what to do ---- */

/* Advice of several findings. */
#define ADVICE_RESET remedy_row(REMEDY_RESET)->text
#define ADVICE_REPLACE remedy_row(REMEDY_REPLACE)->text
#define ADVICE_AGAIN remedy_row(REMEDY_REPLACE_AGAIN)->text
#define ADVICE_DOCTOR remedy_row(REMEDY_DOCTOR)->text

/* Adds one for part->remedy_root, unless the same action is there already. `format` may be NULL: the sentence of its row. */
void remedy_add(struct why_part *part, enum remedy_code code, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
void remedy_add_own(struct why_part *part, finding_code root); /* that of remedies.def */
/* Before those that are less useful; `advice` NULL: none. */
void remedy_insert(struct why_part *part, size_t at, enum remedy_code code, const char *advice);
const char *advice_for(const struct finding *f);                  /* its own, else that of its kind; NULL: none */
void suggest_power(const struct facts *f, struct why_part *part); /* a lower power limit, where work is felt */
void suggest_limits(const struct facts *f, struct why_part *part);
bool is_felt(const struct facts *f);     /* advice needs its finding */
bool may_control(const struct facts *f); /* whirr itself may change settings, and that has a way back */

/* ---- words that several areas use ---- */

/* Readings that a sentence holds already. */
enum { SAID_LOAD = 1, SAID_POWER = 2, SAID_HEAT = 4, SAID_FAN = 8 };

static inline bool has_symptom(const struct facts *f, enum symptom symptom)
{
    return f->activity.symptoms & 1u << symptom;
}

/* "fan 62%", "fan 1850 rpm", "fan off"; false where there is nothing to say. */
bool words_fan_speed(const struct facts *f, char out[SHORT_WORDS]);
const char *words_activity(const struct facts *f); /* "busy in bursts"; "" unknown */
/* "78%, 280 W, 71 °C, fan 62%": what `said` does not hold already. Returns how many there are. */
size_t say_readings(struct text *s, const struct facts *f, const struct why_part *part, unsigned said, const char *lead);
/* "loud (fan 100%)", "busy". Returns what was said with it. */
unsigned say_state(struct text *s, const struct facts *f);
bool sounds_loud(const struct facts *f);
bool is_troubled(const struct facts *f); /* say_state names a symptom */
/* ", normal for this work: like its 7 siblings", where it may be said. */
void say_normal(struct text *s, const struct facts *f, const struct why_part *part);
const char *words_heat(const struct gpu *gpu, char out[SHORT_WORDS]); /* " (83 °C)"; "" unknown */
const struct why_cause *find_work_cause(const struct why_part *part); /* NULL: none */
/* "train.py (alice) is training"; false: the cause is no work */
bool say_work(struct text *s, const struct facts *f, const struct why_cause *cause);

bool holds_more(const struct process *p, const struct process *than); /* of the memory; `than` may be NULL */
/* "ffmpeg (jellyfin) is encoding video", with these parts of a name (enum process_part). */
bool say_video(struct text *s, const struct facts *f, unsigned with);
/* One program does most of what is done: `doing` is its work, `sign` what says so beside the readings; NULL: nothing does. */
void weigh_program(const struct facts *f, struct why_part *part, finding_code code, const char *doing, const char *sign);
bool rule_miner(const struct facts *f, struct why_part *part); /* false: that program does not mine */
bool say_mining(struct text *s, const struct facts *f, const struct process *p);
void rule_miner_among(const struct facts *f, struct why_part *part);

/* How an unusual temperature is compared */
static inline const char *words_at_power(const struct usual *u)
{
    return u->at_more_power ? "even at more power" : "at this power";
}

/* ---- the areas ---- */

/* What an area owns, as far as it has it. Rules weigh causes against each other; what needs no weighing is found. */
struct area {
    void (*weigh)(const struct facts *f, struct why_part *part);
    void (*find)(const struct facts *f, struct collection *c);
    void (*foresee)(const struct forecast_gpu *g, const struct gpu *gpu, struct collection *c);
    /* The answer where the first cause is its own; false: it is another's. */
    bool (*say)(struct text *s, const struct facts *f, struct why_part *part);
    void (*remedy)(const struct facts *f, struct why_part *part, const struct why_cause *cause);
};

extern const struct area area_errors, area_mining, area_work, area_video, area_idle, area_heat, area_power, area_fan, area_limit,
    area_hotter, area_clocks, area_link, area_siblings, area_memory, area_servers, area_lease, area_changed, area_check,
    area_no_work, area_trust;
/* In the order in which they are asked, NULL at the end. The last one is weighed when all others were: it claims calm. */
extern const struct area *const all_areas[];

/* Of a GPU that is not working, or not there: instead of all others. */
void rules_state(const struct facts *f, struct why_part *part);
void rule_asleep(const struct facts *f, struct why_part *part); /* likewise */
void rules_host(const struct snapshot *now, struct why_part *part);
void rule_accelerators(const struct snapshot *now, struct why_part *part); /* NPUs and accelerators that are missing */
void remedy_host(struct why_part *part, finding_code code);
/* What keeps GPUs from being read. */
void rules_source(const struct snapshot *now, struct why_part *part);
bool remedy_source(struct why_part *part, finding_code code); /* false: the code is about something else */
void detect_job(const struct facts *f, struct collection *c); /* a rank that the others of its job wait for */

/* ---- what only a memory of a GPU can know (verdict/health_memory.h): it says what was, and the area judges ---- */

/* An error that a driver or the kernel log told of. */
struct logged_fault {
    int64_t ago_ms;
    uint32_t times;
    bool cured, returned; /* a reset came after it; it is back after one */
};
/* `ret` has its code, its number, its GPU, and gets the rest. False: it is none that is known, or nothing any more. */
bool judge_logged(const struct logged_fault *l, struct finding *ret);
void find_returned(const struct gpu *gpu, struct wall first, struct wall last, struct collection *c); /* it was lost then */
/* Another GPU, `gone`, was in its place. */
void find_replaced(const struct gpu *gpu, const struct gpu_id *gone, const char *serial, struct wall seen, struct collection *c);
void find_replays(const struct gpu *gpu, double per_min, struct wall since, struct collection *c);
bool link_is_slow(const struct gpu *gpu);                                                         /* PCIe, although the GPU works */
void find_slow_link(const struct gpu *gpu, struct wall since, struct collection *c);              /* since 0: it is not */
void find_missing_links(const struct gpu *gpu, int64_t most_seen, struct collection *c);          /* to other GPUs */
void detect_cooling(const struct gpu *gpu, const struct baseline_drift *d, struct collection *c); /* hotter month by month */

bool is_stuck_busy(const struct facts *f); /* for a minute, while the engine time of all programs stands still */
