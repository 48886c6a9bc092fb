/* SPDX-License-Identifier: Apache-2.0
 * Runs every course of tests/golden/health (its README tells the format), and what holds for every verdict.
 */
#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "health_of.h"
#include "model/finding_code.h"
#include "source/fault/fault.h"
#include "test.h"

enum { CARDS = 4 };

struct course {
    struct judge *judge;
    struct health *health; /* of the last judgement; NULL after a step */
    struct wall now;
    struct gpu gpus[CARDS]; /* as they are now */
    bool listed[CARDS];
    size_t count, current;
    struct source_status source;
    struct event events[EVENTS_MAX];
    size_t event_count;
    const char *path;
    size_t failures;
};

static void judge(struct course *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->listed[i];
    struct snapshot *s = snapshot_new(n);
    s->taken_at = c->now;
    for (size_t i = 0, k = 0; i < c->count; i++)
        if (c->listed[i])
            s->gpus[k++] = c->gpus[i];
    s->sources[0] = c->source;
    s->source_count = c->source.name[0] != '\0';
    memcpy(s->events, c->events, sizeof s->events);
    s->event_count = c->event_count;
    c->event_count = 0;
    health_free(c->health);
    c->health = health_of(c->judge, s);
    assert_non_null(c->health);
    snapshot_unref(s);
}

static bool duration(struct str text, int64_t *ret)
{
    int64_t unit = str_ends(text, "min") ? 60000 : str_ends(text, "h") ? 3600000 : 1000, n;
    size_t suffix = unit == 60000 ? 3 : 1;
    if (text.len <= suffix || !str_to_i64((struct str){text.at, text.len - suffix}, &n))
        return false;
    *ret = n * unit;
    return true;
}

static bool set_state(struct gpu *gpu, struct str rest)
{
    struct str word;
    str_word(&rest, &word);
    gpu->state = str_is(word, "lost") ? GPU_LOST : str_is(word, "asleep") ? GPU_ASLEEP : str_is(word, "error") ? GPU_ERROR : GPU_OK;
    str_copy(gpu->error_message, sizeof gpu->error_message, str_trim(rest));
    return true;
}

static bool set_reading(struct gpu *gpu, struct str key, struct str value)
{
    char name[64];
    double number;
    str_copy(name, sizeof name, key);
    enum metric metric = metric_from_json(name);
    if (metric == METRIC_COUNT)
        return false;
    if (metric == METRIC_throttle_bits) {
        int64_t bits = 0;
        struct str word;
        while (str_cut(&value, ',', &word))
            for (unsigned i = 0; i < THROTTLE_COUNT; i++)
                if (str_is(str_trim(word), throttle_name(i)))
                    bits |= 1 << i;
        gpu->throttle_bits = reading_ok(bits);
        return bits != 0;
    }
    if (str_is(value, "-"))
        gpu->metric[metric] = reading_absent(READING_FAILED);
    else if (str_to_double(value, &number))
        gpu->metric[metric] = reading_ok(llround(number / metric_table[metric].json_scale));
    else
        return false;
    return true;
}

static bool add_xid(struct course *c, struct str rest)
{
    struct str code_text, word;
    int64_t code, ago;
    if (!str_word(&rest, &code_text) || !str_to_i64(code_text, &code))
        return false;
    if (str_word(&rest, &word)) {
        bool good = str_is(word, "ago") && str_word(&rest, &word) && duration(word, &ago);
        return good &&
               health_note_xid(judge_health(c->judge), c->gpus[c->current].id.pci_address, code, (struct wall){c->now.ms - ago});
    }
    c->events[c->event_count++] =
        (struct event){.kind = EVENT_DRIVER_FAULT, .gpu_index = c->gpus[c->current].index, .code = code, .at = c->now};
    return true;
}

