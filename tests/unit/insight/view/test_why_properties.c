/* SPDX-License-Identifier: Apache-2.0
 * What holds for every explanation, whatever the readings: on random machines, on empty ones and on the largest.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/facts/facts.h"
#include "insight/view/why.h"
#include "model/finding_code.h"
#include "random_machine.h"
#include "test.h"

enum { MACHINES = 1500 };

struct machine {
    struct snapshot *now;
    struct recent past;
    bool has_past;
};

static void fill_past(struct random *r, struct machine *m)
{
    m->past.gpus = calloc(RANDOM_GPUS, sizeof m->past.gpus[0]);
    m->past.gpu_count = m->now->gpu_count;
    for (size_t g = 0; g < m->now->gpu_count; g++) {
        struct recent_gpu *past = &m->past.gpus[g];
        past->id = m->now->gpus[g].id;
        past->count = (size_t)between(r, 0, 60);
        int64_t util = between(r, 0, 1000);
        for (size_t i = 0; i < past->count; i++) {
            if (chance(r, 10))
                util = between(r, 0, 1000);
            past->points[i] = (struct recent_point){
                .at = {m->now->taken_at.ms - (int64_t)(past->count - i) * 10000},
                .util_permille = chance(r, 95) ? reading_ok(util) : (struct reading){util, READING_FAILED},
                .temp_mdegc = some(r, 30000, 90000),
                .power_mw = some(r, 5000, 700000),
                .fan_permille = some(r, 0, 1000),
                .mem_used_bytes = some(r, 0, 24LL << 30),
            };
        }
    }
    for (; m->past.ended_count < (size_t)between(r, 0, 8); m->past.ended_count++) {
        struct recent_process *p = &m->past.ended[m->past.ended_count];
        p->gpu_index = (int)between(r, 0, RANDOM_GPUS);
        p->last.pid = 100000 + 1000 * p->gpu_index + (int32_t)m->past.ended_count;
        fill_process(r, &p->last, m->now->taken_at);
        p->last_seen.ms = m->now->taken_at.ms - between(r, -10000, 900000);
        p->mean_util_permille = p->last.util_permille;
    }
}

static void machine_random(struct random *r, struct machine *m)
{
    *m = (struct machine){.now = random_snapshot(r), .has_past = chance(r, 60)};
    fill_past(r, m);
}

static void machine_done(struct machine *m)
{
    snapshot_unref(m->now);
    recent_done(&m->past);
}

/* ---- what must hold ---- */

static const char *saying; /* what failed, for the message */

static void check_sentence(const char *text, size_t size)
{
    saying = text;
    size_t len = strlen(text);
    if (len < 2 || len >= size || text[len - 1] != '.')
        fail_msg("not a sentence: %s", text);
    if (strstr(text, "  ") || strstr(text, " ,") || strstr(text, " ;") || strstr(text, " .") || strstr(text, ";.") ||
        strstr(text, ",.") || strstr(text, "..") || strstr(text, "()"))
        fail_msg("ill formed: %s", text);
    for (struct str s = str_from(text); s.len;) {
        size_t step = str_utf8(s);
        if (!step)
            fail_msg("not UTF-8: %s", text);
        s = (struct str){s.at + step, s.len - step};
    }
    int open = 0;
    for (const char *c = text; *c; c++) {
        open += *c == '(' ? 1 : *c == ')' ? -1 : 0;
        assert_true(open >= 0);
    }
    if (open)
        fail_msg("brackets: %s", text);
}

struct allowed {
    int64_t values[4096];
    size_t count;
};

static int64_t rounded(int64_t value, int64_t unit)
{
    return value >= 0 ? (value + unit / 2) / unit : -((-value + unit / 2) / unit);
}

static void allow(struct allowed *a, struct reading reading, int64_t unit)
{
    if (reading.state == READING_OK && a->count < ARRAY_LEN(a->values))
        a->values[a->count++] = rounded(reading.value, unit);
}

