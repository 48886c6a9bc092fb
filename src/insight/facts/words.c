/* SPDX-License-Identifier: Apache-2.0
 * Readings, durations and processes in words. A reading that is absent has no words here.
 */
#include "insight/facts/words.h"

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

/* What follows the name: "(pid 4242, alice, container web)". */
static void say_owner(struct say *s, const struct process *p, bool with_pid)
{
    char user[25], container[33];
    const char *open = " (";
    begin_of(user, sizeof user, p->user);
    begin_of(container, sizeof container, p->container);
    if (with_pid) {
        say(s, "%spid %d", open, (int)p->pid);
        open = ", ";
    }
    if (user[0]) {
        say(s, "%s%s", open, user);
        open = ", ";
    }
    if (container[0]) {
        say(s, "%scontainer %s", open, container);
        open = ", ";
    }
    if (!p->visible) {
        say(s, "%soutside this container or PID namespace", open);
        open = ", ";
    }
    if (open[0] == ',')
        say(s, ")");
}

const char *words_process(const struct process *p, char out[NAME_WORDS])
{
    char name[41];
    begin_of(name, sizeof name, p->name);
    struct say s = {out, NAME_WORDS, 0};
    out[0] = '\0';
    if (name[0])
        say(&s, "%s", name);
    else
        say(&s, "process %d", (int)p->pid);
    say_owner(&s, p, name[0] != '\0');
    return out;
}

/* The script that an interpreter runs says more than the interpreter: "train.py" of "python3 -u /srv/train.py". */
static bool script_of(const struct process *p, char *out, size_t size)
{
    static const char *const endings[] = {".py", ".sh", ".js", ".jl", ".rb", ".R"};
    struct str rest = str_from(p->command), word;
    if (!str_word(&rest, &word))
        return false;
    while (str_word(&rest, &word)) {
        for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
            if (!str_ends(word, endings[i]))
                continue;
            const char *slash = memrchr(word.at, '/', word.len);
            size_t skip = slash ? (size_t)(slash + 1 - word.at) : 0;
            char name[64];
            str_copy(name, sizeof name, (struct str){word.at + skip, word.len - skip});
            begin_of(out, size, name);
            return true;
        }
        if (word.at[0] != '-')
            return false;
    }
    return false;
}

const char *words_who(const struct process *p, char out[NAME_WORDS])
{
    char name[41], script[33];
    begin_of(name, sizeof name, p->name);
    struct say s = {out, NAME_WORDS, 0};
    out[0] = '\0';
    if (!name[0])
        return words_process(p, out);
    say(&s, "%s", name);
    if (!p->model[0] && script_of(p, script, sizeof script) && !strstr(name, script))
        say(&s, " %s", script);
    say_owner(&s, p, false);
    return out;
}

/* Names that half of all programs have. */
static bool is_generic(const char *script)
{
    static const char *const names[] = {"main.py", "app.py", "run.py", "server.py", "launch.py", "start.sh", "run.sh", "main.sh"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(script, names[i]) == 0)
            return true;
    return false;
}

/* What stands behind the name: the script, the model, or the container. */
static void say_subject(struct say *s, const struct process *p, const char *name)
{
    char more[33];
    const char *slash = strrchr(p->model, '/');
    if (script_of(p, more, sizeof more) && !strstr(name, more) && !(p->container[0] && is_generic(more))) {
        say(s, " %s", more);
    } else if (p->model[0]) {
        begin_of(more, sizeof more, slash && slash[1] ? slash + 1 : p->model);
        say(s, " · %s", more);
    } else if (p->container[0]) {
        begin_of(more, sizeof more, p->container);
        say(s, " %s", more);
    }
}

const char *words_row(const struct process *p, enum row_form form, char out[NAME_WORDS])
{
    char name[41], user[25];
    struct say s = {out, NAME_WORDS, 0};
    out[0] = '\0';
    begin_of(name, sizeof name, form <= ROW_SUBJECT ? p->name : process_title(p));
    begin_of(user, sizeof user, p->user);
    if (!name[0]) {
        say(&s, p->visible ? "pid %d" : "pid %d (not visible here)", (int)p->pid);
        return out;
    }
    say(&s, "%s", name);
    if (form <= ROW_SUBJECT)
        say_subject(&s, p, name);
    if (form != ROW_NAME && user[0] && !(form == ROW_SUBJECT && strcmp(user, name) == 0))
        say(&s, " (%s)", user);
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
    /* "meta-llama/Llama-3.1-8B": whose it is matters less than what it is */
    const char *slash = strrchr(p->model, '/');
    begin_of(model, sizeof model, slash && slash[1] ? slash + 1 : p->model);
    if (mentions(p, training))
        snprintf(out, NAME_WORDS, model[0] ? "training %s" : "training", model);
    else if (model[0])
        snprintf(out, NAME_WORDS, "%s %s", mentions(p, serving) ? "serving" : "running", model);
    else if (mentions(p, serving))
        snprintf(out, NAME_WORDS, "serving a model");
    else
        snprintf(out, NAME_WORDS, "%s", words_draws(p) ? "rendering" : "computing");
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
    case READING_DENIED: return "no permission to read it";
    case READING_ASLEEP: return "reading it would wake the GPU";
    case READING_FAILED: return "the driver failed to read it";
    case READING_PENDING: return "needs a second sample";
    case READING_UNREAD: return "was not read";
    case READING_IMPLAUSIBLE: return "the driver gave a value that can't be true";
    case READING_UNSUPPORTED:
    case READING_OK: break;
    }
    return "not reported by this GPU or driver";
}
