/* SPDX-License-Identifier: Apache-2.0
 * The source: keeps the cards between runs, runs nvidia-smi, merges a sample out of several outputs, and decides when to run it.
 * Each sample takes one run for readings and one for processes; slow values and graphics processes come from -q -x with the slow
 * group. All runs of a refresh share one time limit; a column that this driver doesn't know is never queried again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "source/driver_places.h"
#include "source/nvidia_smi/nvidia_smi_report.h"
#include "source/nvml/outside.h"
#include "source/source.h"

/* A card between runs. */
struct smi_known_card {
    struct gpu_id id;
    int index;
    bool asleep;
    struct mono skip_until; /* while lost it hides the others, so don't query it until then */
    struct gpu now;         /* from the newest query, with compute processes */
    struct gpu slow;        /* from the newest -q -x */
    bool listed;            /* nvidia-smi has listed it at least once */
};

/* Message for a card that may be the one of such a row. */
#define NAMELESS "nvidia-smi lists a GPU without its UUID and PCI address; it is asked again"

/* The driver's spelling of a column. */
enum spelling { SPELLING_UNKNOWN, SPELLING_NEW, SPELLING_OLD };

struct smi {
    struct source source;
    const struct env *env;
    struct mono deadline; /* of this refresh, for all its runs */
    bool columns_known;
    char program[PATH_SIZE]; /* name, or path if not in PATH */
    enum spelling spelling[COLUMN_COUNT_MAX];
    bool xml_only; /* a driver older than --query-gpu */
    bool changed;
    struct smi_known_card *cards;
    size_t count;
    size_t awake;   /* in sysfs, listed by nvidia-smi or not */
    size_t hidden;  /* by NVIDIA_VISIBLE_DEVICES */
    bool no_memory; /* out of memory for a new one */
    struct driver_info driver;
    struct mono queried_at; /* ns 0: never */
    unsigned queried_groups;
    bool xml_known, xml_fresh; /* -q -x was read once; was read in this refresh */
    bool began;                /* there was a run since the clock started */
    bool more_late;            /* no time was left for -q -x or the processes: their values are pending */
    bool version_asked;
    enum reading_state processes_state; /* of this refresh */
    unsigned runs;
    int64_t last_run_ms;
};

enum { STILL_FRESH_MS = 250 }; /* open()'s query serves the first sample */

static struct smi *of(struct source *s)
{
    return (struct smi *)s;
}

/* ---- Cards between runs, identified by UUID and PCI address: a lost card may renumber the others ---- */

/* By UUID or PCI address, as far as known. */
static bool is_same_card(const struct gpu_id *a, const struct gpu_id *b)
{
    return (a->uuid[0] && strcmp(a->uuid, b->uuid) == 0) || (a->pci_address[0] && strcmp(a->pci_address, b->pci_address) == 0);
}

static struct smi_known_card *card_find(struct smi *s, const struct gpu_id *id)
{
    for (size_t i = 0; i < s->count; i++) {
        if (is_same_card(id, &s->cards[i].id))
            return &s->cards[i];
    }
    return NULL;
}

static struct smi_known_card *cards_add(struct smi *s, const struct gpu_id *id, int index)
{
    if (s->count == GPU_MAX)
        return NULL;
    struct smi_known_card *more = realloc(s->cards, (s->count + 1) * sizeof *more);
    if (!more) {
        s->no_memory = true;
        return NULL;
    }
    s->cards = more;
    struct smi_known_card *card = &more[s->count++];
    *card = (struct smi_known_card){.id = *id, .index = index};
    s->changed = true;
    return card;
}

static void cards_done(struct smi *s)
{
    for (size_t i = 0; i < s->count; i++) {
        gpu_done(&s->cards[i].now);
        gpu_done(&s->cards[i].slow);
    }
    free(s->cards);
    s->cards = NULL;
    s->count = 0;
}