static bool do_line(struct course *c, struct str line)
{
    struct str rest = line, key, word;
    int64_t number;
    str_word(&rest, &key);
    rest = str_trim(rest);
    struct gpu *gpu = &c->gpus[c->current];
    if (str_is(key, "gpu") && str_word(&rest, &word) && str_to_i64(word, &number)) {
        c->current = c->count++;
        gpu = &c->gpus[c->current];
        gpu->index = (int)number;
        str_copy(gpu->id.name, sizeof gpu->id.name, str_trim(rest));
        snprintf(gpu->id.pci_address, sizeof gpu->id.pci_address, "0000:%02d:00.0", (int)number + 1);
        return c->listed[c->current] = true;
    }
    if (str_is(key, "step") && duration(rest, &number)) {
        judge(c);
        c->now.ms += number;
        health_free(c->health);
        c->health = NULL;
        return true;
    }
    if (str_is(key, "source") && str_word(&rest, &word)) {
        str_copy(c->source.name, sizeof c->source.name, word);
        c->source.state = str_is(str_trim(rest), "released") ? SOURCE_RELEASED : SOURCE_OK;
        return true;
    }
    if (str_is(key, "gone") || str_is(key, "back")) { /* as the engine lists a GPU that no source does */
        bool released = c->source.state == SOURCE_RELEASED;
        if (str_is(key, "gone"))
            gpu_mark_state(gpu, released ? GPU_ERROR : GPU_LOST, released ? "released on request" : "no longer listed");
        else
            gpu->state = GPU_OK;
        gpu->released = released && gpu->state != GPU_OK;
        return true;
    }
    if (str_is(key, "state"))
        return set_state(gpu, rest);
    if (str_is(key, "xid"))
        return add_xid(c, rest);
    return set_reading(gpu, key, rest);
}

static bool has(const char *text, struct str words)
{
    char needle[256];
    str_copy(needle, sizeof needle, words);
    return strcasestr(text, needle) != NULL;
}

static bool fulfilled(const struct health_verdict *v, struct str line)
{
    struct str value = line, key;
    bool found = false;
    str_word(&value, &key);
    value = str_trim(value);
    for (size_t i = 0; i < v->finding_count; i++)
        found |= str_is(value, health_check_name(v->findings[i].check));
    if (str_is(key, "state"))
        return str_is(value, health_state_name(v->state));
    if (str_is(key, "reason"))
        return has(v->reason, value);
    if (str_is(key, "action"))
        return has(v->action, value);
    if (str_is(key, "omits"))
        return !has(v->reason, value) && !has(v->action, value);
    if (str_is(key, "finding"))
        return found;
    return str_is(key, "no") && !found;
}

static void check(struct course *c, struct str line)
{
    const struct health_verdict *v = NULL;
    if (!c->health)
        judge(c);
    for (size_t i = 0; i < c->health->count; i++)
        if (c->health->verdicts[i].gpu_index == c->gpus[c->current].index)
            v = &c->health->verdicts[i];
    if (v && fulfilled(v, line))
        return;
    c->failures++;
    print_error("%s at %lld s FAILS: " STR_FMT "\n   %s: %s | %s\n", c->path, (long long)(c->now.ms - 1794704523000) / 1000,
                STR_ARG(line), v ? health_state_name(v->state) : "-", v ? v->reason : "", v ? v->action : "");
    for (size_t i = 0; v && i < v->finding_count; i++)
        print_error("     %s %s: %s\n", health_state_name(v->findings[i].state), health_check_name(v->findings[i].check),
                    v->findings[i].reason);
}

static bool expects(struct str line)
{
    return str_starts(line, "reason ") || str_starts(line, "action ") || str_starts(line, "omits ") ||
           str_starts(line, "finding ") || str_starts(line, "no ") ||
           (str_starts(line, "state ") && !str_starts(line, "state lost ") && !str_is(line, "state asleep") &&
            !str_starts(line, "state error ") && !str_is(line, "state ok"));
}

static bool taken_away(struct str without, struct str line)
{
    struct str item, key;
    str_word(&line, &key);
    while (str_cut(&without, ',', &item))
        if (str_equal(str_trim(item), key))
            return true;
    return false;
}

