/* SPDX-License-Identifier: Apache-2.0
 * Programs that mine, told by their names or by the pool in their command lines: alone or among others.
 */
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "model/finding_code.h"

/* What says so: "its name", "the mining pool in its command line"; NULL: nothing. */
static const char *miner_sign(const struct process *p)
{
    /* Programs that do nothing but mine; a whole name, so that "t-rex-game" is not accused. */
    static const char *const miners[] = {
        "t-rex",          "xmrig",       "ethminer", "nbminer",      "lolminer",           "phoenixminer",
        "gminer",         "miniz",       "cgminer",  "teamredminer", "claymore",           "nanominer",
        "trex",           "rigel",       "bminer",   "wildrig",      "wildrig-multi",      "srbminer",
        "srbminer-multi", "kawpowminer", "bzminer",  "onezerominer", "nicehashquickminer", "excavator"};
    static const char *const pools[] = {"stratum+tcp", "stratum+ssl", "stratum1+", "stratum2+", "ethproxy+", NULL};
    bool by_name = false, by_pool = false;
    for (size_t i = 0; i < ARRAY_LEN(miners); i++)
        by_name |= strcasecmp(p->name, miners[i]) == 0;
    for (size_t i = 0; pools[i]; i++)
        by_pool |= strcasestr(p->command, pools[i]) != NULL;
    if (by_name)
        return by_pool ? "its name and the mining pool in its command line" : "its name";
    return by_pool ? "the mining pool in its command line" : NULL;
}

bool rule_miner(const struct facts *f, struct why_part *part)
{
    const char *sign = miner_sign(f->workers.first);
    if (sign)
        weigh_program(f, part, FINDING_MINING, "mining", sign);
    return sign;
}

/* A miner among those who share the GPU is worth a line of its own. */
void rule_miner_among(const struct facts *f, struct why_part *part)
{
    const struct workers *w = &f->workers;
    const struct process *p = miner_sign(w->first) ? w->first : w->second && miner_sign(w->second) ? w->second : NULL;
    char who[PROCESS_WORDS];
    struct cause_draft d;
    if (!p)
        return;
    cause_begin(&d, part, FINDING_MINING);
    cause_process(&d, p);
    support_share(&d, f, p);
    support(&d, 0.5, "mining, judging by %s", miner_sign(p));
    cause_end(&d, ": %s %s mining on it, among others", process_words(p, LONG_NAME, who), is(f));
}

bool say_mining(struct text *s, const struct facts *f, const struct process *p)
{
    char who[PROCESS_WORDS];
    return text_append(s, "%s %s mining, judging by %s", process_words(p, WITH_OWNER, who), is(f), miner_sign(p));
}

static void remedy_mining(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    (void)f;
    if (cause->code == FINDING_MINING)
        remedy_add(part, REMEDY_LOOK, "If you did not start it, the host may be misused: check who started process %d: ps -fp %d",
                   (int)cause->pid, (int)cause->pid);
}

const struct area area_mining = {.remedy = remedy_mining};