/* From sysfs, without touching the cards. */
static void cards_look_asleep(struct smi *s)
{
    struct nvml_seen seen[GPU_MAX];
    int found = sleep_scan(s->env, seen, ARRAY_LEN(seen));
    if (found < 0)
        return; /* keep the last state */
    size_t count = (size_t)found;
    for (size_t i = 0; i < s->count; i++)
        s->cards[i].asleep = false;
    s->awake = 0;
    for (size_t i = 0; i < count; i++) {
        s->awake += !seen[i].asleep;
        struct gpu_id id = {0};
        str_copy(id.pci_address, sizeof id.pci_address, str_from(seen[i].address));
        struct smi_known_card *card = card_find(s, &id);
        if (!card && seen[i].asleep) {
            /* nvidia-smi would wake it; files have what can be known. */
            sleep_identify(s->env, seen[i].address, &id);
            if (visible_card(s->env->visible_devices, count, (int)i, id.uuid, NULL))
                card = cards_add(s, &id, -1);
        }
        if (card)
            card->asleep = seen[i].asleep;
    }
}

static bool cards_all_asleep(const struct smi *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->cards[i].asleep)
            return false;
    return s->count > 0 && s->awake == 0;
}

static bool may_ask(const struct smi *s, const struct smi_known_card *card)
{
    return !card->asleep && clock_mono(s->env->clock).ns >= card->skip_until.ns;
}

/* "0000:01:00.0,..." of the cards that may be queried; "": all. */
static void cards_to_ask(struct smi *s, struct buf *out)
{
    struct nvml_seen seen[GPU_MAX];
    bool all = true;
    for (size_t i = 0; i < s->count; i++)
        all = all && may_ask(s, &s->cards[i]);
    if (all)
        return;
    /* GPUs not listed yet may exist, too. */
    int count = sleep_scan(s->env, seen, ARRAY_LEN(seen));
    for (int i = 0; i < count; i++) {
        struct gpu_id id = {0};
        str_copy(id.pci_address, sizeof id.pci_address, str_from(seen[i].address));
        struct smi_known_card *card = card_find(s, &id);
        if (seen[i].asleep || (card && !may_ask(s, card)))
            continue;
        buf_printf(out, "%s%s", out->len ? "," : "", seen[i].address);
    }
    for (size_t i = 0; i < s->count && count <= 0; i++)
        if (may_ask(s, &s->cards[i]) && s->cards[i].id.pci_address[0])
            buf_printf(out, "%s%s", out->len ? "," : "", s->cards[i].id.pci_address);
}

/* Sets state and message; a lost card keeps its message while it is skipped. */
static void set_state(struct smi_known_card *card, enum gpu_state gpu_state, const char *message)
{
    if (card->now.state == GPU_LOST)
        return;
    gpu_done(&card->now);
    card->now = (struct gpu){0};
    gpu_mark_state(&card->now, gpu_state, message);
}

static bool in_report(const struct smi_report *r, const struct smi_known_card *card)
{
    for (size_t i = 0; i < r->count; i++)
        if (is_same_card(&card->id, &r->cards[i].gpu.id))
            return true;
    return false;
}

static struct smi_known_card *find_or_add(struct smi *s, const struct smi_card *said, const struct visible_uuids *all)
{
    const struct gpu_id *id = &said->gpu.id;
    struct smi_known_card *card = card_find(s, id);
    if (card)
        return card;
    if (!visible_card(s->env->visible_devices, all->count, said->index, id->uuid, all)) {
        s->hidden++;
        return NULL;
    }
    return cards_add(s, id, said->index);
}

static void learn_identity(struct smi_known_card *card, const struct gpu_id *id)
{
    if (!card->id.uuid[0])
        str_copy(card->id.uuid, sizeof card->id.uuid, str_from(id->uuid));
    if (!card->id.pci_address[0])
        str_copy(card->id.pci_address, sizeof card->id.pci_address, str_from(id->pci_address));
    if (id->name[0])
        str_copy(card->id.name, sizeof card->id.name, str_from(id->name));
}

