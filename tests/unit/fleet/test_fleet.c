/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/os/shared.h"
#include "config/places.h"
#include "fleet/promql.h"
#include "test.h"

/* A database that takes a question and never answers. As soon as it has one, the request is canceled. */
struct silent {
    int listener, port;
    _Atomic bool cancel;
    pthread_t thread;
};

static void *listen_only(void *argument)
{
    struct silent *s = argument;
    char question[4096];
    int fd = accept(s->listener, NULL, NULL);
    for (ssize_t got; (got = read(fd, question, sizeof question)) > 0;) /* until it is given up */
        atomic_store(&s->cancel, true);
    close(fd);
    return NULL;
}

static void start(struct silent *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(s->listener, 1), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &size), 0);
    s->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, listen_only, s), 0);
}

/* A daemon that stops does not wait for its fleet: without that, this takes an hour. */
static void a_question_without_a_waiting_client_is_given_up(void **state)
{
    (void)state;
    struct silent s = {0};
    struct env env;
    struct fleet f;
    struct error err = {0};
    char url[64];
    env_init_system(&env);
    start(&s);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", s.port);
    const struct fleet_place place = {.env = &env, .url = url, .timeout_ms = 3600000, .cancel = &s.cancel};
    assert_int_equal(fleet_fetch(&place, FLEET_WANT_ALL, &f, &err), -ECANCELED);
    pthread_join(s.thread, NULL);
    close(s.listener);

    const struct fleet_place later = {.env = &env, .url = "postgresql://127.0.0.1:1/x", .timeout_ms = 3600000, .cancel = &s.cancel};
    assert_int_equal(fleet_fetch(&later, FLEET_WANT_ALL, &f, &err), -ECANCELED);
}

/* Asleep, without rights, or of a kind that has none: what is not known is not 0. */
static void figures_that_no_gpu_has_are_left_out_of_the_answer(void **state)
{
    (void)state;
    struct fleet_gpu gpus[2] = {{.host = "a", .gpu = "0", .up = true}, {.host = "b", .gpu = "0", .up = true}};
    const struct fleet f = {.gpus = gpus, .gpu_count = 2};
    char text[200];
    fleet_answer(&f, text, sizeof text);
    assert_string_equal(text, "2 hosts, 2 GPUs");
    gpus[1].power_mw = reading_ok(250000);
    fleet_answer(&f, text, sizeof text);
    assert_string_equal(text, "2 hosts, 2 GPUs, 250 W");
    gpus[1].power_mw = reading_ok(2500000);
    gpus[0].util_permille = reading_ok(620);
    gpus[0].state = FLEET_LOST;
    fleet_answer(&f, text, sizeof text);
    assert_string_equal(text, "2 hosts, 2 GPUs, 62% utilized, 2.5 kW: 1 lost");
}

static void shares_that_no_process_has_are_dashes(void **state)
{
    (void)state;
    struct fleet_process processes[] = {{.host = "a", .user = "alice", .process = "x"},
                                        {.host = "b", .user = "bob", .process = "y", .util_permille = reading_ok(500)}};
    const struct fleet f = {.processes = processes, .process_count = 2};
    AUTO_BUF struct buf out = BUF(4096);
    fleet_table_ps(&out, &(struct page){.width = 100}, &f, &(struct fleet_view){.all = true, .by = FLEET_BY_USER});
    assert_null(strstr(out.at, "0.0"));
    assert_non_null(strstr(out.at, "0.5"));
}

/* What is not known is not a no. */
static void where_memory_is_not_known_it_may_fit(void **state)
{
    (void)state;
    struct fleet_gpu gpus[2] = {{.host = "a", .gpu = "0", .up = true, .free_bytes = reading_ok((int64_t)10 << 30)},
                                {.host = "b", .gpu = "0", .up = true, .free_bytes = reading_absent(READING_UNSUPPORTED)}};
    struct fleet f = {.gpus = gpus, .gpu_count = 2};
    const struct fleet_view view = {.size_bytes = (int64_t)20 << 30};
    const struct page page = {.width = 80};
    for (int round = 0; round < 2; round++) {
        AUTO_BUF struct buf json = BUF(4096), text = BUF(4096);
        struct json_writer j = JSON_WRITER(&json);
        assert_false(fleet_json_fit(&j, &f, &view));
        assert_false(fleet_table_fit(&text, &page, &f, &view));
        assert_non_null(strstr(json.at, round ? "\"fits\":false" : "\"fits\":null"));
        assert_non_null(strstr(text.at, round ? "20.0 GiB fits nowhere" : "Unknown: the free memory of 1 GPU isn't known"));
        f.gpu_count = 1;
    }
}

