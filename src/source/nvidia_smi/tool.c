/* SPDX-License-Identifier: Apache-2.0
 * Runs nvidia-smi, and says what its failures mean. All runs of a refresh share one time limit; a column that this driver doesn't
 * know is never queried again.
 */
#include "source/nvidia_smi/internal.h"

#include <errno.h>

#include "base/cleanup.h"
#include "source/sysfs/sysfs_places.h"

/* The sentence is ours, the words in parentheses are the tool's, for people who search for them. */
static const struct {
    const char *says; /* part of the message */
    int code;
    const char *sentence;
} messages[] = {
    {"couldn't communicate with the NVIDIA driver", -ENODEV,
     "the NVIDIA driver is not running: load it (modprobe nvidia) or install it for the running kernel"},
    {"Driver/library version mismatch", -ENODEV,
     "the NVIDIA driver in the kernel and its libraries have different versions, as after an upgrade: reboot, or reload the nvidia "
     "kernel modules"},
    {"No devices were found", -ENODEV, "the NVIDIA driver runs but finds no GPU that it can use: look at the kernel log (dmesg)"},
    {"GPU access blocked by the operating system", -EACCES,
     "the operating system blocks access to the GPU: under WSL, update Windows and its NVIDIA driver"},
    {"Insufficient Permissions", -EACCES, "no permission to use the NVIDIA driver: check the device files /dev/nvidia*"},
    {"Failed to initialize NVML: Unknown Error", -ENODEV,
     "NVML cannot be initialized: in a container, access to /dev/nvidia* was taken away after its start, restart the container"},
    {"Failed to initialize NVML: Driver Not Loaded", -ENODEV, "the NVIDIA driver is not loaded: modprobe nvidia"},
    {"Failed to initialize NVML", -ENODEV, "NVML cannot be initialized"},
    {"couldn't find libnvidia-ml.so", -ENODEV,
     "the library libnvidia-ml.so of the NVIDIA driver is missing: install the driver's "
     "utilities, or pass them into the container"},
    {"GPU is lost", -EIO, "a GPU is lost and hides the others: reboot the host, or reset the GPU"},
    {"Unable to determine the device handle", -EIO, "a GPU cannot be reached and hides the others: look at the kernel log (dmesg)"},
};

/* The first non-empty line. */
static struct str first_line(struct str output)
{
    struct str line;
    while (str_cut(&output, '\n', &line)) {
        line = str_trim(line);
        if (line.len)
            return line;
    }
    return (struct str){"", 0};
}

int smi_explain(struct str output, int status, struct error *err)
{
    char words[200];
    str_copy_clean(words, sizeof words, first_line(output));
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        if (str_contains(output, messages[i].says))
            return error_set(err, messages[i].code, "%s (%s)", messages[i].sentence, words);
    if (words[0])
        return error_set(err, -EIO, "nvidia-smi failed with status %d (%s)", status, words);
    return error_set(err, -EIO, "nvidia-smi failed with status %d and no message", status);
}

bool smi_unknown_column(struct str output, struct str *column)
{
    static const char mark[] = "Field \"", end[] = "\" is not a valid field";
    const char *start = output.len ? memmem(output.at, output.len, mark, sizeof mark - 1) : NULL;
    if (!start)
        return false;
    start += sizeof mark - 1;
    const char *stop = memmem(start, output.len - (size_t)(start - output.at), end, sizeof end - 1);
    if (!stop)
        return false;
    *column = (struct str){start, (size_t)(stop - start)};
    return true;
}

bool smi_unknown_option(struct str output)
{
    return str_contains(output, "Invalid combination of input arguments") || str_contains(output, "nrecognized option") ||
           str_contains(output, "not a recognized option");
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

void smi_tool_start_clock(struct smi *s)
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
        smi_cards_to_ask(s, &ids);
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
    smi_cards_update(s, r);
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        struct smi_known_card *card = smi_card_find(s, &r->cards[i].gpu.id);
        if (!card || r->cards[i].gpu.state != GPU_LOST)
            continue;
        card->skip_until = until;
        any = true;
    }
    AUTO_BUF struct buf others = BUF(GPU_MAX * GPU_PCI_SIZE);
    smi_cards_to_ask(s, &others);
    return any && others.len;
}

int smi_tool_query(struct smi *s, unsigned groups, struct smi_report *r, struct error *err)
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

int smi_tool_apps(struct smi *s, struct smi_report *r, struct error *err)
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

int smi_tool_xml(struct smi *s, struct smi_report *r, struct error *err)
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

void smi_tool_version(struct smi *s)
{
    AUTO_BUF struct buf out = BUF(OUTPUT_MAX);
    const char *args[] = {"--version", NULL};
    if (run(s, args, false, &out, NULL) == 0)
        smi_read_version(&s->driver, buf_view(&out));
}