static void allow_gpu(struct allowed *a, const struct gpu *gpu, const char *unit)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const char *json = metric_table[i].json;
        if ((strcmp(unit, "%") == 0 && strstr(json, "_percent")) || (strcmp(unit, "C") == 0 && strstr(json, "_celsius")) ||
            (strcmp(unit, "W") == 0 && strstr(json, "_watts")) || (strcmp(unit, "MHz") == 0 && strstr(json, "_mhz")) ||
            (strcmp(unit, "rpm") == 0 && strstr(json, "_rpm")))
            allow(a, gpu->metric[i], metric_table[i].json_scale == 0.1 ? 10 : metric_table[i].json_scale == 1 ? 1 : 1000);
    }
}

/* Derived numbers that are allowed: the margin to the limit, and shares of processes added up. */
static void allow_derived(struct allowed *a, const struct gpu *gpu, const char *unit)
{
    int64_t temp, limit, sum = 0, share;
    struct reading own = gpu->temp_limit_mdegc.state == READING_OK ? gpu->temp_limit_mdegc : gpu->temp_max_operating_mdegc;
    if (strcmp(unit, "C") == 0 && reading_get(gpu->temp_mdegc, &temp) && reading_get(own, &limit))
        a->values[a->count++] = rounded(limit - temp, 1000);
    for (size_t i = 0; strcmp(unit, "%") == 0 && i < gpu->process_count; i++) {
        if (reading_get(gpu->processes[i].util_permille, &share))
            sum += share;
        allow(a, gpu->processes[i].util_permille, 10);
        allow(a, gpu->processes[i].encoder_permille, 10);
        allow(a, gpu->processes[i].decoder_permille, 10);
    }
    a->values[a->count++] = rounded(sum < 1000 ? sum : 1000, 10);
}

static void allow_past(struct allowed *a, const struct machine *m, const struct gpu *gpu, const char *unit)
{
    for (size_t g = 0; m->has_past && g < m->past.gpu_count; g++)
        for (size_t i = 0; gpu_same(&m->past.gpus[g].id, &gpu->id) && i < m->past.gpus[g].count; i++) {
            const struct recent_point *p = &m->past.gpus[g].points[i];
            if (strcmp(unit, "%") == 0) {
                allow(a, p->util_permille, 10);
                allow(a, p->fan_permille, 10);
            } else if (strcmp(unit, "C") == 0) {
                allow(a, p->temp_mdegc, 1000);
            }
        }
    for (size_t i = 0; m->has_past && strcmp(unit, "%") == 0 && i < m->past.ended_count; i++)
        if (m->past.ended[i].gpu_index == gpu->index)
            allow(a, m->past.ended[i].mean_util_permille, 10);
}

static void check_numbers(const char *text, const struct machine *m, const struct gpu *gpu)
{
    static const char *const units[] = {"%", "C", "W", "MHz", "rpm"};
    for (const char *c = text; *c; c++) {
        if (!isdigit((unsigned char)*c) || (c > text && (isalnum((unsigned char)c[-1]) || c[-1] == '.')))
            continue;
        char *end;
        long long value = strtoll(c, &end, 10);
        value = c > text && c[-1] == '-' ? -value : value;
        for (size_t u = 0; u < ARRAY_LEN(units); u++) {
            size_t len = strlen(units[u]);
            const char *unit = *units[u] == '%' ? end : *end == ' ' ? end + 1 : "";
            if (*units[u] == 'C' && strncmp(unit, "°", strlen("°")) == 0)
                unit += strlen("°");
            if (strncmp(unit, units[u], len) != 0 || isalnum((unsigned char)unit[len]))
                continue;
            struct allowed a = {.count = 0};
            allow_gpu(&a, gpu, units[u]);
            allow_derived(&a, gpu, units[u]);
            allow_past(&a, m, gpu, units[u]);
            if (strcmp(units[u], "%") == 0) {
                allow(&a, m->now->host.cpu_permille, 10);
                allow(&a, activity_judge(m->now, gpu, m->has_past ? &m->past : NULL).load_permille, 10);
                for (size_t i = 0; i < gpu->process_count; i++)
                    allow(&a, gpu->processes[i].cpu_permille, 10);
            }
            if (strcmp(units[u], "C") == 0)
                allow(&a, m->now->host.cpu_temp_mdegc, 1000);
            /* Heat of a neighbor is the one thing of another card that may be spoken of. */
            for (size_t i = 0; i < m->now->gpu_count; i++) {
                if (strcmp(units[u], "C") == 0)
                    allow(&a, m->now->gpus[i].temp_mdegc, 1000);
                if (strcmp(units[u], "W") == 0)
                    allow(&a, m->now->gpus[i].power_mw, 1000);
            }
            bool found = false;
            for (size_t i = 0; i < a.count; i++)
                found |= a.values[i] == value;
            if (!found)
                fail_msg("%lld %s is no reading of GPU %d: %s", value, units[u], gpu->index, text);
        }
        c = end - 1;
    }
}