/* Applies a query: new cards, lost cards. */
static void cards_update(struct smi *s, struct smi_report *r)
{
    struct visible_uuids all = {.count = MIN_OF(r->count, (size_t)GPU_MAX)};
    for (size_t i = 0; i < all.count; i++)
        all.at[i] = r->cards[i].gpu.id.uuid;
    s->hidden = 0;
    s->no_memory = false;
    for (size_t i = 0; i < r->count; i++) {
        struct smi_known_card *card = find_or_add(s, &r->cards[i], &all);
        if (!card)
            continue;
        learn_identity(card, &r->cards[i].gpu.id);
        card->index = r->cards[i].index >= 0 ? r->cards[i].index : card->index;
        card->listed = true;
        if (r->cards[i].gpu.state == GPU_LOST) {
            set_state(card, GPU_LOST, r->cards[i].gpu.error_message);
            continue;
        }
        gpu_done(&card->now);
        card->now = r->cards[i].gpu;
        /* Its lists were moved. */
        struct gpu *left = &r->cards[i].gpu;
        left->processes = NULL;
        left->instances = NULL;
        left->process_count = left->process_capacity = left->instance_count = 0;
    }
    for (size_t i = 0; i < s->count; i++) {
        struct smi_known_card *card = &s->cards[i];
        if (card->listed && may_ask(s, card) && !in_report(r, card))
            set_state(card, r->nameless ? GPU_ERROR : GPU_LOST, r->nameless ? NAMELESS : "nvidia-smi no longer lists this GPU");
    }
}

/* Applies the processes of a query. */
static void cards_update_apps(struct smi *s, struct smi_report *r)
{
    for (size_t i = 0; i < s->count; i++) {
        struct gpu *now = &s->cards[i].now;
        free(now->processes);
        now->processes = NULL;
        now->process_count = now->process_capacity = now->processes_left_out = 0;
        struct smi_card *said = smi_report_card(r, s->cards[i].id.uuid, s->cards[i].id.pci_address);
        if (!said)
            continue;
        now->processes = TAKE(said->gpu.processes);
        now->process_count = now->process_capacity = said->gpu.process_count;
        now->processes_left_out = said->gpu.processes_left_out;
        said->gpu.process_count = said->gpu.process_capacity = 0;
    }
}

static void cards_update_slow(struct smi *s, struct smi_report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct smi_known_card *card = card_find(s, &r->cards[i].gpu.id);
        if (!card)
            continue;
        gpu_done(&card->slow);
        card->slow = r->cards[i].gpu;
        r->cards[i].gpu = (struct gpu){.id = card->slow.id};
    }
}

/* ---- Running it ---- */

enum {
    LIMIT_MS = 4800,  /* 5 s per run are promised; a sample must not take longer, or the engine would give up on the source */
    START_MS = 11000, /* all runs of the first sample */
    LEAST_MS = 50,    /* don't start a run with less */
    OUTPUT_MAX = 8 << 20,
    ARGUMENTS = 8,
    COMPLAINTS = 24, /* columns that the oldest driver lacks */
    SKIP_LOST_MS = 60 * 1000,
};

static void start_clock(struct smi *s)
{
    s->began = false;
    s->deadline = (struct mono){clock_mono(s->env->clock).ns + (int64_t)(s->runs ? LIMIT_MS : START_MS) * NS_PER_MS};
}

/* Runs nvidia-smi with these arguments (NULL-terminated); `of_cards`: only for cards that may be queried. Returns the exit
 * status or -errno. */
static int run(struct smi *s, const char *const *args, bool of_cards, struct buf *out, struct error *err)
{
    AUTO_BUF struct buf ids = BUF(GPU_MAX * GPU_PCI_SIZE), noise = BUF(64 * 1024);
    const char *argv[ARGUMENTS] = {s->program};
    size_t count = 1;
    while (*args && count < ARGUMENTS - 3)
        argv[count++] = *args++;
    if (of_cards)
        cards_to_ask(s, &ids);
    if (ids.len) {
        argv[count++] = "-i";
        argv[count++] = ids.at;
    }
    struct mono start = clock_mono(s->env->clock);
    int64_t left = mono_since_ms(s->deadline, start);
    /* A run as slow as the last would be killed: skip it, so that earlier results arrive in time. */
    if (left < LEAST_MS || (s->began && left < s->last_run_ms))
        return error_set(err, -ETIMEDOUT, "nvidia-smi takes %lld ms a run and is still being asked", (long long)s->last_run_ms);
    struct launch launch = {.argv = argv, .timeout_ms = MIN_OF(left, (int64_t)LIMIT_MS), .out = out, .err = &noise};
    int rc = s->env->launch(s->env, &launch, err);
    if (rc == -ENOENT && s->runs == 0 && place_find_program(s->env, s->env->nvidia_smi, s->program))
        rc = s->env->launch(s->env, &launch, err);
    s->runs++;
    s->began = true;
    s->last_run_ms = mono_since_ms(clock_mono(s->env->clock), start);
    if (rc == -ETIMEDOUT)
        return error_set(err, rc, "nvidia-smi did not finish within 5 s and was killed; it is asked again");
    if (rc == -ENOENT || rc == -EACCES)
        return error_set(err, -ENODEV, "the program '%s' is not installed", s->env->nvidia_smi);
    if (rc >= 0 && out->failed)
        return buf_check(out, err, "nvidia-smi writes more than %d MiB", OUTPUT_MAX >> 20);
    /* nvidia-smi prints errors to stdout or stderr; parsers recognize them by text. */
    if (noise.len && !noise.failed) {
        buf_char(out, '\n');
        buf_str(out, buf_view(&noise));
    }
    return rc;
}

