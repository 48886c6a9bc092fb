/* SPDX-License-Identifier: Apache-2.0
 * Runs the program at most once a second and keeps its result.
 */
#include "source/source.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/driver_places.h"
#include "source/rocm_smi/parse.h"

enum { OUTPUT_MAX = 4 * 1024 * 1024, TIME_LIMIT_MS = 10000, FRESH_MS = 1000 };

struct rocm_smi {
    struct source source;
    const struct env *env;
    const char *program;
    char place[PATH_SIZE]; /* path of the program if not in PATH */
    bool is_amd_smi;
    struct mono asked;
    struct error failure;       /* of the last run; code 0: none */
    struct gpu_id ids[GPU_MAX]; /* as listed: cards keep their positions */
    size_t count;
    bool more; /* a new card appeared */
    struct rocm_cards now;
};

static bool names_amd_smi(const char *program)
{
    const char *last = strrchr(program, '/');
    return strncmp(last ? last + 1 : program, "amd-smi", 7) == 0;
}

static int rocm_smi_run(const struct rocm_smi *s, const char *const *argv, struct buf *out, struct error *err)
{
    AUTO_BUF struct buf said = BUF(4096);
    struct launch launch = {.argv = argv, .timeout_ms = TIME_LIMIT_MS, .out = out, .err = &said};
    int rc = s->env->launch(s->env, &launch, err);
    if (rc < 0)
        return rc;
    if (out->failed)
        return buf_check(out, err, "'%s' printed more than %d bytes", argv[0], OUTPUT_MAX);
    if (rc != 0 && out->len == 0) {
        struct str line, rest = str_trim(buf_view(&said));
        return error_set(err, -EIO, "'%s' failed with status %d%s" STR_FMT, argv[0], rc, rest.len ? ": " : "",
                         STR_ARG((str_cut(&rest, '\n', &line) ? line : rest)));
    }
    return 0;
}

static int ask_rocm_smi(struct rocm_smi *s, struct rocm_cards *ret, struct error *err)
{
    /* Named options are faster than everything; releases that don't know one of them are asked for all. */
    const char *named[] = {s->program,
                           "--showid",
                           "--showuniqueid",
                           "--showvbios",
                           "--showtemp",
                           "--showclocks",
                           "--showfan",
                           "--showpower",
                           "--showmaxpower",
                           "--showuse",
                           "--showmemuse",
                           "--showbus",
                           "--showvoltage",
                           "--showserial",
                           "--showpids",
                           "--showproductname",
                           "--showreplaycount",
                           "--showdriverversion",
                           "--showmeminfo",
                           "vram",
                           "vis_vram",
                           "gtt",
                           "--json",
                           NULL};
    const char *all[] = {s->program, "-a", "--showmeminfo", "all", "--json", NULL};
    AUTO_BUF struct buf out = BUF(OUTPUT_MAX);
    int rc = rocm_smi_run(s, named, &out, err);
    if (rc == 0)
        rc = rocm_smi_parse(buf_view(&out), ret, err);
    if (rc != -EIO && rc != -EBADMSG)
        return rc;
    rocm_cards_done(ret);
    AUTO_BUF struct buf again = BUF(OUTPUT_MAX);
    rc = rocm_smi_run(s, all, &again, err);
    return rc < 0 ? rc : rocm_smi_parse(buf_view(&again), ret, err);
}

static int ask_amd_smi(struct rocm_smi *s, struct rocm_cards *ret, struct error *err)
{
    const char *facts[] = {s->program, "static", "--json", NULL}, *numbers[] = {s->program, "metric", "--json", NULL};
    AUTO_BUF struct buf out = BUF(OUTPUT_MAX), second = BUF(OUTPUT_MAX);
    int rc = rocm_smi_run(s, facts, &out, err);
    if (rc == 0)
        rc = amd_smi_parse_static(buf_view(&out), ret, err);
    if (rc == 0)
        rc = rocm_smi_run(s, numbers, &second, err);
    return rc < 0 ? rc : amd_smi_parse_metric(buf_view(&second), ret, err);
}

static bool is_listed(const struct rocm_smi *s, const struct gpu_id *id)
{
    for (size_t i = 0; i < s->count; i++)
        if (gpu_same(&s->ids[i], id))
            return true;
    return false;
}