static bool has_process(const struct machine *m, const struct gpu *gpu, int64_t pid)
{
    if (gpu_find_process(gpu, (int32_t)pid))
        return true;
    for (size_t i = 0; m->has_past && i < m->past.ended_count; i++)
        if (m->past.ended[i].gpu_index == gpu->index && m->past.ended[i].last.pid == pid)
            return true;
    return false;
}

static void check_pids(const char *text, const struct machine *m, const struct gpu *gpu)
{
    static const char *const before[] = {"(pid ", "process "};
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        for (const char *at = strstr(text, before[i]); at; at = strstr(at + 1, before[i])) {
            const char *digits = at + strlen(before[i]);
            if (isdigit((unsigned char)*digits) && !has_process(m, gpu, strtoll(digits, NULL, 10)))
                fail_msg("claims a process that GPU %d does not have: %s", gpu->index, text);
        }
}

static void check_line(const char *text, const struct machine *m, const struct gpu *gpu)
{
    assert_true(text[0] != '\0' && strlen(text) < WHY_LINE_SIZE);
    check_numbers(text, m, gpu);
    check_pids(text, m, gpu);
}

static void check_part(const struct why_part *part, const struct machine *m, const struct gpu *gpu)
{
    assert_int_equal(part->gpu_index, gpu->index);
    check_sentence(part->answer, WHY_ANSWER_SIZE);
    assert_true(isupper((unsigned char)part->answer[0]));
    if (gpu->simulated && !strcasestr(part->answer, "simulated GPU"))
        fail_msg("not labelled as simulated: %s", part->answer);
    check_numbers(part->answer, m, gpu);
    check_pids(part->answer, m, gpu);
    assert_in_range(part->cause_count, 1, WHY_CAUSES_MAX);
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        check_sentence(cause->text, WHY_TEXT_SIZE);
        check_numbers(cause->text, m, gpu);
        check_pids(cause->text, m, gpu);
        assert_true(cause->confidence >= 0 && cause->confidence <= 1);
        assert_in_range(cause->evidence_count, 1, WHY_EVIDENCE_MAX);
        assert_true(cause->pid == 0 || has_process(m, gpu, cause->pid));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(part->causes[k].code, cause->code);
        for (size_t e = 0; e < cause->evidence_count; e++)
            check_line(cause->evidence[e], m, gpu);
    }
    assert_true(part->suggestion_count <= WHY_SUGGESTIONS_MAX);
    for (size_t i = 0; i < part->suggestion_count; i++)
        check_line(part->suggestions[i], m, gpu);
}

static void whatever_is_read_the_explanation_is_sound(void **state)
{
    (void)state;
    struct random r = {0x9e3779b97f4a7c15};
    bool seen[FINDING_CODE_COUNT] = {false};
    for (int i = 0; i < MACHINES; i++) {
        struct machine m;
        machine_random(&r, &m);
        struct why *why = why_explain(m.now, m.has_past ? &m.past : NULL);
        assert_non_null(why);
        assert_int_equal(why->gpu_count, m.now->gpu_count);
        check_sentence(why->answer, WHY_ANSWER_SIZE);
        assert_true(isupper((unsigned char)why->answer[0]));
        for (size_t g = 0; g < why->gpu_count; g++) {
            check_part(&why->gpus[g], &m, &m.now->gpus[g]);
            seen[why->gpus[g].causes[0].code] = true;
        }
        if (!why->gpu_count)
            assert_true(why->machine.cause_count > 0);
        why_free(why);
        machine_done(&m);
    }
    /* Random machines that never reach a rule would prove nothing about it. */
    for (size_t code = FINDING_COMPUTE_LOAD; code <= FINDING_ERROR; code++)
        if (!seen[code] && code != FINDING_VRAM_HELD && code != FINDING_MEMORY_TRAFFIC && code != FINDING_POWER_LIMIT &&
            code != FINDING_HOTSPOT)
            fail_msg("no random machine shows %s", finding_code_name((finding_code)code));
}