/* One run over the file: with all lines, or without some up to the `without` block whose expectations then count. */
static size_t run(const char *path, struct str text, struct str without)
{
    static struct course c;
    c = (struct course){.judge = judge_new(), .now = {1794704523000}, .path = path};
    bool expecting = false, mine = false;
    struct str line;
    while (str_cut(&text, '\n', &line)) {
        line = str_trim(line);
        if (!line.len || line.at[0] == '#' || str_starts(line, "title "))
            continue;
        if (str_starts(line, "without ")) {
            struct str what = {line.at + 8, line.len - 8};
            if (!without.len)
                break;
            mine = str_equal(what, without);
            judge(&c);
        } else if (mine) {
            check(&c, line);
        } else if (str_is(line, "expect")) {
            judge(&c);
            expecting = true;
        } else if (expecting && (expects(line) || (str_is(line, "state asleep") || str_is(line, "state lost")))) {
            if (!without.len)
                check(&c, line);
        } else if (!taken_away(without, line)) {
            expecting &= !str_starts(line, "step ");
            if (!do_line(&c, line))
                fail_msg("%s: not understood: " STR_FMT, path, STR_ARG(line));
        }
    }
    health_free(c.health);
    judge_free(c.judge);
    return c.failures;
}

static void course_holds(void **state)
{
    const char *path = *state;
    AUTO_FREE char *text = calloc(1, 65536);
    AUTO_FCLOSE FILE *f = fopen(path, "r");
    assert_non_null(f);
    struct str all = {text, fread(text, 1, 65535, f)}, rest = all, line;
    size_t failures = run(path, all, (struct str){0});
    while (str_cut(&rest, '\n', &line))
        if (str_starts(line, "without "))
            failures += run(path, all, str_trim((struct str){line.at + 8, line.len - 8}));
    assert_int_equal(failures, 0);
}

/* ---- what holds for every verdict ---- */

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void check_verdict(const struct health_verdict *v)
{
    size_t reason = strlen(v->reason), action = strlen(v->action);
    assert_true(reason > 1 && action > 1 && v->reason[reason - 1] == '.');
    assert_true(v->action[action - 1] == '.' || strstr(v->action, ": ")); /* or a command to copy */
    assert_true(isupper((unsigned char)v->reason[0]) || isdigit((unsigned char)v->reason[0]));
    assert_true(v->finding_count <= HEALTH_FINDINGS_MAX);
    for (size_t i = 0; i < v->finding_count; i++) {
        assert_true(v->findings[i].state <= v->state || v->findings[i].state == HEALTH_HEALTHY);
        assert_null(strstr(v->findings[i].reason, "987654321"));
    }
}

static void random_courses_give_sound_verdicts(void **state)
{
    (void)state;
    uint64_t r = 4711;
    for (int course = 0; course < 60; course++) {
        struct judge *j = judge_new();
        struct wall now = {1794704523000};
        for (int step = 0; step < 60; step++) {
            struct snapshot *s = snapshot_new(next(&r) % 4);
            s->taken_at = now;
            now.ms += (int64_t)(next(&r) % 120000);
            for (size_t g = 0; g < s->gpu_count; g++) {
                struct gpu *gpu = &s->gpus[g];
                gpu->index = (int)g;
                snprintf(gpu->id.pci_address, sizeof gpu->id.pci_address, "0000:%02zu:00.0", g);
                for (size_t i = 0; i < METRIC_COUNT; i++)
                    gpu->metric[i] =
                        next(&r) % 2 ? reading_ok((int64_t)(next(&r) % 120000)) : (struct reading){987654321, READING_FAILED};
                if (next(&r) % 6 == 0)
                    gpu_mark_state(gpu, (enum gpu_state)(1 + next(&r) % 3), "words");
                if (next(&r) % 3 == 0 && s->event_count < EVENTS_MAX)
                    s->events[s->event_count++] = (struct event){
                        .kind = EVENT_DRIVER_FAULT, .gpu_index = (int)g, .code = (int64_t)(next(&r) % 200), .at = now};
            }
            struct health *health = health_of(j, s);
            assert_true(health->count >= s->gpu_count && health->count <= 4);
            for (size_t i = 0; i < health->count; i++)
                check_verdict(&health->verdicts[i]);
            health_free(health);
            snapshot_unref(s);
        }
        judge_free(j);
    }
}

