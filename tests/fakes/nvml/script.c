/* SPDX-License-Identifier: Apache-2.0
 * Reads the script of the fake NVML. Mistakes in it are told on stderr and end the program: a test must not run on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

static struct fake_state state;
static char *own_text;        /* given by fake_nvml_script() */
static char *file_text;       /* of WHIRR_FAKE_NVML */
static struct stat file_stat; /* when it was read */
static double began, next_at; /* seconds; next_at: when a later section begins, 0: none */

static const char *const key_names[] = {
#define KEY(name, value) #name,
    FAKE_KEYS(KEY)
#undef KEY
};
static const int64_t key_values[] = {
#define KEY(name, value) value,
    FAKE_KEYS(KEY)
#undef KEY
};

static const char default_script[] = "gpu NVIDIA GeForce RTX 4090\n"
                                     "  gpu_util 78\n  mem_util 41\n  temperature 71\n  power 280100\n  fan 62\n  rpm 1830\n"
                                     "  used 18000\n  pstate 2\n  graphics 2520\n  sm 2520\n  memory 10501\n  throttle 4\n"
                                     "  process parent compute 17000 75 40\n"
                                     "  process 1 graphics 300 2 1\n"
                                     "gpu NVIDIA H200\n  profile h200\n"
                                     "  process parent compute 1002 0 0\n";

/* An H200 at rest, driver 580.159.04. */
static const char h200[] =
    "temperature 38\nshutdown 95\nslowdown 89\nmem_max 95\ngpu_max 87\ntarget na\nmargin 49\npower 79940\n"
    "power_limit 700000\npower_default 700000\npower_min 200000\npower_max 700000\njpeg 0\nofa 0\ntotal 143771\nreserved 616\n"
    "used 0\nbar1_total 262144\nbar1_used 1\nfans 0\nfan na\nrpm na\npstate 0\ngraphics 345\nsm 345\nmemory 3201\nvideo 765\n"
    "graphics_max 1980\nsm_max 1980\nmemory_max 3201\nvideo_max 1545\npcie_gen 5\npcie_gen_max 5\npersistence 1\n"
    "display_active 0\necc 1\necc_corrected 0\necc_uncorrected 0\necc_corrected_life 0\necc_uncorrected_life 0\nremapped 0\n"
    "mig 0\nbrand 14\narchitecture 9\ncc_major 9\ncc_minor 0\nvirtualization 1\ngpm 1\n"
    "app_graphics 1980\napp_memory 3201\nboost_max 1980\npcie_gen_card 5\ncaptures 0\nprotected_total 0\nsram 0\nbanks 3072\n"
    "repair 0\nunrepairable 0\nboard 6\nmodule 6\nc2c 0\n"
    "field 82 38\nfield 185.0 79940\nfield 186.0 79400\nfield 185.2 38870\nfield 74 26060182000\nfield 75 0\nfield 76 0\n"
    "field 95 0\nfield 230 0\nfield 193 -8\nfield 194 -2\nfield 195 0\nfield 196 0\n"
    "gpm 1 0\ngpm 2 0\ngpm 3 0\ngpm 4 0\ngpm 5 0\ngpm 10 0\ngpm 11 0\ngpm 12 0\ngpm 13 0\ngpm 20 0.9\ngpm 21 0.6\n"
    "gpm 60 0\ngpm 61 0\n";
static const char gb10[] = "architecture 10\ncc_major 12\ncc_minor 1\nfans 0\nfan na\nrpm na\npower_limit na\naddressing 2\n";
static const char old[] = "fans 1\nrpm na\njpeg na\nmem_util na\nenergy na\nthrottle na\nprocess_utilization na\n";

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wrong(int line, const char *what, const char *text)
{
    fprintf(stderr, "fake nvml: line %d: %s: %s\n", line, what, text);
    abort();
}

/* A number, or "na". */
static int64_t number(const char *word, int line)
{
    char *end;
    if (word && strcmp(word, "na") == 0)
        return FAKE_NA;
    errno = 0;
    long long value = word ? strtoll(word, &end, 0) : 0;
    if (!word || end == word || *end || errno)
        wrong(line, "a number is wanted", word ? word : "(nothing)");
    return value;
}