/* What can't be used is not the place with the most room, either. */
static void the_most_room_is_on_a_gpu_that_works(void **state)
{
    (void)state;
    struct fleet_gpu gpus[] = {
        {.host = "a", .gpu = "0", .up = true, .free_bytes = reading_ok((int64_t)10 << 30)},
        {.host = "b", .gpu = "0", .up = true, .findings = {.forbids = true}, .free_bytes = reading_ok((int64_t)70 << 30)}};
    struct fleet f = {.gpus = gpus, .gpu_count = 2};
    AUTO_BUF struct buf text = BUF(4096);
    assert_false(fleet_table_fit(&text, &(struct page){.width = 80}, &f, &(struct fleet_view){.size_bytes = (int64_t)60 << 30}));
    assert_string_equal(text.at, "60.0 GiB fits nowhere; GPU 0 of a has the most free memory: 10.0 GiB\n");
}

static void say(struct fleet_findings *to, const char *code, enum severity severity, double confidence)
{
    fleet_findings_add(
        to, &(struct fleet_finding){
                .code = code, .process = "", .headline = "", .severity = severity, .confidence = confidence, .held = true});
}

/* In whatever order a database gives them. */
static void the_first_finding_is_the_hosts_own(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum severity severity;
        double confidence;
    } findings[] = {{"compute_load", SEVERITY_INFO, 1},
                    {"loud", SEVERITY_WARNING, 0.9},
                    {"retired_pages", SEVERITY_WARNING, 0.6},
                    {"of_tomorrow", SEVERITY_NOTICE, 1}};
    for (size_t start = 0; start < ARRAY_LEN(findings); start++) {
        struct fleet_findings all = {0};
        for (size_t i = 0; i < ARRAY_LEN(findings); i++) {
            size_t at = (start + i) % ARRAY_LEN(findings);
            say(&all, findings[at].code, findings[at].severity, findings[at].confidence);
        }
        assert_string_equal(all.code, "loud");
        assert_int_equal(all.effect, EFFECT_DEGRADED);
        assert_false(all.forbids);
    }
}

static void work_goes_where_no_finding_forbids_it(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum severity severity;
        bool forbids;
    } cases[] = {{"ecc", SEVERITY_CRITICAL, true},
                 {"row_remap", SEVERITY_WARNING, true},
                 {"ecc", SEVERITY_INFO, false},
                 {"heat_limit", SEVERITY_CRITICAL, false},
                 {"of_tomorrow", SEVERITY_CRITICAL, true},
                 {"of_tomorrow", SEVERITY_WARNING, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fleet_gpu g = {.up = true};
        say(&g.findings, "compute_load", SEVERITY_INFO, 1);
        say(&g.findings, cases[i].code, cases[i].severity, 0.97);
        if (fleet_is_usable(&g) != !cases[i].forbids)
            fail_msg("%s, %s", cases[i].code, severity_text(cases[i].severity));
    }
}

/* A GPU that nothing was said about is not fine; one that an older whirr calls down is lost. */
static void what_is_not_judged_is_not_fine(void **state)
{
    (void)state;
    struct fleet_gpu gpus[] = {
        {.host = "a", .gpu = "0", .up = true}, {.host = "b", .gpu = "0"}, {.host = "c", .gpu = "0", .up = true}};
    struct fleet f = {.gpus = gpus, .gpu_count = 3};
    size_t count;
    say(&gpus[2].findings, "nothing_unusual", SEVERITY_INFO, 1);
    assert_non_null(fleet_note_of(&f, "d"));
    f.notes[0].silent = true;
    f.notes[0].silent_ms = 7200000;
    assert_ptr_equal(fleet_note_of(&f, "d"), &f.notes[0]);
    fleet_settle(&f);
    AUTO_FREE struct fleet_host *hosts = fleet_hosts(&f, &count);
    static const struct {
        const char *name, *state, *note;
    } expected[] = {{"b", "lost", "GPU 0 is lost"},
                    {"d", "silent", "not answering for 2h"},
                    {"a", "not_judged", "GPU 0 is not judged"},
                    {"c", "fine", ""}};
    assert_int_equal(count, ARRAY_LEN(expected));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(hosts[i].name, expected[i].name);
        assert_string_equal(fleet_state_name(hosts[i].state), expected[i].state);
        assert_string_equal(hosts[i].note, expected[i].note);
    }
    free(f.notes);
}

