/* SPDX-License-Identifier: Apache-2.0
 * whirr node-health: whether this node should get work, for Kubernetes, Slurm, and scripts.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/answers.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/node/node.h"
#include "config/config.h"
#include "config/findings.h"
#include "insight/verdict/health.h"
#include "model/finding.h"
#include "model/snapshot.h"

/* ---- the judge ---- */

struct node_rules {
    enum health_state least;                 /* a GPU at least this bad makes the node unfit */
    int64_t gpus;                            /* required number; 0: any */
    const struct finding_settings *settings; /* hold times of findings */
};

/* A finding that forbids placing work, as for `whirr fit`, after its hold time: don't drain a node for a brief problem. */
static const struct finding *forbidding(const struct snapshot *s, int gpu_index, const struct finding_settings *settings)
{
    const struct verdict *v = s->verdict;
    for (size_t i = 0; v && i < v->count; i++) {
        const struct finding *f = &v->findings[i];
        if (f->gpu_index == gpu_index && finding_forbids(f) &&
            finding_held_ms(f, s->taken_at) >= finding_hold_ms(settings, f->code))
            return f;
    }
    return NULL;
}

static void set_unfit(struct node_verdict *ret, const char *code, size_t bad, size_t all, const char *format, ...)
    __attribute__((format(gnu_printf, 5, 6)));
static void set_unfit(struct node_verdict *ret, const char *code, size_t bad, size_t all, const char *format, ...)
{
    char text[NODE_MESSAGE_SIZE - 64], clean[sizeof text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    str_copy_clean(clean, sizeof clean, str_trim(str_from(text)));
    size_t len = strlen(clean);
    if (len && clean[len - 1] == '.')
        clean[len - 1] = '\0';
    ret->fitness = NODE_UNFIT;
    str_copy(ret->code, sizeof ret->code, str_from(code));
    if (bad > 1)
        snprintf(ret->message, sizeof ret->message, "%zu of %zu GPUs: %s", bad, all, clean);
    else
        snprintf(ret->message, sizeof ret->message, "%s", clean);
}

/* The problem that makes this GPU bad enough, once it has lasted for the hold time of the finding of that name, or NULL. */
static const struct health_finding *bad_finding(const struct health_verdict *v, const struct snapshot *s,
                                                const struct node_rules *rules)
{
    bool gone = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        gone |= s->gpus[i].index == v->gpu_index && s->gpus[i].state == GPU_ERROR && !snapshot_source_started(s, &s->gpus[i]);
    for (size_t i = 0; i < v->finding_count; i++) {
        const struct health_finding *f = &v->findings[i];
        finding_code code;
        bool named = finding_code_from_name(health_check_name(f->check), &code);
        /* A driver that did not start is not a brief problem: don't wait. */
        bool lasts = !named || gone || s->taken_at.ms - f->since.ms >= finding_hold_ms(rules->settings, code);
        if (f->state >= rules->least && lasts)
            return f;
    }
    return NULL;
}

/* The worst GPU provides the reason. */
static void judge_gpus(const struct health *health, const struct snapshot *s, const struct node_rules *rules,
                       struct node_verdict *ret)
{
    const struct health_verdict *worst = NULL;
    const struct health_finding *worst_finding = NULL;
    const struct finding *forbids = NULL;
    size_t bad = 0;
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        const struct health_finding *h = bad_finding(v, s, rules);
        const struct finding *f = forbidding(s, v->gpu_index, rules->settings);
        bad += f || h;
        if (h && (!worst || h->state > worst_finding->state)) {
            worst = v;
            worst_finding = h;
        }
        if (f && (!forbids || finding_compare(f, forbids) < 0))
            forbids = f;
    }
    if (worst)
        set_unfit(ret, health_check_name(worst_finding->check), bad, health->count, "GPU %d is %s: %s", worst->gpu_index,
                  health_state_name(worst_finding->state), worst_finding->reason);
    else if (forbids)
        set_unfit(ret, finding_code_name(forbids->code), bad, health->count, "%s", forbids->headline);
}