static void assert_same(const struct why *a, const struct why *b)
{
    assert_string_equal(a->answer, b->answer);
    for (size_t g = 0; g < a->gpu_count; g++) {
        assert_string_equal(a->gpus[g].answer, b->gpus[g].answer);
        assert_int_equal(a->gpus[g].cause_count, b->gpus[g].cause_count);
        for (size_t i = 0; i < a->gpus[g].cause_count; i++) {
            assert_int_equal(a->gpus[g].causes[i].code, b->gpus[g].causes[i].code);
            assert_true(a->gpus[g].causes[i].confidence == b->gpus[g].causes[i].confidence);
        }
    }
}

static void the_same_facts_give_the_same_answer_in_any_order_of_processes(void **state)
{
    (void)state;
    struct random r = {77};
    for (int i = 0; i < 300; i++) {
        struct machine m;
        machine_random(&r, &m);
        struct why *first = why_explain(m.now, m.has_past ? &m.past : NULL);
        struct why *again = why_explain(m.now, m.has_past ? &m.past : NULL);
        assert_same(first, again);
        for (size_t g = 0; g < m.now->gpu_count; g++)
            for (size_t a = 0, b = m.now->gpus[g].process_count; a + 1 < b; a++, b--) {
                struct process kept = m.now->gpus[g].processes[a];
                m.now->gpus[g].processes[a] = m.now->gpus[g].processes[b - 1];
                m.now->gpus[g].processes[b - 1] = kept;
            }
        struct why *reversed = why_explain(m.now, m.has_past ? &m.past : NULL);
        assert_same(first, reversed);
        why_free(first);
        why_free(again);
        why_free(reversed);
        machine_done(&m);
    }
}

static void a_snapshot_of_nothing_has_an_answer(void **state)
{
    (void)state;
    for (size_t gpus = 0; gpus <= 3; gpus++) {
        struct machine m = {.now = snapshot_new(gpus)};
        for (size_t i = 0; i < gpus; i++)
            m.now->gpus[i].index = (int)i;
        struct why *why = why_explain(m.now, NULL);
        check_sentence(why->answer, WHY_ANSWER_SIZE);
        for (size_t i = 0; i < gpus; i++) {
            check_part(&why->gpus[i], &m, &m.now->gpus[i]);
            assert_int_equal(why->gpus[i].causes[0].code, FINDING_CANNOT_KNOW);
        }
        why_free(why);
        machine_done(&m);
    }
}

static void the_largest_machine_fits(void **state)
{
    (void)state;
    struct random r = {5};
    struct machine m = {.now = snapshot_new(GPU_MAX)};
    m.now->taken_at.ms = 1794704523000;
    for (int g = 0; g < GPU_MAX; g++) {
        struct gpu *gpu = &m.now->gpus[g];
        fill_gpu(&r, gpu, g, m.now->taken_at);
        for (int i = 0; g < 2 && i < GPU_PROCESSES_MAX + 10; i++) {
            struct process *p = gpu_add_process(gpu, 5000000 + i);
            if (p)
                fill_process(&r, p, m.now->taken_at);
        }
    }
    struct why *why = why_explain(m.now, NULL);
    check_sentence(why->answer, WHY_ANSWER_SIZE);
    for (size_t g = 0; g < GPU_MAX; g++)
        check_part(&why->gpus[g], &m, &m.now->gpus[g]);
    why_free(why);
    machine_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whatever_is_read_the_explanation_is_sound),
        TEST(the_same_facts_give_the_same_answer_in_any_order_of_processes),
        TEST(a_snapshot_of_nothing_has_an_answer),
        TEST(the_largest_machine_fits),
    };
    return RUN_TESTS(tests);
}