static bool quoted_in(struct str help, const char *name)
{
    char quoted[96];
    size_t len = strlen(name);
    if (len + 3 > sizeof quoted)
        return false;
    quoted[0] = '"';
    memcpy(quoted + 1, name, len);
    memcpy(quoted + 1 + len, "\"", 2);
    return str_contains(help, quoted);
}

static int learn_columns(struct smi *s, struct error *err)
{
    if (s->columns_known)
        return 0;
    AUTO_BUF struct buf help = BUF(OUTPUT_MAX);
    const char *args[] = {"--help-query-gpu", NULL};
    int rc = run(s, args, false, &help, err);
    if (rc < 0)
        return rc;
    s->columns_known = true;
    size_t always = 0;
    for (size_t i = 0; i < smi_column_count; i++) {
        bool known = quoted_in(buf_view(&help), smi_columns[i].name);
        bool old = smi_columns[i].old_name && quoted_in(buf_view(&help), smi_columns[i].old_name);
        s->spelling[i] = known ? SPELLING_NEW : old ? SPELLING_OLD : SPELLING_UNKNOWN;
        always += i < COLUMNS_ALWAYS && s->spelling[i];
    }
    if (always == COLUMNS_ALWAYS)
        return 0;
    /* No such help: query everything, and drop what it complains about. Each complaint takes a run: if the program is slow,
     * query only what every driver knows; -q -x has most of the rest. */
    bool quick = s->last_run_ms * COMPLAINTS < LIMIT_MS;
    for (size_t i = 0; i < smi_column_count; i++) {
        enum field_target target = smi_columns[i].target;
        bool basic = i < COLUMNS_ALWAYS || target == FIELD_UUID || target == FIELD_PCI;
        s->spelling[i] = quick || basic ? SPELLING_NEW : SPELLING_UNKNOWN;
    }
    return 0;
}

static size_t choose_columns(const struct smi *s, unsigned groups, const struct smi_field **columns, struct buf *names)
{
    size_t count = 0;
    for (size_t i = 0; i < smi_column_count; i++) {
        const struct smi_field *field = &smi_columns[i];
        if (!s->spelling[i] || (i >= COLUMNS_ALWAYS && !(smi_field_groups(field) & groups)))
            continue;
        buf_text(names, count ? "," : "--query-gpu=");
        buf_text(names, s->spelling[i] == SPELLING_OLD ? field->old_name : field->name);
        columns[count++] = field;
    }
    return count;
}

static bool drop_column(struct smi *s, struct str name)
{
    for (size_t i = 0; i < smi_column_count; i++) {
        const struct smi_field *field = &smi_columns[i];
        if (s->spelling[i] == SPELLING_NEW && str_is(name, field->name)) {
            s->spelling[i] = field->old_name ? SPELLING_OLD : SPELLING_UNKNOWN;
            return true;
        }
        if (s->spelling[i] == SPELLING_OLD && str_is(name, field->old_name)) {
            s->spelling[i] = SPELLING_UNKNOWN;
            return true;
        }
    }
    return false;
}