static unsigned pid_of(const char *word, int line)
{
    if (word && strcmp(word, "self") == 0)
        return (unsigned)getpid();
    if (word && strcmp(word, "parent") == 0)
        return getppid() > 0 ? (unsigned)getppid() : 4; /* none under Wine: the first one of Windows */
    return (unsigned)number(word, line);
}

static char *word(char **rest)
{
    char *at = *rest + strspn(*rest, " \t");
    size_t len = strcspn(at, " \t");
    if (len == 0)
        return NULL;
    *rest = at + len + (at[len] != '\0');
    at[len] = '\0';
    return at;
}

static unsigned optional(char **rest, unsigned fallback, int line)
{
    char *w = word(rest);
    return w ? (unsigned)number(w, line) : fallback;
}

static void parse(const char *text, double elapsed);

static void new_gpu(const char *name)
{
    unsigned i = state.gpu_count++;
    struct fake_gpu *g = &state.gpus[i];
    *g = (struct fake_gpu){0};
    snprintf(g->name, sizeof g->name, "%s", name[0] ? name : "NVIDIA Fake GPU");
    snprintf(g->uuid, sizeof g->uuid, "GPU-%08x-1111-2222-3333-444444444444", i);
    snprintf(g->pci, sizeof g->pci, "0000:%02x:00.0", i + 1);
    snprintf(g->serial, sizeof g->serial, "10000000%05u", i);
    memcpy(g->value, key_values, sizeof g->value);
}

static void add_process(char *rest, int line)
{
    struct fake_process *p = &state.processes[state.process_count++];
    *p = (struct fake_process){
        .gpu = (int)state.gpu_count - 1, .gpu_instance = NVML_NO_INSTANCE, .compute_instance = NVML_NO_INSTANCE};
    p->pid = pid_of(word(&rest), line);
    const char *lists = word(&rest);
    if (!lists)
        wrong(line, "compute, graphics, both or mps is wanted", "");
    p->lists = !strcmp(lists, "compute")    ? FAKE_COMPUTE
               : !strcmp(lists, "graphics") ? FAKE_GRAPHICS
               : !strcmp(lists, "both")     ? FAKE_COMPUTE | FAKE_GRAPHICS
               : !strcmp(lists, "mps")      ? FAKE_MPS
                                            : 0;
    int64_t mib = number(word(&rest), line);
    p->bytes = mib == FAKE_NA ? NVML_NOT_AVAILABLE : (unsigned long long)mib << 20;
    for (char *w; (w = word(&rest));) {
        if (strcmp(w, "in") == 0) {
            p->gpu_instance = optional(&rest, 0, line);
            p->compute_instance = optional(&rest, 0, line);
        } else {
            p->has_load = true;
            p->sm = (unsigned)number(w, line);
            p->mem = optional(&rest, 0, line);
            p->enc = optional(&rest, 0, line);
            p->dec = optional(&rest, 0, line);
        }
    }
}

static void add_row(char *rest, int line)
{
    struct fake_row *r = &state.rows[state.row_count++];
    r->gpu = (int)state.gpu_count - 1;
    r->pid = pid_of(word(&rest), line);
    r->age_ms = number(word(&rest), line);
    r->sm = optional(&rest, 0, line);
    r->mem = optional(&rest, 0, line);
    r->enc = optional(&rest, 0, line);
    r->dec = optional(&rest, 0, line);
}

static void add_field(char *rest, unsigned base, int line)
{
    struct fake_field f = {.gpu = (int)state.gpu_count - 1, .scope = -1};
    char *id = word(&rest), *value = word(&rest), *end;
    if (!id || !value)
        wrong(line, "a field and its value are wanted", "");
    char *dot = strchr(id, '.');
    if (dot) {
        *dot = '\0';
        f.scope = number(dot + 1, line);
    }
    f.field = base + (unsigned)number(id, line);
    if (strcmp(value, "fail") == 0) {
        f.result = (int)number(word(&rest), line);
    } else {
        f.value = strtod(value, &end); /* NaN and infinities are welcome */
        if (*end)
            wrong(line, "a number is wanted", value);
        const char *width = word(&rest);
        f.narrow = width && strcmp(width, "32bit") == 0;
    }
    for (unsigned i = 0; i < state.field_count; i++)
        if (state.fields[i].gpu == f.gpu && state.fields[i].field == f.field && state.fields[i].scope == f.scope) {
            state.fields[i] = f;
            return;
        }
    state.fields[state.field_count++] = f;
}