static int64_t well_for(const struct health *health, struct wall now)
{
    int64_t least = -1;
    for (size_t i = 0; i < health->count; i++) {
        int64_t since = health->verdicts[i].since.ms;
        if (!since)
            return -1;
        int64_t span = MAX_OF(now.ms - since, (int64_t)0);
        least = least < 0 ? span : MIN_OF(least, span);
    }
    return least;
}

/* Pure. Requires `s` with its verdict. */
static void node_judge(const struct health *health, const struct snapshot *s, const struct node_rules *rules,
                       struct node_verdict *ret)
{
    size_t judged = 0;
    *ret = (struct node_verdict){.well_for_ms = -1};
    for (size_t i = 0; i < health->count; i++)
        judged += health->verdicts[i].state != HEALTH_UNKNOWN;
    judge_gpus(health, s, rules, ret);
    if (ret->fitness != NODE_UNFIT && rules->gpus > (int64_t)s->gpu_count)
        set_unfit(ret, "gpus_missing", 0, 0, "%zu of %lld GPUs are present", s->gpu_count, (long long)rules->gpus);
    if (ret->fitness == NODE_UNFIT)
        return;
    if (!judged) {
        snprintf(ret->message, sizeof ret->message, health->count ? "the health of no GPU could be judged" : "no GPU was found");
        return;
    }
    ret->fitness = NODE_FIT;
    ret->well_for_ms = well_for(health, s->taken_at);
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        for (size_t k = 0; k < v->finding_count; k++)
            if (v->findings[k].state >= rules->least) {
                snprintf(ret->message, sizeof ret->message, "GPU %d is %s, but not for long enough to keep work from it",
                         v->gpu_index, health_state_name(v->findings[k].state));
                return;
            }
    }
    snprintf(ret->message, sizeof ret->message, "%zu GPU%s, all fit for work", health->count, health->count == 1 ? "" : "s");
}