static int rocm_smi_ask(struct rocm_smi *s, struct error *err)
{
    struct rocm_cards cards = {0};
    int rc = s->is_amd_smi ? ask_amd_smi(s, &cards, &s->failure) : ask_rocm_smi(s, &cards, &s->failure);
    s->asked = clock_mono(s->env->clock);
    s->failure.code = rc;
    if (rc < 0) {
        rocm_cards_done(&cards);
        return error_set(err, rc, "%s", s->failure.text);
    }
    rocm_cards_done(&s->now);
    s->now = cards;
    for (size_t i = 0; i < cards.count; i++)
        s->more = s->more || !is_listed(s, &cards.cards[i].id);
    return 0;
}

static void rocm_close(struct source *source)
{
    struct rocm_smi *s = (struct rocm_smi *)source;
    if (!s)
        return;
    rocm_cards_done(&s->now);
    free(s);
}

static int rocm_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    static const char *const programs[] = {"rocm-smi", "amd-smi"};
    int wrong = source_check(&rocm_smi_source, params, err);
    if (wrong < 0)
        return wrong;
    /* A program on this host knows nothing about a recorded one. */
    if (env_is_recorded(env) && !env->rocm_smi)
        return error_set(err, -ENODEV, "no rocm-smi on a recorded machine");
    struct rocm_smi *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &rocm_smi_source;
    s->env = env;
    int rc = -ENOENT;
    for (size_t i = 0; i < (env->rocm_smi ? 1 : ARRAY_LEN(programs)) && rc == -ENOENT; i++) {
        s->program = env->rocm_smi ? env->rocm_smi : programs[i];
        s->is_amd_smi = names_amd_smi(s->program);
        rc = rocm_smi_ask(s, err);
        if (rc == -ENOENT && place_find_program(env, s->program, s->place)) {
            s->program = s->place;
            rc = rocm_smi_ask(s, err);
        }
    }
    if (rc < 0) {
        rocm_close(&s->source);
        if (rc == -ENOENT && !env->rocm_smi)
            error_set(err, rc, "neither rocm-smi nor amd-smi is installed");
        return rc == -ENOENT ? -ENODEV : rc;
    }
    *ret = &s->source;
    return 0;
}

static int rocm_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct rocm_smi *s = (struct rocm_smi *)source;
    for (size_t i = 0; i < s->now.count && s->count < GPU_MAX; i++)
        if (!is_listed(s, &s->now.cards[i].id))
            s->ids[s->count++] = s->now.cards[i].id;
    s->more = false;
    size_t count = MIN_OF(s->count, max);
    memcpy(ids, s->ids, count * sizeof *ids);
    return (int)count;
}

static bool rocm_changed(struct source *source)
{
    return ((struct rocm_smi *)source)->more;
}

static int rocm_refresh(struct source *source, unsigned groups, struct error *err)
{
    struct rocm_smi *s = (struct rocm_smi *)source;
    if (!(groups & GROUP_ALL))
        return 0;
    if (mono_since_ms(clock_mono(s->env->clock), s->asked) >= FRESH_MS)
        return rocm_smi_ask(s, err);
    return s->failure.code < 0 ? error_set(err, s->failure.code, "%s", s->failure.text) : 0;
}

static void rocm_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    (void)groups;
    struct rocm_smi *s = (struct rocm_smi *)source;
    for (size_t i = 0; i < s->now.count; i++) {
        if (!gpu_same(&s->now.cards[i].id, &s->ids[gpu]))
            continue;
        if (gpu_copy(out, &s->now.cards[i]) < 0)
            gpu_mark_state(out, GPU_ERROR, "out of memory");
        return;
    }
    gpu_mark_state(out, GPU_LOST, "the program no longer lists this GPU");
}

static void rocm_describe(struct source *source, struct buf *out)
{
    struct rocm_smi *s = (struct rocm_smi *)source;
    buf_printf(out, "runs '%s' at most once a second; %zu GPUs\n", s->program, s->now.count);
}

const struct source_ops rocm_smi_source = {
    .name = "rocm-smi",
    .what = "AMD GPUs through the program rocm-smi or amd-smi",
    .instead_of = "amdgpu",
    .automatic = true,
    .periodic_only = true,
    .open = rocm_open,
    .list = rocm_list,
    .refresh = rocm_refresh,
    .sample = rocm_sample,
    .changed = rocm_changed,
    .describe = rocm_describe,
    .close = rocm_close,
};