/* Some drivers fail for all cards when one is lost. Skip that one for a while, so that the others can be read. */
static bool leave_out_lost(struct smi *s, struct smi_report *r)
{
    struct mono until = {clock_mono(s->env->clock).ns + (int64_t)SKIP_LOST_MS * NS_PER_MS};
    cards_update(s, r);
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        struct smi_known_card *card = card_find(s, &r->cards[i].gpu.id);
        if (!card || r->cards[i].gpu.state != GPU_LOST)
            continue;
        card->skip_until = until;
        any = true;
    }
    AUTO_BUF struct buf others = BUF(GPU_MAX * GPU_PCI_SIZE);
    cards_to_ask(s, &others);
    return any && others.len;
}

static int run_query(struct smi *s, unsigned groups, struct smi_report *r, struct error *err)
{
    bool left_out = false;
    int rc = learn_columns(s, err);
    if (rc < 0)
        return rc;
    for (size_t tries = 0; tries < 2 * COLUMN_COUNT_MAX; tries++) {
        const struct smi_field *columns[COLUMN_COUNT_MAX];
        AUTO_BUF struct buf names = BUF(8192), out = BUF(OUTPUT_MAX);
        size_t count = choose_columns(s, groups, columns, &names);
        const char *args[] = {names.at, "--format=csv,noheader,nounits", NULL};
        if (!names.at || names.failed)
            return error_set(err, -ENOMEM, "out of memory");
        int status = run(s, args, true, &out, err);
        if (status < 0)
            return status;
        struct str text = buf_view(&out), column;
        if (smi_unknown_column(text, &column) && drop_column(s, column))
            continue;
        size_t rows = smi_read_csv(r, text, columns, count), lost = smi_lost_cards(r, text);
        if (r->no_memory)
            return error_set(err, -ENOMEM, "out of memory");
        if (rows && r->nameless == rows && lost == 0)
            return error_set(err, -EIO, NAMELESS);
        if (rows == 0 && lost && !left_out && leave_out_lost(s, r)) {
            left_out = true;
            continue;
        }
        if (rows == 0 && lost == 0 && smi_unknown_option(text))
            s->xml_only = true;
        else if (rows == 0 && lost == 0)
            return smi_explain(text, status, err);
        return 0;
    }
    return error_set(err, -EIO, "nvidia-smi refuses one column after the other");
}

static int run_apps(struct smi *s, struct smi_report *r, struct error *err)
{
    AUTO_BUF struct buf out = BUF(OUTPUT_MAX);
    const char *args[] = {"--query-compute-apps=pid,name,used_memory,gpu_uuid", "--format=csv,noheader,nounits", NULL};
    int status = run(s, args, true, &out, err);
    if (status < 0)
        return status;
    /* No processes means no rows and status 0. */
    if (smi_read_apps(r, buf_view(&out)) == 0 && status != 0)
        return smi_explain(buf_view(&out), status, err);
    return 0;
}

static int run_xml(struct smi *s, struct smi_report *r, struct error *err)
{
    AUTO_BUF struct buf out = BUF(OUTPUT_MAX), list = BUF(OUTPUT_MAX);
    const char *args[] = {"-q", "-x", NULL}, *list_args[] = {"-L", NULL};
    int status = run(s, args, true, &out, err);
    if (status < 0)
        return status;
    int rc = smi_read_xml(r, buf_view(&out), err);
    size_t instances = 0;
    for (size_t i = 0; i < r->count; i++)
        instances += r->cards[i].gpu.instance_count;
    if (rc < 0 && r->count == 0)
        return status ? smi_explain(buf_view(&out), status, err) : rc;
    if (instances && run(s, list_args, false, &list, NULL) == 0)
        smi_read_list(r, buf_view(&list));
    return 0;
}

static void run_version(struct smi *s)
{
    AUTO_BUF struct buf out = BUF(OUTPUT_MAX);
    const char *args[] = {"--version", NULL};
    if (run(s, args, false, &out, NULL) == 0)
        smi_read_version(&s->driver, buf_view(&out));
}

/* ---- One sample of a card: the newest query, plus what only the less frequent -q -x has ---- */

/* Values that change with every sample never come from an older output; temperature limits may. */
static bool may_be_older(const struct smi *s, enum metric metric)
{
    return s->xml_only || s->xml_fresh || metric == METRIC_temp_limit_mdegc ||
           !(metric_table[metric].group & (GROUP_FAST | GROUP_PROCESS));
}

