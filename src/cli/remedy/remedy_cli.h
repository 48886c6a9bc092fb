/* SPDX-License-Identifier: Apache-2.0
 * Doing a remedy: which answer it belongs to, what earlier steps let expect, and the change itself. Everything that touches leases
 * and settings is in act.c.
 */
#pragma once

#include "cli/cli_show.h"
#include "insight/view/why.h"
#include "lease/settings_plan.h"

/* ---- the newest answer that this user was shown ---- */

enum { ANSWER_REMEDIES_MAX = WHY_SUGGESTIONS_MAX };

struct shown_answer {
    char source[256]; /* --source of it; "": none */
    int gpu_index;
    size_t count;
    enum remedy_code codes[ANSWER_REMEDIES_MAX];
};
/* Remembers it, as far as that is possible. `only`: the position of its GPU, or ALL_GPUS. */
void shown_answer_keep(const struct cli *cli, const struct why *why, int only);
bool shown_answer_find(struct shown_answer *ret);

/* ---- measured steps ---- */

struct effect {
    struct wall at;
    char gpu[GPU_UUID_SIZE], model[GPU_NAME_SIZE];
    enum remedy_code code;
    struct remedy_values before, after;
    struct remedy_values expected; /* changes; absent where nothing was expected */
};
enum { EFFECTS_MAX = 512 };
struct effects {
    size_t count;
    struct effect *list; /* oldest first */
};
void effects_done(struct effects *e);
#define AUTO_EFFECTS __attribute__((cleanup(effects_done)))
void effects_read(struct effects *ret);
int effects_add(const struct effect *e, struct error *err);
/* What a remedy lets expect here, from a step that began alike: on this GPU, else on another of its model. */
void effects_expect(const struct effects *e, const struct gpu *gpu, struct remedy *r);
/* The same for all remedies of an answer, in its sentences, too. */
void effects_expect_all(const struct snapshot *now, struct why *why);
struct reading effect_change(struct reading before, struct reading after);
/* "135 W and 14% fan less, 9% slower" */
enum { EFFECT_WORDS = 128 };
const char *effect_words(const struct remedy_values *change, const struct remedy_values *from, char out[EFFECT_WORDS]);

/* ---- the change ---- */

/* Plans what the remedy sets on this GPU. */
int act_plan(struct cli *cli, const struct snapshot *s, const struct gpu *gpu, enum remedy_code code, struct change_list *ret,
             struct error *err);
/* Whether it needs the helper, and there is none. */
bool act_is_denied(const struct cli *cli, const struct change_list *l);
/* Makes it until that moment; `until` becomes 0 where nothing here could end it then. */
int act_begin(struct cli *cli, const struct change_list *l, struct wall *until, struct lease *ret, struct error *err);
/* Puts the old values back, and says so. Returns the exit status. */
int act_end(struct cli *cli, const struct lease *l);