static void the_kernel_log_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *line, *pci, *name;
        int64_t code, pid;
    } good[] = {
        {"[  966.5] NVRM: Xid (PCI:0000:05:00): 79, pid=1896, name=python3, GPU has fallen off the bus.", "0000:05:00.0", "python3",
         79, 1896},
        {"NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping", "0000:10:1c.0", "", 63, 1896},
        {"kernel: NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120, intr 10000000", "0000:01:00.0", "", 31, 0},
        {"NVRM: Xid (PCI:0000:AF:00): 13, pid='<unknown>', name=<unknown>, Graphics Exception", "0000:af:00.0", "", 13, 0},
        {"NVRM: GPU 0000:05:00.0: GPU has fallen off the bus.", "0000:05:00.0", "", 79, 0},
        {"NVRM: Xid (PCI:0000:05:00 GPU-I:02): 31, pid=7, name=python3, Ch 0", "0000:05:00.0", "python3", 31, 7},
        {"NVRM: Xid (PCI:0000:05:00 GPU-I:02 GPU-CI:01): 94, pid=7, Contained", "0000:05:00.0", "", 94, 7},
    };
    static const char *const bad[] = {
        "",
        "NVRM: Xid (",
        "NVRM: Xid (PCI:0000:05:00)",
        "NVRM: Xid (PCI:0000:05:00): ",
        "NVRM: Xid (PCI:0000:05:00): x",
        "NVRM: Xid (PCI:zzzz:05:00): 79",
        "NVRM: Xid (PCI:0000:05:00): 99999999999999999999",
        "NVRM: GPU : has fallen off the bus",
        "NVRM: Xid (PCI:0000:05 GPU-I:02): 31",
        "NVRM: Xid (PCI:0000:05:00 XX-I:02): 31",
        "usb 1-1: new high-speed USB device",
    };
    struct fault_line found;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(xid_parse(str_from(good[i].line), &found));
        assert_string_equal(found.pci_address, good[i].pci);
        assert_string_equal(found.name, good[i].name);
        assert_int_equal(found.code, good[i].code);
        assert_int_equal(found.pid, good[i].pid);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(xid_parse(str_from(bad[i]), &found));
}

static void the_table_of_xids_is_sorted_and_says_what_to_do(void **state)
{
    (void)state;
    const struct fault_info *info;
    for (size_t i = 0; (info = xid_at(i)); i++) {
        assert_true(i == 0 || xid_at(i - 1)->code < info->code);
        assert_true(strlen(info->what) > 10 && strlen(fault_action(info->class)) > 10);
        assert_ptr_equal(xid_find(info->code), info);
    }
    static const struct {
        int code;
        enum fault_class class;
    } known[] = {{13, FAULT_APPLICATION},  {31, FAULT_APPLICATION}, {94, FAULT_APPLICATION}, {46, FAULT_RESET},
                 {95, FAULT_RESET},        {119, FAULT_RESET},      {158, FAULT_RESET},      {79, FAULT_REBOOT},
                 {54, FAULT_CABLE},        {48, FAULT_RESET},       {74, FAULT_LOOK},        {150, FAULT_LOOK},
                 {43, FAULT_INFORM},       {63, FAULT_INFORM},      {92, FAULT_INFORM},      {45, FAULT_INFORM},
                 {131, FAULT_APPLICATION}, {173, FAULT_LOOK},       {32, FAULT_APPLICATION}, {44, FAULT_INFORM},
                 {157, FAULT_INFORM},      {142, FAULT_LOOK}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        assert_int_equal(xid_find(known[i].code)->class, known[i].class);
    assert_null(xid_find(9999));
}

/* Whether the line of the class, "- **look**: 16, 56-59.", has the number. */
static bool documented(const char *text, const char *class, const struct fault_info *info)
{
    char begin[64];
    struct str rest, line, item, first;
    snprintf(begin, sizeof begin, "\n- **%s**: ", class);
    const char *at = strstr(text, begin);
    rest = str_from(at ? at + strlen(begin) : "");
    str_cut(&rest, '.', &line);
    while (str_cut(&line, ',', &item)) {
        str_cut(&item, '-', &first);
        int from = atoi(str_trim(first).at), to = item.len ? atoi(item.at) : from;
        if (info->code >= from && info->code <= to)
            return true;
    }
    return false;
}

static void users_can_read_about_every_check_and_xid(void **state)
{
    (void)state;
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char path[512], row[512];
    AUTO_FREE char *text = calloc(1, 65536);
    snprintf(path, sizeof path, "%s/docs/health.md", root ? root : ".");
    AUTO_FCLOSE FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, 65535, f) > 0);
    for (size_t i = 0; i < HEALTH_CHECK_COUNT; i++) {
        snprintf(row, sizeof row, "\n- `%s`: ", health_check_name((enum health_check)i));
        if (!strstr(text, row))
            fail_msg("docs/health.md lacks: %s", row);
    }
    static const char *const classes[] = {"unknown", "inform", "application", "look", "reset", "reboot", "cable"};
    const struct fault_info *info;
    for (size_t i = 0; (info = xid_at(i)); i++) {
        if (!documented(text, classes[info->class], info))
            fail_msg("docs/health.md lacks XID %d: %s: %s", info->code, classes[info->class], info->what);
    }
}