static void merge_metrics(const struct smi *s, const struct smi_known_card *card, unsigned groups, struct gpu *out)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (!(metric_table[i].group & groups))
            continue;
        struct reading now = card->now.metric[i], slow = card->slow.metric[i];
        if (!may_be_older(s, (enum metric)i))
            slow = reading_absent(READING_UNREAD);
        bool take_slow = now.state != READING_OK && (slow.state == READING_OK || now.state == READING_UNREAD);
        out->metric[i] = take_slow ? slow : now;
    }
    for (size_t i = 0; (groups & GROUP_STATIC) && i < PROPERTY_COUNT; i++)
        out->property[i] = card->now.property[i].state == READING_OK || card->slow.property[i].state == READING_UNREAD
                               ? card->now.property[i]
                               : card->slow.property[i];
    if (groups & GROUP_STATIC) {
        gpu_set_property(out, PROPERTY_driver, "nvidia");
        if (s->driver.driver_version[0])
            gpu_set_property(out, PROPERTY_driver_version, s->driver.driver_version);
        if (card->now.mem_total_bytes.state == READING_OK)
            gpu_set_property(out, PROPERTY_memory_kind, "dedicated");
    }
}

/* nvidia-smi reads names from the same /proc as we do, where a host PID may be another process: leave visible ones to the
 * engine, which checks more closely. */
static void copy_process(const struct smi *s, const struct process *from, struct process *to)
{
    char path[64];
    int32_t pid = to->pid;
    *to = *from;
    to->pid = pid;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (file_exists(s->env, path))
        to->name[0] = '\0';
}

static void merge_add_process(const struct smi *s, const struct process *from, struct gpu *out)
{
    struct process *p = gpu_add_process(out, from->pid);
    if (p)
        copy_process(s, from, p);
}

/* The list of -q -x is complete; the more frequent query has only compute processes: keep the graphics ones. */
static void merge_processes(const struct smi *s, const struct smi_known_card *card, struct gpu *out)
{
    out->processes_state = s->processes_state;
    for (size_t i = 0; i < card->now.process_count && !s->xml_fresh; i++)
        merge_add_process(s, &card->now.processes[i], out);
    for (size_t i = 0; i < card->slow.process_count; i++) {
        const struct process *slow = &card->slow.processes[i];
        struct process *p = gpu_find_process(out, slow->pid);
        if (!p) {
            if (s->xml_fresh || (slow->type & PROCESS_GRAPHICS))
                merge_add_process(s, slow, out);
            continue;
        }
        p->type |= slow->type;
        p->instance = p->instance < 0 ? slow->instance : p->instance;
        if (p->mem_bytes.state != READING_OK)
            p->mem_bytes = slow->mem_bytes;
        else if (s->xml_fresh && slow->mem_bytes.state == READING_OK)
            p->mem_bytes.value += slow->mem_bytes.value; /* in two instances at once */
    }
}

static void merge_instances(const struct smi_known_card *card, unsigned groups, struct gpu *out)
{
    for (size_t i = 0; i < card->slow.instance_count; i++) {
        struct gpu *instance = gpu_add_instance(out);
        if (!instance)
            return;
        *instance = card->slow.instances[i]; /* instances own no lists */
        gpu_mark_absent(instance, groups, READING_UNSUPPORTED);
    }
}

static bool all_failed(const struct gpu *gpu)
{
    size_t failed = 0;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (gpu->metric[i].state == READING_OK)
            return false;
        failed += gpu->metric[i].state == READING_FAILED;
    }
    return failed > 0;
}

static void merge_sample(const struct smi *s, const struct smi_known_card *card, unsigned groups, struct gpu *out)
{
    out->id = card->id;
    if (card->asleep) {
        gpu_mark_state(out, GPU_ASLEEP, "");
        return;
    }
    const struct gpu *told = s->xml_only ? &card->slow : &card->now;
    if (told->state == GPU_LOST) {
        gpu_mark_state(out, GPU_LOST, told->error_message);
        return;
    }
    merge_metrics(s, card, groups, out);
    if (groups & GROUP_PROCESS)
        merge_processes(s, card, out);
    merge_instances(card, groups, out);
    if (all_failed(out)) {
        gpu_done(out);
        gpu_mark_state(out, GPU_ERROR,
                       told->error_message[0] ? told->error_message : "nvidia-smi reports an error for every value of this GPU");
        return;
    }
    out->state = told->state;
    str_copy(out->error_message, sizeof out->error_message, str_from(told->error_message));
    gpu_mark_absent(out, groups, s->more_late ? READING_PENDING : READING_UNSUPPORTED);
}