/* Work is placed on an instance of a divided GPU: what the whole of it has free is in no one piece. */
static void a_divided_gpu_has_the_room_of_its_instances(void **state)
{
    (void)state;
    const int64_t gib = 1 << 30;
    struct fleet_gpu gpus[] = {{.host = "a",
                                .gpu = "0",
                                .up = true,
                                .free_bytes = reading_ok(70 * gib),
                                .divided = true,
                                .first_instance = 1,
                                .instance_free_bytes = reading_ok(9 * gib)},
                               {.host = "b",
                                .gpu = "0",
                                .up = true,
                                .free_bytes = reading_ok(70 * gib),
                                .divided = true,
                                .instance_max_bytes = reading_ok(10 * gib)}};
    struct fleet_instance instances[] = {{.uuid = "MIG-1", .profile = "1g.10gb", .free_bytes = reading_ok(9 * gib), .next = 2},
                                         {.uuid = "MIG-2", .profile = "1g.10gb", .free_bytes = reading_ok(5 * gib)}};
    struct fleet f = {.gpus = gpus, .gpu_count = 2, .instances = instances, .instance_count = 2};
    const struct page page = {.width = 80};
    static const struct {
        int64_t gib;
        size_t known;
        const char *json, *text;
    } requests[] = {
        {20, 2, "\"fits\":false", "20.0 GiB fits nowhere; an instance of GPU 0 of a has the most free memory: 9.0 GiB\n"},
        {10, 2, "\"fits\":null", "Unknown: the free memory of 1 GPU isn't known"},
        {9, 1, "\"fits\":true", "9.0 GiB fits on 1 GPU:"},
        {9, 1, "\"memory_free_mb\":9216", "MIG 1g.10gb"},
        {5, 1, "\"uuid\":\"MIG-2\"", "5.0 GiB fits on 2 GPUs:"}};
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        AUTO_BUF struct buf json = BUF(4096), text = BUF(4096);
        struct json_writer j = JSON_WRITER(&json);
        const struct fleet_view view = {.size_bytes = requests[i].gib * gib};
        assert_int_equal(fleet_json_fit(&j, &f, &view), requests[i].known == 1);
        fleet_table_fit(&text, &page, &f, &view);
        if (!strstr(json.at, requests[i].json) || !strstr(text.at, requests[i].text))
            fail_msg("%lld GiB: %s %s", (long long)requests[i].gib, json.at, text.at);
    }
}

static void little_energy_is_not_0_kwh(void **state)
{
    (void)state;
    struct fleet_energy hosts[] = {{.name = "a", .joules = 7200}, {.name = "b"}};
    const struct page page = {.width = 80};
    const struct fleet_bill bill = {.list = hosts, .count = 2, .by = FLEET_BY_HOST, .span_ms = 120000};
    AUTO_BUF struct buf text = BUF(4096), none = BUF(4096), nothing = BUF(4096);
    fleet_table_bill(&text, &page, &bill, true);
    assert_non_null(strstr(text.at, "7.2 kJ in the last 2m\n"));
    assert_non_null(strstr(text.at, "0.002   100%"));
    fleet_table_bill(&none, &page, &(struct fleet_bill){.span_ms = 120000}, true);
    assert_string_equal(none.at, "No energy was recorded in the last 2m.\n");
    hosts[0].joules = 0; /* a share of nothing */
    fleet_table_bill(&nothing, &page, &bill, true);
    assert_null(strchr(nothing.at, '%'));
}

static void write_acts(const char *path, const char *acts, const struct timespec *when)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(acts, f) >= 0);
    fclose(f);
    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){*when, *when}, 0), 0);
}

static const char *forgotten(struct forgotten_metrics *kept, struct buf *out)
{
    out->len = 0;
    fleet_forgotten_metrics(kept, out);
    return out->len ? out->at : "";
}

