/* SPDX-License-Identifier: Apache-2.0
 * Drains a Slurm node through scontrol, with a reason that begins with our name; resumes only nodes with such a reason.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/words.h"
#include "cli/node/node.h"

enum { SAID_MAX = 16 << 20, REASON_SIZE = 256 };
#define OUR_REASON "whirr: "

static int run(const struct env *env, const struct node_telling *t, const char *const *argv, struct buf *out, struct error *err)
{
    AUTO_BUF struct buf diag = BUF(65536);
    char words[200];
    const struct launch launch = {.argv = argv, .timeout_ms = node_time_left(t), .out = out, .err = &diag};
    int status = env->launch(env, &launch, err);
    if (status == -ENOENT)
        return error_set(err, status, "'%s' was not found: name it with --scontrol", argv[0]);
    if (status <= 0)
        return status;
    str_copy_clean(words, sizeof words, str_trim(buf_view(diag.len ? &diag : out)));
    return error_set(err, -EIO, "'%s %s %s' ended with %d%s%s", argv[0], argv[1], argv[2], status, words[0] ? ": " : "", words);
}

/* The rest of the line after "Key=" in the output of `scontrol show -o`. */
static struct str behind(struct str line, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; i + len <= line.len; i++)
        if (memcmp(line.at + i, key, len) == 0 && (i == 0 || line.at[i - 1] == ' ' || line.at[i - 1] == '\n'))
            return (struct str){line.at + i + len, line.len - i - len};
    return (struct str){"", 0};
}

struct slurm_node {
    bool drains, down;
    bool ours, same; /* the reason is one of ours; and about the same finding */
};

static int read_node(const struct env *env, const struct node_telling *t, const struct node_verdict *v, struct slurm_node *ret,
                     struct error *err)
{
    AUTO_BUF struct buf out = BUF(SAID_MAX);
    const char *const argv[] = {t->scontrol, "show", "node", t->node, "-o", NULL};
    char mark[NODE_CODE_SIZE + 16];
    int rc = run(env, t, argv, &out, err);
    if (rc < 0)
        return rc;
    struct str state = behind(buf_view(&out), "State="), word;
    if (!str_word(&state, &word))
        return error_set(err, -EPROTO, "'%s show node %s' did not print a State=", t->scontrol, t->node);
    struct str reason = behind(buf_view(&out), "Reason=");
    snprintf(mark, sizeof mark, OUR_REASON "%s: ", v->code);
    *ret = (struct slurm_node){.drains = str_contains(word, "DRAIN"),
                               .down = str_contains(word, "DOWN") || str_contains(word, "*") || str_contains(word, "FAIL"),
                               .ours = str_starts(reason, OUR_REASON),
                               .same = str_starts(reason, mark)};
    return 0;
}

static int update(const struct env *env, const struct node_telling *t, const char *state, const char *reason, struct error *err)
{
    char name[300], wanted[32];
    snprintf(name, sizeof name, "NodeName=%.250s", t->node);
    snprintf(wanted, sizeof wanted, "State=%s", state);
    const char *const argv[] = {t->scontrol, "update", name, wanted, reason, NULL};
    return t->dry_run ? 0 : run(env, t, argv, NULL, err);
}

/* ---- the brake: the controller puts drains in an order, in which each node finds those before its own ---- */

/* When a node was drained, as "... [root@2026-11-17T10:00:00]" ends its reason; times sort as text. */
static struct str drained_at(struct str reason)
{
    size_t end = 0, begin = 0;
    while (end < reason.len && reason.at[end] != ']' && reason.at[end] != '\n')
        if (reason.at[end++] == '@')
            begin = end;
    return (struct str){reason.at + begin, begin ? end - begin : 0};
}

static bool is_later(struct str time, struct str than)
{
    int order = than.len ? memcmp(time.at, than.at, MIN_OF(time.len, than.len)) : 0;
    return order > 0;
}

/* Counts nodes with GPUs, or all where Slurm knows no GPU of this one, and the others that we drained: not later than this one,
 * if it is drained. */