/* ---- When to run it ---- */

static void smi_close(struct source *source)
{
    struct smi *s = of(source);
    if (!s)
        return;
    cards_done(s);
    free(s);
}

static int read_xml(struct smi *s, struct error *err)
{
    AUTO_REPORT struct smi_report r = {0};
    int rc = run_xml(s, &r, err);
    if (rc < 0)
        return rc;
    s->xml_known = s->xml_fresh = true;
    if (r.driver.driver_version[0])
        str_copy(s->driver.driver_version, sizeof s->driver.driver_version, str_from(r.driver.driver_version));
    if (r.driver.cuda_version[0])
        str_copy(s->driver.cuda_version, sizeof s->driver.cuda_version, str_from(r.driver.cuda_version));
    if (s->xml_only) { /* it also lists the cards */
        AUTO_REPORT struct smi_report cards = {0};
        for (size_t i = 0; i < r.count; i++) {
            struct smi_card *card = smi_report_card(&cards, r.cards[i].gpu.id.uuid, r.cards[i].gpu.id.pci_address);
            if (!card)
                continue;
            card->index = (int)i;
            card->gpu.id = r.cards[i].gpu.id;
        }
        cards_update(s, &cards);
    }
    s->processes_state = READING_OK;
    cards_update_slow(s, &r);
    return 0;
}

static int read_apps(struct smi *s, struct error *err)
{
    AUTO_REPORT struct smi_report r = {0};
    for (size_t i = 0; i < s->count; i++)
        smi_report_card(&r, s->cards[i].id.uuid, s->cards[i].id.pci_address);
    int rc = run_apps(s, &r, err);
    s->processes_state = rc == -ETIMEDOUT ? READING_PENDING : rc < 0 ? READING_FAILED : READING_OK;
    cards_update_apps(s, &r);
    return rc;
}

static int query(struct smi *s, unsigned groups, struct error *err)
{
    AUTO_REPORT struct smi_report r = {0};
    int rc = s->xml_only ? 0 : run_query(s, groups, &r, err);
    if (rc < 0 || s->xml_only)
        return rc;
    for (size_t i = 0; i < r.count; i++)
        if (r.cards[i].gpu.driver_version.state == READING_OK)
            str_copy(s->driver.driver_version, sizeof s->driver.driver_version, str_from(r.cards[i].gpu.driver_version.value));
    cards_update(s, &r);
    if (s->no_memory)
        return error_set(err, -ENOMEM, "out of memory");
    s->queried_at = clock_mono(s->env->clock);
    s->queried_groups = groups;
    return 0;
}

static bool is_fresh(const struct smi *s)
{
    return s->queried_at.ns && mono_since_ms(clock_mono(s->env->clock), s->queried_at) < STILL_FRESH_MS;
}

/* Runs -q -x when due; it also lists all processes, including graphics ones. */
static int read_more(struct smi *s, unsigned groups, struct error *err)
{
    bool due = s->xml_only || (groups & (GROUP_SLOW | GROUP_STATIC)) || ((groups & GROUP_PROCESS) && !s->xml_known);
    struct error why = {0};
    int rc = due ? read_xml(s, &why) : 0;
    if (rc < 0 && s->xml_only)
        return error_set(err, rc, "%s", why.text);
    s->more_late = rc == -ETIMEDOUT;
    if (rc == 0 && due)
        return 0;
    /* Without it, only its own values are missing. */
    rc = groups & GROUP_PROCESS ? read_apps(s, &why) : 0;
    s->more_late |= rc == -ETIMEDOUT;
    return 0;
}