static void the_list_of_forgotten_hosts_is_read_again_when_it_changed(void **state)
{
    (void)state;
    char folder[] = "/tmp/whirr-forgotten-XXXXXX", path[PLACE_SIZE];
    struct error err;
    struct forgotten_metrics kept = {0};
    AUTO_BUF struct buf out = BUF(1 << 16);
    assert_non_null(mkdtemp(folder));
    unsetenv("STATE_DIRECTORY");
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("WHIRR_SYSTEM_ROOT", folder, 1);
    assert_string_equal(forgotten(&kept, &out), "");
    assert_int_equal(place_checks(geteuid() == 0, path, &err), 0);
    assert_int_equal(shared_dir_make(path, 0700, &err), 0);
    strcat(path, "/.fleet.jsonl");
    write_acts(path, "{\"host\":\"a\",\"at\":\"2026-01-01T00:00:00Z\"}\n", &(struct timespec){1000, 5});
    assert_non_null(strstr(forgotten(&kept, &out), "{forgotten=\"a\"} 1767225600\n"));
    /* Neither its time nor its size has changed: the text is kept. */
    write_acts(path, "{\"host\":\"b\",\"at\":\"2026-01-01T00:00:00Z\"}\n", &(struct timespec){1000, 5});
    assert_non_null(strstr(forgotten(&kept, &out), "{forgotten=\"a\"}"));
    write_acts(path, "{\"host\":\"b\",\"at\":\"2026-01-01T00:00:00Z\"}\n", &(struct timespec){1000, 6});
    assert_non_null(strstr(forgotten(&kept, &out), "{forgotten=\"b\"}"));
    unlink(path);
    assert_string_equal(forgotten(&kept, &out), "");
    buf_done(&kept.text);
}

static struct vector_row row(const char *host, const char *instance, const char *name, double value)
{
    return (struct vector_row){
        .labels = {{"host", host}, {"instance", instance}, {"__name__", name}}, .label_count = 3, .value = value};
}

static void figures_of_a_host_are_one_host(void **state)
{
    (void)state;
    struct fleet f = {0};
    static const char *const hosts[] = {"b", "a"}, *const names[] = {"whirr_host_gpus", "whirr_host_gpu_power_watts"};
    for (int i = 0; i < 4; i++) {
        struct vector_row r = row(hosts[i % 2], "one:9834", names[i / 2], i + 1);
        assert_int_equal(sums_take(&f, &r), 0);
    }
    assert_int_equal(sums_settle(&f, &(struct fleet_silence){0}), 0);
    assert_int_equal(f.sum_count, 2);
    assert_int_equal(reading_or(fleet_sum_of(&f, "a")->gpus, 0), 2);
    assert_int_equal(reading_or(fleet_sum_of(&f, "a")->power_mw, 0), 4000);
    assert_int_equal(reading_or(fleet_sum_of(&f, "b")->power_mw, 0), 3000);
    fleet_done(&f);
}

static void one_of_hosts_with_the_same_name_is_outdated(void **state)
{
    (void)state;
    struct fleet_silence s = {0};
    struct fleet f = {.gpus = calloc(4, sizeof *f.gpus), .gpu_count = 4};
    static const char *const routes[] = {"one:9834", "two:9834", "three:9834", "four:9834"};
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        struct vector_row r = row("node", routes[i], "", 0);
        r.labels[2].name = "machine";
        r.labels[2].value = routes[i];
        assert_int_equal(seen_add(&s.here, &r), 0);
        if (i == 1)
            assert_int_equal(seen_add(&s.stale, &r), 0);
        snprintf(f.gpus[i].uuid, sizeof f.gpus[i].uuid, "GPU-%zu", i);
        str_copy(f.gpus[i].host, sizeof f.gpus[i].host, STR("node"));
        str_copy(f.gpus[i].instance, sizeof f.gpus[i].instance, str_from(routes[i]));
    }
    assert_int_equal(silence_drop(&s, &f), 0);
    assert_int_equal(f.gpu_count, 3);
    for (size_t i = 0; i < f.gpu_count; i++)
        assert_string_not_equal(f.gpus[i].instance, routes[1]);
    silence_done(&s);
    fleet_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(figures_of_a_host_are_one_host),
                                       TEST(one_of_hosts_with_the_same_name_is_outdated),
                                       TEST(a_question_without_a_waiting_client_is_given_up),
                                       TEST(figures_that_no_gpu_has_are_left_out_of_the_answer),
                                       TEST(shares_that_no_process_has_are_dashes),
                                       TEST(where_memory_is_not_known_it_may_fit),
                                       TEST(a_divided_gpu_has_the_room_of_its_instances),
                                       TEST(the_most_room_is_on_a_gpu_that_works),
                                       TEST(the_first_finding_is_the_hosts_own),
                                       TEST(work_goes_where_no_finding_forbids_it),
                                       TEST(what_is_not_judged_is_not_fine),
                                       TEST(little_energy_is_not_0_kwh),
                                       TEST(the_list_of_forgotten_hosts_is_read_again_when_it_changed)};
    return RUN_TESTS(tests);
}