static int count_nodes(const struct env *env, const struct node_telling *t, struct node_count *ret, struct error *err)
{
    AUTO_BUF struct buf out = BUF(SAID_MAX);
    const char *const argv[] = {t->scontrol, "show", "node", "-o", NULL};
    struct str own_time = {"", 0};
    size_t all = 0;
    bool own_gpus = false;
    int rc = run(env, t, argv, &out, err);
    *ret = (struct node_count){0};
    for (int pass = 0; rc == 0 && pass < 2; pass++) { /* the first finds this node's time */
        struct str rest = buf_view(&out), line, name, state;
        while (str_cut(&rest, '\n', &line)) {
            struct str named = behind(line, "NodeName="), states = behind(line, "State="), reason = behind(line, "Reason="),
                       gres = behind(line, "Gres="), gres_word;
            if (!str_word(&named, &name))
                continue;
            bool own = str_equal(name, str_from(t->node)), gpus = str_word(&gres, &gres_word) && str_contains(gres_word, "gpu");
            bool ours = str_word(&states, &state) && str_contains(state, "DRAIN") && str_starts(reason, OUR_REASON);
            if (pass == 0) {
                own_gpus |= own && gpus;
                if (own && ours)
                    own_time = drained_at(reason);
                continue;
            }
            all++;
            ret->nodes += gpus;
            ret->drained += ours && !own && !is_later(drained_at(reason), own_time);
        }
    }
    if (!own_gpus)
        ret->nodes = all;
    return rc;
}

/* steps->held says why the node may not be drained, or not stay so. */
static int ask_brake(const struct env *env, const struct node_telling *t, struct node_steps *steps, struct error *err)
{
    struct node_count count;
    if (!node_settled(t, steps) || t->max_percent >= 100)
        return 0;
    int rc = count_nodes(env, t, &count, err);
    if (rc < 0)
        snprintf(steps->held, sizeof steps->held, "the nodes that are already drained can't be counted");
    else
        node_may_drain(t, &count, steps);
    return rc;
}

static int drain(const struct env *env, const struct node_telling *t, const struct node_verdict *v, const struct slurm_node *now,
                 struct node_steps *steps, struct error *err)
{
    char reason[REASON_SIZE];
    if (now->drains && !now->ours) {
        node_step(steps, "already draining for a reason that whirr did not set, which is left as it is");
        return 0;
    }
    if (now->drains && now->same)
        return 0;
    snprintf(reason, sizeof reason, "Reason=" OUR_REASON "%s: %.180s", v->code, v->message);
    int rc = now->drains ? 0 : ask_brake(env, t, steps, err);
    if (rc == 0 && !steps->held[0])
        rc = update(env, t, "DRAIN", reason, err);
    if (steps->held[0]) {
        node_step(steps, "no drain: %s", steps->held);
        return rc;
    }
    if (rc == 0)
        node_step(steps, "drain (%s)", reason + strlen("Reason="));
    if (rc < 0 || now->drains || t->dry_run)
        return rc;
    /* Others may have been drained meanwhile: a node that finds too many before itself steps back. */
    rc = ask_brake(env, t, steps, err);
    if (rc < 0)
        steps->held[0] = '\0'; /* what was counted before it holds */
    else if (steps->held[0] && (rc = update(env, t, "RESUME", NULL, err)) == 0)
        node_step(steps, "resume: %s", steps->held);
    return rc;
}

static int bring_back(const struct env *env, const struct node_telling *t, const struct node_verdict *v,
                      const struct slurm_node *now, struct node_steps *steps, struct error *err)
{
    char wanted[WORDS_SIZE], been[WORDS_SIZE];
    if (!now->drains || !now->ours)
        return 0;
    if (now->down) {
        node_step(steps, "stays drained: Slurm has it as down or failing");
        return 0;
    }
    if (v->well_for_ms < t->recover_ms && t->recover_ms) {
        node_step(steps, "stays drained until the GPUs have been well for %s (now %s)", words_duration(t->recover_ms, wanted),
                  v->well_for_ms < 0 ? "not known" : words_duration(v->well_for_ms, been));
        return 0;
    }
    int rc = update(env, t, "RESUME", NULL, err);
    if (rc == 0)
        node_step(steps, "resume");
    return rc;
}

int node_tell_slurm(const struct env *env, const struct node_telling *t, const struct node_verdict *v, struct node_steps *steps,
                    struct error *err)
{
    struct slurm_node now;
    steps->count = 0;
    steps->held[0] = '\0';
    if (v->fitness == NODE_UNKNOWN || (v->fitness == NODE_FIT && t->drain_only))
        return 0;
    int rc = read_node(env, t, v, &now, err);
    if (rc == -ENOENT && t->dry_run) { /* a machine without Slurm still shows what would be said */
        if (v->fitness == NODE_UNFIT)
            node_step(steps, "drain (" OUR_REASON "%s: %.180s), if it is not drained yet: '%s' was not found", v->code, v->message,
                      t->scontrol);
        else
            node_step(steps, "resume, if whirr had drained it: '%s' was not found", t->scontrol);
        *err = (struct error){0};
        return 0;
    }
    if (rc < 0)
        return rc;
    return v->fitness == NODE_UNFIT ? drain(env, t, v, &now, steps, err) : bring_back(env, t, v, &now, steps, err);
}