static void add_rule(char *rest, bool hang, int line)
{
    struct fake_rule *r = &state.rules[state.rule_count++];
    *r = (struct fake_rule){.gpu = (int)state.gpu_count - 1};
    char *call = word(&rest);
    if (!call)
        wrong(line, "the name of a call is wanted", "");
    snprintf(r->call, sizeof r->call, "%s", call);
    char *argument = word(&rest);
    if (hang)
        r->hang = argument ? strtod(argument, NULL) : 3600;
    else
        r->code = (int)number(argument, line);
}

static void add_instance(struct fake_gpu *g, char *rest, int line)
{
    struct fake_instance *i = &g->instances[g->instance_count++];
    char *profile = word(&rest);
    i->gpu_instance = (unsigned)number(word(&rest), line);
    i->compute_instance = (unsigned)number(word(&rest), line);
    i->total_mib = number(word(&rest), line);
    i->used_mib = number(word(&rest), line);
    char *uuid = word(&rest);
    char name[64];
    snprintf(name, sizeof name, "%.60s", g->name);
    snprintf(i->name, sizeof i->name, "%s MIG %.24s", name, profile ? profile : "");
    if (uuid)
        snprintf(i->uuid, sizeof i->uuid, "%s", uuid);
    else
        snprintf(i->uuid, sizeof i->uuid, "MIG-%08x-5555-6666-7777-%012x", (unsigned)(g - state.gpus), g->instance_count - 1);
}

static void add_event(char *rest, int line)
{
    struct fake_event *e = &state.events[state.event_count++];
    char *kind = word(&rest);
    e->gpu = (int)state.gpu_count - 1;
    e->type = kind && strcmp(kind, "xid") == 0 ? NVML_EVENT_XID : (unsigned long long)number(kind, line);
    e->data = optional(&rest, 0, line);
}

static void profile(const char *name, int line)
{
    const char *text = !name                   ? NULL
                       : !strcmp(name, "h200") ? h200
                       : !strcmp(name, "gb10") ? gb10
                       : !strcmp(name, "old")  ? old
                                               : NULL;
    if (!text)
        wrong(line, "h200, gb10 or old is wanted", name ? name : "");
    parse(text, 1e9);
}

static void one_line(char *line_text, int line)
{
    char *rest = line_text;
    char *key = word(&rest);
    struct fake_gpu *g = state.gpu_count ? &state.gpus[state.gpu_count - 1] : NULL;
    if (!key || key[0] == '#')
        return;
    if (state.gpu_count == FAKE_GPUS || state.process_count == FAKE_PROCESSES || state.row_count == FAKE_ROWS ||
        state.field_count == FAKE_FIELDS || state.rule_count == FAKE_RULES || state.event_count == FAKE_EVENTS)
        wrong(line, "the script is too long", key);
    if (!strcmp(key, "driver"))
        snprintf(state.driver, sizeof state.driver, "%s", rest);
    else if (!strcmp(key, "nvml"))
        snprintf(state.nvml, sizeof state.nvml, "%s", rest);
    else if (!strcmp(key, "cuda"))
        state.cuda = (int)number(rest, line);
    else if (!strcmp(key, "gpu"))
        new_gpu(rest);
    else if (!strcmp(key, "fail"))
        add_rule(rest, false, line);
    else if (!strcmp(key, "hang"))
        add_rule(rest, true, line);
    else if (!g)
        wrong(line, "this belongs below a gpu", key);
    else if (!strcmp(key, "name"))
        snprintf(g->name, sizeof g->name, "%s", rest);
    else if (!strcmp(key, "uuid"))
        snprintf(g->uuid, sizeof g->uuid, "%s", rest);
    else if (!strcmp(key, "pci"))
        snprintf(g->pci, sizeof g->pci, "%s", rest);
    else if (!strcmp(key, "profile"))
        profile(word(&rest), line);
    else if (!strcmp(key, "process"))
        add_process(rest, line);
    else if (!strcmp(key, "row"))
        add_row(rest, line);
    else if (!strcmp(key, "field"))
        add_field(rest, 0, line);
    else if (!strcmp(key, "gpm") && strchr(rest, ' '))
        add_field(rest, 1000, line);
    else if (!strcmp(key, "instance") && g->instance_count < FAKE_INSTANCES)
        add_instance(g, rest, line);
    else if (!strcmp(key, "event"))
        add_event(rest, line);
    else {
        for (int i = 0; i < FAKE_KEY_COUNT; i++)
            if (!strcmp(key, key_names[i])) {
                g->value[i] = number(word(&rest), line);
                return;
            }
        wrong(line, "not known", key);
    }
}