static const struct health_finding *cooling_of(const struct health *health)
{
    for (size_t i = 0; i < health->verdicts[0].finding_count; i++)
        if (health->verdicts[0].findings[i].check == HEALTH_CHECK_COOLING)
            return &health->verdicts[0].findings[i];
    return NULL;
}

/* Dust: what the history learned becomes a line, then a verdict, and is over once the fan has been cleaned. */
static void dust_is_seen_coming(void **state)
{
    (void)state;
    static struct baselines usual;
    struct judge *j = judge_new();
    struct snapshot *s = snapshot_new(1);
    s->taken_at.ms = 1794704523000; /* November 2026 */
    s->gpus[0].temp_mdegc = reading_ok(70000);
    snprintf(s->gpus[0].id.uuid, sizeof s->gpus[0].id.uuid, "GPU-1");
    usual = (struct baselines){.count = 1};
    usual.list[0].id = s->gpus[0].id;

    struct baseline_drift *drift = &usual.list[0].drift;
    *drift = (struct baseline_drift){.days = 19}; /* no trend */
    judge_set_usual(j, &usual);
    struct health *health = health_of(j, s);
    assert_null(cooling_of(health));
    assert_int_equal(health->verdicts[0].state, HEALTH_HEALTHY);
    health_free(health);

    *drift = (struct baseline_drift){.rising = true,
                                     .days = 60,
                                     .since = {1785542400000},
                                     .until = {1794700800000},
                                     .power_mw = 300000,
                                     .mdegc_per_month = 2000}; /* from August 1 on */
    judge_set_usual(j, &usual);
    health = health_of(j, s);
    const struct health_finding *found = cooling_of(health);
    assert_non_null(found);
    assert_int_equal(found->state, HEALTH_HEALTHY);
    assert_int_equal(health->verdicts[0].state, HEALTH_HEALTHY); /* worth a line only */
    assert_non_null(strstr(found->reason, "2 °C more each month at 300 W since August"));
    assert_non_null(strstr(found->action, "Clean the fans"));
    health_free(health);

    drift->strong = true;
    drift->mdegc_per_month = 4000;
    judge_set_usual(j, &usual);
    health = health_of(j, s);
    assert_int_equal(health->verdicts[0].state, HEALTH_DEGRADED);
    assert_non_null(strstr(health->verdicts[0].reason, "4 °C more each month"));
    assert_int_equal(health_exit_code(health->worst), 1);
    health_free(health);

    *drift = (struct baseline_drift){.days = 20};
    judge_set_usual(j, &usual);
    health = health_of(j, s);
    assert_null(cooling_of(health));
    assert_int_equal(health->verdicts[0].state, HEALTH_HEALTHY);
    health_free(health);
    snapshot_unref(s);
    judge_free(j);
}

