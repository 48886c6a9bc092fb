/* SPDX-License-Identifier: Apache-2.0
 * Readings, durations and processes in words. A reading that is absent has no words here.
 */
#include "insight/facts/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

bool text_append(struct text *s, const char *format, ...)
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

void text_stop(struct text *s)
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

void words_past(struct text *s, const char *now)
{
    static const struct {
        const char *now, *then;
    } verbs[] = {
        {"is", "was"},         {"are", "were"},          {"has", "had"},           {"does", "did"},          {"can", "could"},
        {"can't", "couldn't"}, {"waits", "waited"},      {"wait", "waited"},       {"keeps", "kept"},        {"uses", "used"},
        {"runs", "ran"},       {"reads", "read"},        {"saves", "saved"},       {"holds", "held"},        {"moves", "moved"},
        {"spends", "spent"},   {"sleeps", "slept"},      {"shares", "shared"},     {"shows", "showed"},      {"limits", "limited"},
        {"copies", "copied"},  {"compiles", "compiled"}, {"computes", "computed"}, {"launches", "launched"},
    };
    struct str rest = str_from(now), word;
    for (const char *blank = ""; str_cut(&rest, ' ', &word); blank = " ") {
        size_t i = 0;
        while (i < ARRAY_LEN(verbs) && !str_is(word, verbs[i].now))
            i++;
        text_append(s, "%s" STR_FMT, blank, STR_ARG(i < ARRAY_LEN(verbs) ? str_from(verbs[i].then) : word));
    }
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

const char *words_stands_for(const struct process *p)
{
    static const struct {
        const char *begin, *clients; /* how its name begins: the kernel keeps 15 characters */
    } of[] = {
        {"nvidia-cuda-mps", "MPS clients that can't be seen here"},
        {"nvidia-vgpu-mgr", "a virtual machine whose programs can't be seen here"},
        {"vgpu", "a virtual machine whose programs can't be seen here"},
        {"qemu-", "a virtual machine whose programs can't be seen here"},
    };
    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        if (str_starts(str_from(p->name), of[i].begin))
            return of[i].clients;
    return NULL;
}

const char *words_work(const struct process *p, char out[NAME_WORDS])
{
    char model[PROCESS_MODEL_SIZE];
    str_copy_clean(model, sizeof model, str_from(process_model(p)));
    if (words_stands_for(p))
        snprintf(out, NAME_WORDS, "standing in for %s", words_stands_for(p));
    else if (mentions(p, training))
        snprintf(out, NAME_WORDS, model[0] ? "training %s" : "training", model);
    else if (model[0])
        snprintf(out, NAME_WORDS, "%s %s", mentions(p, serving) ? "serving" : "running", model);
    else if (mentions(p, serving))
        snprintf(out, NAME_WORDS, "serving a model");
    else
        snprintf(out, NAME_WORDS, "%s", words_draws(p) ? "rendering" : "computing");
    return out;
}

const char *words_holders(const struct gpu *gpu, char out[HOLDER_WORDS])
{
    const struct process *first = NULL, *second = NULL;
    char who[PROCESS_WORDS], amount[SHORT_WORDS];
    struct text s = {.at = out, .size = HOLDER_WORDS};
    out[0] = '\0';
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        int64_t bytes = reading_or(p->mem_bytes, 0);
        if (bytes > (first ? first->mem_bytes.value : 0)) {
            second = first;
            first = p;
        } else if (bytes > (second ? second->mem_bytes.value : 0)) {
            second = p;
        }
    }
    if (first)
        text_append(&s, ": %s holds %s", process_words(first, WITH_OWNER, who), words_bytes(first->mem_bytes.value, amount));
    if (second && second->mem_bytes.value >= first->mem_bytes.value / 8)
        text_append(&s, ", %s %s", process_words(second, WITH_OWNER, who), words_bytes(second->mem_bytes.value, amount));
    return out;
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