/* `at S` lines divide the script: what stands below one counts from that second on. `again N` goes back to GPU N. */
static void parse(const char *text, double elapsed)
{
    int line = 0;
    bool skipping = false;
    unsigned count = state.gpu_count;
    for (const char *at = text; *at; line++) {
        size_t len = strcspn(at, "\n");
        char buffer[512];
        snprintf(buffer, sizeof buffer, "%.*s", (int)len, at);
        at += len + (at[len] == '\n');
        double when;
        unsigned which;
        char *start = buffer + strspn(buffer, " \t");
        if (sscanf(start, "at %lf", &when) == 1) {
            skipping = when > elapsed;
            if (skipping && (next_at == 0 || when < next_at))
                next_at = when;
        } else if (skipping) {
            continue;
        } else if (sscanf(start, "again %u", &which) == 1) {
            if (state.gpu_count > count)
                count = state.gpu_count;
            state.gpu_count = which + 1;
        } else {
            if (!strncmp(start, "gpu ", 4) && count > state.gpu_count)
                state.gpu_count = count;
            one_line(buffer, line + 1);
        }
    }
    if (count > state.gpu_count)
        state.gpu_count = count;
}

static bool read_file(const char *path)
{
    struct stat now;
    if (stat(path, &now) < 0)
        wrong(0, "WHIRR_FAKE_NVML cannot be read", path);
    if (file_text && now.st_size == file_stat.st_size && now.st_mtim.tv_sec == file_stat.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == file_stat.st_mtim.tv_nsec && now.st_ino == file_stat.st_ino)
        return false;
    FILE *f = fopen(path, "r");
    if (!f && file_text && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return false; /* the program is short of something: that is its test, not ours */
    /* A test may have put another file there since. */
    if (!f || fstat(fileno(f), &now) < 0)
        wrong(0, "WHIRR_FAKE_NVML cannot be read", path);
    free(file_text);
    file_text = calloc(1, (size_t)now.st_size + 1);
    if (!file_text || fread(file_text, 1, (size_t)now.st_size, f) != (size_t)now.st_size)
        wrong(0, "WHIRR_FAKE_NVML cannot be read", path);
    fclose(f);
    file_stat = now;
    return true;
}

static void load(const char *text, double elapsed)
{
    unsigned taken = state.events_taken;
    memset(&state, 0, sizeof state);
    state.events_taken = taken;
    next_at = 0;
    unsigned major = fake_release / 1000, minor = fake_release % 1000;
    snprintf(state.driver, sizeof state.driver, "%u.%u.04", major, minor);
    snprintf(state.nvml, sizeof state.nvml, "%u.%u.%u", major >= 580 ? 13 : major >= 525 ? 12 : 11, major, minor);
    state.cuda = major >= 580 ? 13000 : major >= 535 ? 12020 : major >= 510 ? 11060 : 11040;
    parse(text, elapsed);
}

struct fake_state *fake_now(void)
{
    static const char *loaded;
    double now = seconds_now();
    if (began == 0)
        began = now;
    const char *path = getenv("WHIRR_FAKE_NVML");
    bool fresh = !own_text && path && path[0] && read_file(path);
    const char *text = own_text ? own_text : path && path[0] ? file_text : default_script;
    if (fresh || text != loaded || (next_at > 0 && now - began >= next_at)) {
        load(text, now - began);
        loaded = text;
    }
    return &state;
}

__attribute__((visibility("default"))) void fake_nvml_script(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    char *before = own_text;
    own_text = copy;
    began = 0;
    next_at = 0;
    state.events_taken = 0;
    fake_now(); /* while `before` is still a different address */
    free(before);
}
