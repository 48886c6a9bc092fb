/* SPDX-License-Identifier: Apache-2.0
 * Findings of one list, each once.
 */
#include "insight/area/collect.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

int collection_init(struct collection *c, const struct snapshot *now)
{
    size_t most = FINDINGS_PER_GPU * (now->gpu_count + 2);
    *c = (struct collection){.now = now, .most = most, .verdict = verdict_new(now->gpu_count, most)};
    return c->verdict ? 0 : -ENOMEM;
}

static struct finding *collect_find(struct collection *c, int gpu_index, enum finding_code code)
{
    return (struct finding *)verdict_find(c->verdict, gpu_index, code);
}

struct finding *collect_finding(struct collection *c, const struct finding *fresh)
{
    struct finding *known = collect_find(c, fresh->gpu_index, fresh->code);
    if (!known) {
        if (c->verdict->count == c->most)
            return NULL;
        c->verdict->findings[c->verdict->count] = *fresh;
        return &c->verdict->findings[c->verdict->count++];
    }
    if (fresh->severity > known->severity) {
        known->severity = fresh->severity;
        memcpy(known->headline, fresh->headline, sizeof known->headline);
    }
    known->confidence = MAX_OF(known->confidence, fresh->confidence);
    known->pid = known->pid ? known->pid : fresh->pid;
    if (fresh->tense == TENSE_NOW) { /* over, and here again */
        known->tense = TENSE_NOW;
        known->until.ms = 0;
    }
    if (fresh->since.ms && (!known->since.ms || fresh->since.ms < known->since.ms))
        known->since = fresh->since;
    return known;
}

void collect(struct collection *c, const struct gpu *gpu, enum finding_code code, enum severity severity, double confidence,
             int32_t pid, const char *format, ...)
{
    struct finding f = {.code = code,
                        .severity = severity,
                        .confidence = confidence,
                        .gpu_index = gpu ? gpu->index : -1,
                        .pid = pid,
                        .tense = finding_usual_tense(code),
                        .power_mw = gpu ? reading_or(gpu->power_mw, 0) : 0};
    va_list args;
    va_start(args, format);
    vsnprintf(f.headline, sizeof f.headline, format, args);
    va_end(args);
    collect_finding(c, &f);
}

/* Words that whirr's own sentences begin with: others are names of programs, or like XID and PCIe. */
static bool begins_sentence(const char *text)
{
    static const char *const words[] = {"A",    "All",     "An",   "At",  "Displays", "Fan",  "It", "Its",  "More",
                                        "None", "Nothing", "Some", "The", "Thermal",  "Work", "No", "Video"};
    size_t len = strcspn(text, " ");
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i]) == len && strncmp(words[i], text, len) == 0)
            return true;
    return false;
}

/* "The fan has stopped." becomes "GPU 1: the fan has stopped". */
void collect_sentence(struct collection *c, const struct gpu *gpu, int gpu_index, struct finding f, const char *text)
{
    char sentence[FINDING_HEADLINE_SIZE - 16];
    const char *end = strstr(text, ". ");
    size_t len = end ? (size_t)(end - text) : strlen(text);
    while (len && text[len - 1] == '.')
        len--;
    str_copy(sentence, sizeof sentence, (struct str){text, len});
    if (gpu_index < 0)
        snprintf(f.headline, sizeof f.headline, "%s", sentence);
    else {
        if (begins_sentence(sentence))
            sentence[0] = (char)(sentence[0] - 'A' + 'a');
        snprintf(f.headline, sizeof f.headline, "GPU %d: %s", gpu_index, sentence);
    }
    f.gpu_index = gpu_index;
    f.power_mw = gpu ? reading_or(gpu->power_mw, 0) : 0;
    collect_finding(c, &f);
}