void node_step(struct node_steps *steps, const char *format, ...)
{
    if (steps->count == NODE_STEPS_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(steps->list[steps->count++], NODE_STEP_SIZE, format, args);
    va_end(args);
}

bool node_settled(const struct node_telling *t, struct node_steps *steps)
{
    char left[WORDS_SIZE];
    if (t->settling_ms <= 0)
        return true;
    snprintf(steps->held, sizeof steps->held, "this version is new here, and drains nothing for another %s",
             words_duration(t->settling_ms, left));
    return false;
}

bool node_may_drain(const struct node_telling *t, const struct node_count *count, struct node_steps *steps)
{
    size_t most = MAX_OF(count->nodes * (size_t)t->max_percent / 100, (size_t)1);
    if (t->max_percent >= 100 || count->drained < most)
        return true;
    snprintf(steps->held, sizeof steps->held, "whirr has drained %zu of %zu nodes already, and --max-drained %d%% allows %zu",
             count->drained, count->nodes, t->max_percent, most);
    return false;
}

enum {
    EXIT_UNFIT = 1,
    EXIT_UNTOLD = 3,
    TIMEOUT_MS = 20000,
    RECOVER_MS = 5 * 60 * 1000,
    GPUS_MOST = GPU_MAX,
    MAX_PERCENT = 10,
    SETTLE_MS = 60 * 60 * 1000
};
#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

struct node_request {
    struct cli *cli;
    struct node_rules rules;
    struct finding_settings settings;
    struct node_telling telling;
    bool kubernetes, slurm;
    int64_t timeout_ms, every_ms; /* every 0: once */
    int64_t settle_ms;            /* a new version drains nothing for so long */
    char api[300], node[256];
};

/* ---- the answer ---- */

static void write_text(const struct node_request *r, const struct node_verdict *v, const struct node_steps *steps, bool simulated,
                       struct buf *out)
{
    static const char *const words[] = {
        [NODE_UNKNOWN] = "can't be judged", [NODE_FIT] = "is fit for work", [NODE_UNFIT] = "is unfit for work"};
    buf_printf(out, "%s%s %s: %s\n", simulated ? "SIMULATED  " : "", r->telling.node[0] ? r->telling.node : "This node",
               words[v->fitness], v->message);
    for (size_t i = 0; i < steps->count; i++)
        buf_printf(out, "  %s%s\n", r->telling.dry_run ? "dry run: " : "", steps->list[i]);
}

struct told_node {
    const char *node;
    struct node_verdict v;
    struct node_steps steps;
    const char *error;
    bool simulated, dry_run;
};

static enum reading_state fitness_state(const void *record)
{
    return ((const struct told_node *)record)->v.fitness == NODE_UNKNOWN ? READING_FAILED : READING_OK;
}

ANSWER_TEST(is_well, struct told_node, of->v.well_for_ms >= 0);
ANSWER_MAKER(make_fit, struct told_node, yes, of->v.fitness == NODE_FIT);
ANSWER_MAKER(make_well, struct told_node, number, of->v.well_for_ms / MS_PER_S);

ANSWER_TABLE(node_answer, struct told_node)
{
    FIELD(WORD, "node", node, NULL, OR_NULL);
    MADE(BOOL, "fit", make_fit, "Unknown: the message says why", .state = fitness_state);
    FIELD(TEXT, "code", v.code, "The worst problem", OR_NULL);
    FIELD(TEXT, "message", v.message, NULL);
    MADE(INT, "well_for_seconds", make_well, "How long all GPUs have been healthy", WHEN(is_well));
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(BOOL, "dry_run", dry_run, NULL);
    FIELD(TEXT, "held_back", steps.held, "Why the node was not drained all the same", OR_NULL);
    TEXTS(TEXT, "changes", steps.list, steps.count, NULL);
    FIELD(WORD, "error", error, NULL, OR_NULL);
}

static void write_json(const struct node_request *r, const struct node_verdict *v, const struct node_steps *steps, bool simulated,
                       const struct error *err, struct buf *out)
{
    struct json_writer j = r->every_ms ? JSON_WRITER(out) : JSON_WRITER_PRETTY(out);
    const struct told_node told = {r->telling.node, *v, *steps, err->code ? err->text : "", simulated, r->telling.dry_run};
    answer_write(&j, &node_answer, &told, NULL);
    buf_char(out, '\n');
}

/* ---- one check ---- */

static int judge_node(struct node_request *r, struct node_verdict *v, bool *simulated, struct error *err)
{
    struct session *session = session_open(r->cli, err);
    if (!session)
        return err->code ? err->code : -EIO;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
    AUTO_BUF struct buf texts = BUF(1024);
    struct health_basis basis;
    AUTO_HEALTH struct health *health = NULL;
    if (s && health_ask(r->cli, session, &health, &basis, &texts, err) == 0) {
        node_judge(health, s, &r->rules, v);
        *simulated = s->gpu_count && s->gpus[0].simulated;
    }
    session_close(session);
    return health ? 0 : err->code ? err->code : -EIO;
}

/* How long this version still has to wait. Its file got there when it was installed, or its image was pulled: that time can't
 * be set, other than the one of its last change, which packages bring along. */
static int64_t settling_ms(const struct node_request *r)
{
    struct stat st;
    if (!r->settle_ms || stat(r->cli->env.self_program, &st) < 0)
        return 0;
    int64_t age = clock_wall(&clock_system).ms - (int64_t)st.st_ctime * MS_PER_S;
    return MIN_OF(MAX_OF(r->settle_ms - age, (int64_t)0), r->settle_ms);
}

static int notify_scheduler(struct node_request *r, const struct node_verdict *v, struct node_steps *steps, struct error *err)
{
    r->telling.deadline.ns = clock_mono(&clock_system).ns + r->timeout_ms * NS_PER_MS;
    r->telling.settling_ms = settling_ms(r);
    if (r->kubernetes)
        return node_tell_kubernetes(&r->cli->env, &r->telling, v, steps, err);
    return r->slurm ? node_tell_slurm(&r->cli->env, &r->telling, v, steps, err) : 0;
}

/* Checks once: the answer goes to `out`, a failure to `err`, and `mark` gets what identifies a changed answer, without the
 * numbers and ages in its text. */
static int check_once(struct node_request *r, struct buf *out, struct buf *mark, struct error *err)
{
    struct node_verdict v = {.well_for_ms = -1};
    struct node_steps steps = {0};
    bool simulated = false;
    int rc = judge_node(r, &v, &simulated, err);
    if (rc == -EINVAL)
        return EXIT_USAGE;
    if (rc < 0) /* report failures, too: a node that can't be judged is not healthy */
        snprintf(v.message, sizeof v.message, "%s", err->text);
    struct error untold = {0};
    int told = notify_scheduler(r, &v, &steps, &untold);
    if (told < 0)
        *err = untold;
    buf_printf(mark, "%d %s", (int)v.fitness, v.code);
    for (size_t i = 0; i < steps.count; i++)
        buf_printf(mark, " %.20s", steps.list[i]);
    if (r->cli->json)
        write_json(r, &v, &steps, simulated, err, out);
    else
        write_text(r, &v, &steps, simulated, out);
    /* A prolog that fails has Slurm drain the node: the brake holds that, too. */
    if (v.fitness == NODE_UNFIT && steps.held[0] && r->telling.drain_only)
        return EXIT_FINE;
    return v.fitness == NODE_UNFIT ? EXIT_UNFIT : v.fitness == NODE_UNKNOWN || told < 0 || rc < 0 ? EXIT_UNTOLD : EXIT_FINE;
}

/* Signals that the first process of a container does not catch don't end it. */
static void on_signal(int signal)
{
    (void)signal;
    _exit(EXIT_FINE);
}

/* Prints only changes. */
static int check_repeatedly(struct node_request *r)
{
    AUTO_BUF struct buf before = BUF(4096);
    char failed[sizeof(struct error)] = "";
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (;;) {
        AUTO_BUF struct buf out = BUF(65536), mark = BUF(4096);
        struct error err = {0};
        if (check_once(r, &out, &mark, &err) == EXIT_USAGE)
            return cli_usage(r->cli, "%s", err.text);
        if (strcmp(err.text, failed) != 0 && err.text[0])
            cli_fail("%s", err.text);
        str_copy(failed, sizeof failed, str_from(err.text));
        if (r->cli->json || !str_equal(buf_view(&mark), buf_view(&before)))
            show_text(&out);
        before.len = 0;
        buf_str(&before, buf_view(&mark));
        pause_ms(r->every_ms);
    }
}

/* ---- options ---- */

static int read_share(struct node_request *r)
{
    const char *text = options_value(r->cli->options, "max-drained", NULL);
    struct str number = str_from(text ? text : "");
    int64_t percent = MAX_PERCENT;
    if (number.len && number.at[number.len - 1] == '%')
        number.len--;
    if (text && (!str_to_i64(number, &percent) || percent < 1 || percent > 100))
        return cli_usage(r->cli, "invalid value '%s' for --max-drained; expected 1%% to 100%%", text);
    r->telling.max_percent = (int)percent;
    return EXIT_FINE;
}

static int read_rules(struct node_request *r)
{
    const struct options *o = r->cli->options;
    struct error err = {0};
    const char *gpus = options_value(o, "gpus", NULL);
    r->rules.least = strcmp(options_value(o, "at", "failing"), "degraded") == 0 ? HEALTH_DEGRADED : HEALTH_FAILING;
    config_findings(r->cli->settings, &r->settings);
    r->rules.settings = &r->settings;
    if (gpus && (!str_to_i64(str_from(gpus), &r->rules.gpus) || r->rules.gpus < 1 || r->rules.gpus > GPUS_MOST))
        return cli_usage(r->cli, "invalid value '%s' for --gpus; expected a number from 1 to %d", gpus, (int)GPUS_MOST);
    if (options_seconds(o, "interval", &r->every_ms, &err) < 0)
        return cli_usage(r->cli, "%s", err.text);
    int status = options_duration(r->cli, "timeout", &r->timeout_ms);
    if (status == EXIT_FINE)
        status = options_duration(r->cli, "recover-after", &r->telling.recover_ms);
    if (status == EXIT_FINE)
        status = options_duration(r->cli, "settle", &r->settle_ms);
    if (status == EXIT_FINE)
        status = read_share(r);
    if (status == EXIT_FINE && r->timeout_ms <= 0)
        status = cli_usage(r->cli, "--timeout must be longer than 0");
    return status;
}

/* The kubelet gives each container the API server's address. */
static int read_api(struct node_request *r)
{
    const struct options *o = r->cli->options;
    const char *host = env_variable("KUBERNETES_SERVICE_HOST"), *port = env_variable("KUBERNETES_SERVICE_PORT");
    const char *given = options_value(o, "api", NULL);
    struct str_place place;
    if (given && strncmp(given, "http://", 7) == 0 &&
        !(str_to_place((struct str){given + 7, strcspn(given + 7, "/")}, &place) && str_is_loopback(place.host)))
        return cli_usage(r->cli, "--api: only https, or http on this host (kubectl proxy), is allowed");
    if (given && strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0)
        return cli_usage(r->cli, "invalid value '%s' for --api; expected https://HOST:PORT", given);
    if (!given && !(host && host[0]))
        return cli_usage(r->cli,
                         "no API server is known: this is not a pod (KUBERNETES_SERVICE_HOST is not set); name one with --api");
    if (given)
        snprintf(r->api, sizeof r->api, "%s", given);
    else
        snprintf(r->api, sizeof r->api, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port ? port : "443");
    r->telling.api = r->api;
    r->telling.token_file = options_value(o, "token-file", ACCOUNT "token");
    r->telling.ca_file = options_value(o, "ca-file", given ? "" : ACCOUNT "ca.crt");
    r->telling.effect = options_value(o, "effect", "NoSchedule");
    return EXIT_FINE;
}

static int read_node_name(struct node_request *r)
{
    const char *name = options_value(r->cli->options, "node", NULL);
    const char *known = r->kubernetes ? r->cli->env.node_name : r->slurm ? env_variable("SLURMD_NODENAME") : NULL;
    if (name || known)
        snprintf(r->node, sizeof r->node, "%s", name ? name : known);
    else if (r->kubernetes)
        return cli_usage(r->cli, "the name of this node is unknown: set NODE_NAME (spec.nodeName), or pass --node NAME");
    else if (gethostname(r->node, sizeof r->node - 1) == 0)
        r->node[strcspn(r->node, ".")] = '\0'; /* Slurm uses the short name */
    r->telling.node = r->node;
    return EXIT_FINE;
}

static int node_health_run(struct cli *cli)
{
    const struct options *o = cli->options;
    struct node_request r = {.cli = cli,
                             .kubernetes = options_has(o, "kubernetes"),
                             .slurm = options_has(o, "slurm"),
                             .timeout_ms = TIMEOUT_MS,
                             .settle_ms = SETTLE_MS,
                             .telling = {.recover_ms = RECOVER_MS,
                                         .dry_run = options_has(o, "dry-run"),
                                         .drain_only = options_has(o, "drain-only"),
                                         .scontrol = options_value(o, "scontrol", "scontrol")}};
    if (r.kubernetes && r.slurm)
        return cli_usage(cli, "--kubernetes and --slurm can't be combined");
    int status = read_rules(&r);
    if (status == EXIT_FINE)
        status = read_node_name(&r);
    if (status == EXIT_FINE && r.kubernetes)
        status = read_api(&r);
    if (status != EXIT_FINE)
        return status;
    cli->env.one_look = !r.every_ms;
    if (r.every_ms)
        return check_repeatedly(&r);
    AUTO_BUF struct buf out = BUF(65536), mark = BUF(4096);
    struct error err = {0};
    status = check_once(&r, &out, &mark, &err);
    if (status == EXIT_USAGE)
        return cli_usage(cli, "%s", err.text);
    if (err.text[0])
        cli_fail("%s", err.text);
    int shown = show_text(&out);
    return shown == EXIT_FINE ? status : EXIT_UNTOLD;
}

static const char *const states[] = {"degraded", "failing", NULL};
static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", "none", NULL};

static const struct option_spec options[] = {
    {.name = "kubernetes", .help = "Set condition and taint of the node, as the pod's service account"},
    {.name = "slurm", .help = "Drain the node with scontrol, and resume what whirr drained"},
    {.name = "dry-run", .help = "Change nothing, show what would be changed"},
    {.name = "node", .argument = "NAME", .help = "The node's name (NODE_NAME, SLURMD_NODENAME)"},
    {.name = "at", .argument = "STATE", .values = states, .help = "Unfit from this health on: degraded, failing (default)"},
    {.name = "gpus", .argument = "NUMBER", .help = "Unfit with fewer GPUs than this"},
    {.name = "recover-after", .argument = "DURATION", .help = "Bring it back once it has been healthy for this long (5m)"},
    {.name = "max-drained",
     .argument = "SHARE",
     .help = "Drain only while fewer of the nodes are drained by whirr (10%, at least one)"},
    {.name = "settle", .argument = "DURATION", .help = "After an upgrade, drain nothing for this long (1h)"},
    {.name = "interval", .argument = "SECONDS", .help = "Check every SECONDS (default: once)"},
    {.name = "timeout", .argument = "DURATION", .help = "Stop trying to reach the scheduler after this time (20s)"},
    {.name = "effect", .argument = "EFFECT", .values = effects, .help = "Of the taint: NoSchedule (default), none, ..."},
    {.name = "api", .argument = "URL", .help = "The API server, if not this pod's"},
    {.name = "token-file", .argument = "FILE", .complete = COMPLETE_FILE, .help = "Its token"},
    {.name = "ca-file", .argument = "FILE", .complete = COMPLETE_FILE, .help = "Its CA"},
    {.name = "scontrol", .argument = "PROGRAM", .complete = COMPLETE_FILE, .help = "Slurm's scontrol"},
    {.name = "drain-only", .help = "With --slurm, never resume: for a prolog"},
};

const struct command command_node_health = {
    .exits = "0 fit for work; 1 unfit; 2 wrong usage or configuration; 3 nothing could be judged, or the scheduler refused it.",
    .name = "node-health",
    .place = "health --slurm|--kubernetes",
    .hidden = true,
    .group = HELP_RUN,
    .summary = "Keep work off a node with bad GPUs: Kubernetes, Slurm, scripts",
    .details =
        "A node is unfit while a GPU is failing or lost, or has a finding that forbids placing work on it and has held for its "
        "time. A running daemon judges; without one, a single look counts only what needs no time. Kubernetes gets the condition "
        "GpuUnhealthy and the taint whirr/gpu-unhealthy, Slurm a drain with a reason that begins with \"whirr: \". What others set "
        "is never changed, and what can't be judged changes neither taint nor drain. Where many nodes are unfit at once, only a "
        "share "
        "of them is drained, by a new version none: people decide, from the condition and the alerts.",
    OPTIONS(options),
    .examples = {{"whirr health --slurm --dry-run", "what would be done to this node"},
                 {"whirr health --kubernetes --dry-run", "what would be set on this node"},
                 {"whirr health --slurm --gpus 8", "as HealthCheckProgram"}},
    .any_socket = true,
    .lacks = "gpu",
    .run = node_health_run,
};
