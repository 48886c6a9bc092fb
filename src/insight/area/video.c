/* SPDX-License-Identifier: Apache-2.0
 * Video that is encoded or decoded, and which process does it.
 */
#include <string.h>

#include "insight/area/area.h"
#include "model/finding_code.h"

/* Who uses the busier video engine. */
struct video_work {
    const struct process *first, *second; /* uses most of it; where no share is known, two of different names that could use it */
    int64_t share_permille;               /* of the first; 0: unknown */
    size_t users;                         /* how many use it, or could; 1 also where the first uses most of it */
};

/* Where no share of the video engines is known (many drivers tell none, and the past keeps none), every process could be the one
 * that uses them, except for those that draw the desktop. */
static bool may_use_video(const struct facts *f, const struct process *p)
{
    struct reading share = f->encodes ? p->encoder_permille : p->decoder_permille;
    return share.state != READING_OK && !process_draws_desktop(p->name) && !f->gpu->processes_hidden;
}

static void find_suspects(const struct facts *f, struct video_work *v)
{
    char name[PROCESS_WORDS], first[PROCESS_WORDS] = "";
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        bool may = may_use_video(f, p);
        v->users += may;
        v->first = may && holds_more(p, v->first) ? p : v->first;
    }
    if (v->first)
        process_words(v->first, LONG_NAME, first);
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        if (may_use_video(f, p) && holds_more(p, v->second) && strcmp(process_words(p, LONG_NAME, name), first) != 0)
            v->second = p;
    }
}

static struct video_work video_work(const struct facts *f)
{
    struct video_work v = {0};
    int64_t total = 0;
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        int64_t its = reading_or(f->encodes ? p->encoder_permille : p->decoder_permille, 0);
        total += its;
        v.users += its > 0;
        if (its > v.share_permille || (v.first && its == v.share_permille && p->pid < v.first->pid)) {
            v.first = p;
            v.share_permille = its;
        }
    }
    if (!v.first)
        find_suspects(f, &v);
    else if (v.share_permille * 2 > total)
        v.users = 1; /* it does most of it */
    return v;
}

bool say_video(struct text *s, const struct facts *f, unsigned with)
{
    const char *doing = f->encodes ? "encoding" : "decoding";
    const struct video_work v = video_work(f);
    char who[PROCESS_WORDS], other[PROCESS_WORDS];
    if (!v.users)
        return text_append(s, "video %s being %sd", is(f), f->encodes ? "encode" : "decode");
    process_words(v.first, with, who);
    if (v.share_permille && v.users > 1)
        return text_append(s, "%zu processes %s %s video, among them %s", v.users, are(f), doing, who);
    if (!v.second)
        return text_append(s, "%s %s %s video", who, is(f), doing);
    process_words(v.second, with, other);
    if (v.users == 2)
        return text_append(s, "%s or %s %s %s video", who, other, is(f), doing);
    return text_append(s, "%s, %s, or one of %zu more %s %s video", who, other, v.users - 2, is(f), doing);
}

static void rule_video(const struct facts *f, struct why_part *part)
{
    if (f->video_permille < VIDEO_LEAST)
        return;
    int64_t sessions;
    char who[PROCESS_WORDS], text[WHY_TEXT_SIZE] = "";
    const char *engine = f->encodes ? "encoder" : "decoder";
    const struct video_work v = video_work(f);
    struct cause_draft d;
    cause_begin(&d, part, FINDING_VIDEO_LOAD);
    /* Where the video engine is busier than the rest of the GPU, video is what the GPU is there for. */
    support(&d, f->video_permille > f->load_permille ? 0.8 : 0.5, "video %s %lld%%", engine, percent(f->video_permille));
    if (v.users == 1)
        cause_process(&d, v.first);
    if (v.share_permille)
        support(&d, 0.5, "%s: %lld%% of the video %s", process_words(v.first, EXACT_NAME, who), percent(v.share_permille), engine);
    else if (v.users == 1)
        support(&d, 0.3, "%s: the only process that could use it", process_words(v.first, EXACT_NAME, who));
    else if (v.users)
        support(&d, 0.2, "%zu processes could use it", v.users);
    if (f->encodes && reading_get(f->gpu->encoder_sessions, &sessions) && sessions > 0)
        support(&d, 0.1, "%lld video encoding%s running", (long long)sessions, sessions == 1 ? "" : "s");
    support_power(&d, f, 0.05);
    support_temperature(&d, f, 0.05);
    support_fan(&d, f, 0.05);
    if (f->fan_missed)
        doubt(&d, 0.75, NULL);
    struct text s = TEXT(text);
    say_video(&s, f, LONG_NAME);
    cause_end(&d, ": %s", text);
}

const struct area area_video = {.weigh = rule_video};
