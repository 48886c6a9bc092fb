/* SPDX-License-Identifier: Apache-2.0
 * Readings, durations and processes in words. A reading that is absent has no words here.
 */
#include "insight/why/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

bool say(struct say *s, const char *format, ...)
{
    va_list args;
    size_t left = s->size - s->len;
    va_start(args, format);
    int len = vsnprintf(s->at + s->len, left, format, args);
    va_end(args);
    if (len < 0 || (size_t)len + 2 > left) {
        s->at[s->len] = '\0';
        return false;
    }
    s->len += (size_t)len;
    return true;
}

void say_stop(struct say *s)
{
    if (s->len && s->at[s->len - 1] != '.' && s->len + 2 <= s->size) {
        s->at[s->len++] = '.';
        s->at[s->len] = '\0';
    }
}

const char *words_gpu(const struct gpu *gpu, bool begins, char out[SHORT_WORDS])
{
    snprintf(out, SHORT_WORDS, "%sGPU %d", gpu->simulated ? begins ? "Simulated " : "simulated " : "", gpu->index);
    return out;
}

/* Names can be long; a sentence has room for their beginning. */
static void begin_of(char *out, size_t size, const char *text)
{
    str_copy_clean(out, size, str_from(text));
    size_t len = strlen(out);
    if (strlen(text) < size)
        return;
    const char *ellipsis = "…";
    struct str kept = {out, len > strlen(ellipsis) ? len - strlen(ellipsis) : 0};
    char cut[64];
    str_copy(cut, MIN_OF(sizeof cut, kept.len + 1), (struct str){out, len});
    kept = str_trim(str_from(cut));
    snprintf(out, size, STR_FMT "%s", STR_ARG(kept), ellipsis);
}

const char *words_process(const struct process *p, char out[NAME_WORDS])
{
    char name[41], user[25], container[33];
    begin_of(name, sizeof name, p->name);
    begin_of(user, sizeof user, p->user);
    begin_of(container, sizeof container, p->container);
    struct say s = {out, NAME_WORDS, 0};
    out[0] = '\0';
    if (name[0])
        say(&s, "%s (pid %d", name, (int)p->pid);
    else
        say(&s, "process %d", (int)p->pid);
    const char *open = name[0] ? ", " : " (";
    if (user[0])
        say(&s, "%s%s", open, user);
    if (user[0])
        open = ", ";
    if (container[0])
        say(&s, "%scontainer %s", open, container);
    if (container[0])
        open = ", ";
    if (!p->visible)
        say(&s, "%soutside this container or PID namespace", open);
    if (name[0] || user[0] || container[0] || !p->visible)
        say(&s, ")");
    return out;
}

/* Words that give a kind of work away, in the command line or the name. */
static bool mentions(const struct process *p, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(p->command, *words) || strcasestr(p->name, *words))
            return true;
    return false;
}

static const char *const training[] = {"train", "finetune", "fine-tune", "fine_tune", "torchrun", "deepspeed", NULL};
static const char *const serving[] = {"ollama", "vllm",   "llama-server", "llama.cpp", "text-generation", "triton",
                                      "sglang", "kobold", "llama-box",    "lmstudio",  "lm-studio",       NULL};

/* Programs that have a window and compute all the same. */
static const char *const computing[] = {"blender", "resolve", "ffmpeg", "obs", "python", "handbrake", "matlab", NULL};

bool words_draws(const struct process *p)
{
    return p->type == PROCESS_GRAPHICS ||
           (p->type == PROCESS_BOTH && !p->model[0] && !mentions(p, training) && !mentions(p, serving) && !mentions(p, computing));
}

const char *words_work(const struct process *p, char out[NAME_WORDS])
{
    char model[49];
    begin_of(model, sizeof model, p->model);
    if (mentions(p, training))
        snprintf(out, NAME_WORDS, model[0] ? "trains %s" : "trains", model);
    else if (model[0])
        snprintf(out, NAME_WORDS, "%s %s", mentions(p, serving) ? "serves" : "runs", model);
    else if (mentions(p, serving))
        snprintf(out, NAME_WORDS, "serves a model");
    else
        snprintf(out, NAME_WORDS, "%s", words_draws(p) ? "draws" : "computes");
    return out;
}

const char *words_miner(const struct process *p)
{
    /* Programs that do nothing but mine; a whole name, so that "t-rex-game" is not accused. */
    static const char *const miners[] = {"t-rex",        "xmrig",         "ethminer", "nbminer",        "lolminer",
                                         "phoenixminer", "gminer",        "miniz",    "cgminer",        "teamredminer",
                                         "claymore",     "nanominer",     "trex",     "rigel",          "bminer",
                                         "wildrig",      "wildrig-multi", "srbminer", "srbminer-multi", "kawpowminer"};
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

const char *words_absent(enum reading_state state)
{
    switch (state) {
    case READING_DENIED: return "permission is missing to read it";
    case READING_ASLEEP: return "reading it would wake the card";
    case READING_FAILED: return "the driver failed to read it";
    case READING_PENDING: return "needs a second look";
    case READING_UNREAD: return "was not read";
    case READING_UNSUPPORTED:
    case READING_OK: break;
    }
    return "not given by this card or driver";
}

const char *words_effects(const struct facts *f, char out[NAME_WORDS])
{
    int64_t temp, fan;
    struct say s = {out, NAME_WORDS, 0};
    out[0] = '\0';
    if (reading_get(f->gpu->temp_mdegc, &temp))
        say(&s, "%lld °C", words_whole(temp, 1000));
    const char *and = s.len ? " and " : "";
    if (f->fan == FAN_OFF) /* not an effect of anything */
        return out;
    if (reading_get(f->gpu->fan_permille, &fan))
        say(&s, "%sthe fan at %lld%%", and, percent(fan));
    else if (reading_get(f->gpu->fan_rpm, &fan))
        say(&s, "%sthe fan at %lld rpm", and, (long long)fan);
    return out;
}

const char *words_no_fan(const struct facts *f)
{
    if (f->fan == FAN_NONE)
        return "it has no fan of its own";
    if (f->fan != FAN_UNKNOWN)
        return NULL;
    return f->gpu->fan_permille.state == READING_UNSUPPORTED ? "it reports no fan" : NULL;
}