static int smi_refresh(struct source *source, unsigned groups, struct error *err)
{
    struct smi *s = of(source);
    bool served = is_fresh(s) && (groups & ~s->queried_groups) == 0;
    if (!served)
        start_clock(s);
    cards_look_asleep(s);
    if (cards_all_asleep(s) || visible_kind(s->env->visible_devices) == VISIBLE_NONE)
        return 0;
    s->xml_fresh = false;
    int rc = served ? 0 : query(s, groups, err);
    s->queried_groups = 0; /* use it only once */
    return rc < 0 ? rc : read_more(s, groups, err);
}

static int start(struct smi *s, struct error *err)
{
    start_clock(s);
    cards_look_asleep(s);
    if (cards_all_asleep(s))
        return 0;
    int rc = query(s, GROUP_ALL, err);
    if (rc == 0 && s->xml_only)
        rc = read_xml(s, err);
    return rc;
}

static int smi_check(const char *params, struct error *err)
{
    return params[0] ? error_set(err, -EINVAL, "the source nvidia-smi takes no parameters, but got '%s'", params) : 0;
}

static int smi_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    if (smi_check(params, err) < 0)
        return -EINVAL;
    /* The program would report this host, not the recorded one; one given by path is intended. */
    if (env_is_recorded(env) && !strchr(env->nvidia_smi, '/'))
        return error_set(err, -ENODEV, "nvidia-smi is not run on a recorded machine");
    struct smi *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &nvidia_smi_source;
    s->env = env;
    str_copy(s->program, sizeof s->program, str_from(env->nvidia_smi));
    int rc = visible_kind(env->visible_devices) == VISIBLE_NONE ? 0 : start(s, err);
    if (rc < 0) {
        smi_close(&s->source);
        return rc;
    }
    s->changed = false;
    *ret = &s->source;
    return 0;
}

static int smi_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct smi *s = of(source);
    size_t count = MIN_OF(s->count, max);
    for (size_t i = 0; i < count; i++)
        ids[i] = s->cards[i].id;
    s->changed = false;
    return (int)count;
}

static bool smi_changed(struct source *source)
{
    return of(source)->changed;
}

static void smi_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct smi *s = of(source);
    if (gpu < s->count)
        merge_sample(s, &s->cards[gpu], groups, out);
}

static void smi_driver(struct source *source, struct driver_info *out)
{
    struct smi *s = of(source);
    /* Old drivers lack the option; use the other outputs then. */
    if (!s->version_asked && s->runs) {
        s->version_asked = true;
        run_version(s);
    }
    *out = s->driver;
}

static void smi_describe(struct source *source, struct buf *out)
{
    struct smi *s = of(source);
    buf_printf(out, "program %s, %u runs, the last took %lld ms\n", s->program, s->runs, (long long)s->last_run_ms);
    if (s->env->visible_devices && s->hidden)
        buf_printf(out, "NVIDIA_VISIBLE_DEVICES=%s hides %zu GPUs\n", s->env->visible_devices, s->hidden);
    if (s->xml_only)
        buf_text(out, "this driver does not know --query-gpu: read through -q -x\n");
    size_t missing = 0;
    for (size_t i = 0; i < smi_column_count && !s->xml_only && s->runs; i++) {
        if (s->spelling[i] != SPELLING_UNKNOWN)
            continue;
        buf_printf(out, "%s%s", missing++ ? ", " : "columns that this driver does not know: ", smi_columns[i].name);
    }
    buf_text(out, missing ? "\n" : "");
    for (size_t i = 0; i < s->count; i++) {
        const struct smi_known_card *card = &s->cards[i];
        const char *state = card->asleep ? "asleep, not touched" : card->now.state == GPU_LOST ? card->now.error_message : "read";
        buf_printf(out, "GPU %zu %s %s: %s\n", i, card->id.pci_address, card->id.name, state);
    }
}

const struct source_ops nvidia_smi_source = {
    .name = "nvidia-smi",
    .what = "NVIDIA GPUs through the program nvidia-smi, where NVML cannot be used",
    .instead_of = "nvml",
    .automatic = true,
    .periodic_only = true,
    .check = smi_check,
    .open = smi_open,
    .list = smi_list,
    .refresh = smi_refresh,
    .sample = smi_sample,
    .driver = smi_driver,
    .changed = smi_changed,
    .describe = smi_describe,
    .close = smi_close,
};