static void a_full_memory_drops_what_is_over(void **state)
{
    (void)state;
    struct judge *j = judge_new();
    struct snapshot *s = snapshot_new(1);
    s->taken_at.ms = 1794704523000;
    s->gpus[0].temp_mdegc = reading_ok(50000);
    snprintf(s->gpus[0].id.pci_address, sizeof s->gpus[0].id.pci_address, "0000:01:00.0");
    health_free(health_of(j, s));
    for (int code = 1; code <= 3 * HEALTH_FAULTS_MAX; code++)
        assert_true(
            health_note_xid(judge_health(j), "0000:01:00.0", 1000 + code, (struct wall){s->taken_at.ms - 100000 + code * 10}));
    assert_int_equal(judge_health(j)->cards[0].fault_count, HEALTH_FAULTS_MAX);
    struct health *health = health_of(j, s);
    assert_int_equal(health->verdicts[0].finding_count, HEALTH_FINDINGS_MAX);
    assert_int_equal(health->verdicts[0].state, HEALTH_DEGRADED);
    assert_false(health_note_xid(judge_health(j), "0000:09:00.0", 79, s->taken_at));
    health_free(health);
    health_note_boot(judge_health(j));
    health = health_of(j, s);
    assert_int_equal(health->verdicts[0].state, HEALTH_HEALTHY);
    assert_true(health->verdicts[0].changed);
    assert_int_equal(health_exit_code(health->worst), 0);
    health_free(health);
    snapshot_unref(s);
    judge_free(j);
}

/* Those who keep the state of all GPUs have to hear of one that never was well. */
static void trouble_at_the_first_look_is_news(void **state)
{
    (void)state;
    for (int failing = 0; failing <= 1; failing++) {
        struct judge *j = judge_new();
        struct snapshot *s = snapshot_new(1);
        s->taken_at.ms = 1794704523000;
        s->gpus[0].temp_mdegc = reading_ok(50000);
        s->gpus[0].recovery_action = reading_ok(failing);
        for (int look = 0; look < 2; look++) {
            struct health *health = health_of(j, s);
            assert_int_equal(health->verdicts[0].changed, failing && look == 0);
            health_free(health);
            s->taken_at.ms += 1000;
        }
        snapshot_unref(s);
        judge_free(j);
    }
}

/* What is muted raises no alarm, and is no less broken. */
static void settings_of_alerts_heal_no_gpu(void **state)
{
    (void)state;
    struct finding_settings settings = {0};
    settings.list[FINDING_ECC].muted = true;
    struct judge *j = judge_new();
    judge_set_settings(j, &settings);
    struct snapshot *s = snapshot_new(1);
    s->taken_at.ms = 1794704523000;
    s->gpus[0].ecc_uncorrected = reading_ok(3);
    struct health *health = health_of(j, s);
    assert_int_equal(health->verdicts[0].state, HEALTH_FAILING);
    assert_int_equal(health->verdicts[0].findings[0].code, FINDING_ECC);
    health_free(health);
    snapshot_unref(s);
    judge_free(j);
}

int main(void)
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char pattern[512];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/tests/golden/health/*.scenario", root ? root : ".");
    if (glob(pattern, 0, NULL, &files) != 0 || files.gl_pathc < 40)
        return fprintf(stderr, "too few courses at %s\n", pattern), 1;
    const struct CMUnitTest fixed[] = {
        TEST(random_courses_give_sound_verdicts),
        TEST(the_kernel_log_is_read),
        TEST(the_table_of_xids_is_sorted_and_says_what_to_do),
        TEST(dust_is_seen_coming),
        TEST(a_full_memory_drops_what_is_over),
        TEST(trouble_at_the_first_look_is_news),
        TEST(settings_of_alerts_heal_no_gpu),
        TEST(users_can_read_about_every_check_and_xid),
    };
    AUTO_FREE struct CMUnitTest *tests = calloc(files.gl_pathc + ARRAY_LEN(fixed), sizeof *tests);
    memcpy(tests, fixed, sizeof fixed);
    for (size_t i = 0; i < files.gl_pathc; i++)
        tests[ARRAY_LEN(fixed) + i] =
            (struct CMUnitTest){strrchr(files.gl_pathv[i], '/') + 1, course_holds, NULL, NULL, files.gl_pathv[i]};
    int failed = _cmocka_run_group_tests("health", tests, ARRAY_LEN(fixed) + files.gl_pathc, NULL, NULL);
    globfree(&files);
    return failed;
}
