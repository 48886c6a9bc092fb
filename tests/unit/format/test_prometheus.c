/* SPDX-License-Identifier: Apache-2.0 */
#include "format/prometheus/prometheus.h"

#include "sample.h"

static struct buf exposition(const struct snapshot *s, const struct prometheus_extra *extra)
{
    struct buf out = BUF(PROMETHEUS_MAX);
    prometheus_write(&out, s, extra);
    assert_false(out.failed);
    return out;
}

static void assert_has(const struct buf *b, const char *line)
{
    if (!str_contains(buf_view(b), line))
        fail_msg("'%s' is not in:\n%s", line, b->at);
}

static void assert_lacks(const struct buf *b, const char *part)
{
    if (str_contains(buf_view(b), part))
        fail_msg("'%s' is in:\n%s", part, b->at);
}

static void readings_become_series_in_base_units(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    AUTO_BUF struct buf b = exposition(s, &(struct prometheus_extra){.evictions_total = 7, .own_pid = 1203});
    assert_has(&b, "gpu_temperature_celsius{gpu=\"0\",uuid=\"GPU-11111111-2222\",name=\"NVIDIA GeForce RTX 4090\"} 71\n");
    assert_has(&b, "gpu_memory_total_bytes{gpu=\"0\",uuid=\"GPU-11111111-2222\",name=\"NVIDIA GeForce RTX 4090\"} 25769803776\n");
    assert_has(&b, "gpu_fan_speed_ratio{gpu=\"0\",uuid=\"GPU-11111111-2222\",name=\"NVIDIA GeForce RTX 4090\"} 0.62\n");
    assert_has(&b, "\"} 78.1\n");
    assert_has(&b, "gpu_other_processes_count{gpu=\"0\",uuid=\"GPU-11111111-2222\",name=\"NVIDIA GeForce RTX 4090\"} 1\n");
    assert_has(&b, "\ngpu_evictions_total 7\n");
    assert_has(&b, "\nnvml_query_errors_total 3\n");
    assert_has(&b, "\nnvml_init_failures_total 1\n");
    assert_has(&b, "reason=\"power cap\"} 1\n");
    assert_has(&b, "reason=\"idle\"} 0\n");
    assert_has(&b, "process=\"python3\",user=\"alice\",container=\"\"} 269\n");
}

static void the_names_that_guards_rely_on_exist(void **state)
{
    (void)state;
    static const char *const names[] = {
        "\ngpu_other_processes_count{", "\ngpu_temperature_celsius{", "\ngpu_utilization_percent{",
        "\ngpu_power_watts{",           "\ngpu_memory_free_bytes{",   "\ngpu_memory_total_bytes{",
        "\ngpu_evictions_total ",       "\nnvml_query_errors_total ", "\nnvml_init_failures_total ",
    };
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    AUTO_BUF struct buf b = exposition(s, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_has(&b, names[i]);
}

static void what_is_absent_has_no_series(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    AUTO_BUF struct buf b = exposition(s, NULL);
    assert_lacks(&b, "gpu_temperature_celsius{gpu=\"1\"");
    assert_lacks(&b, "gpu_energy_joules_total");
    assert_lacks(&b, "gpu_other_processes_count{gpu=\"3\"");
    assert_has(&b, "gpu_up{gpu=\"2\",uuid=\"\",name=\"NVIDIA A10\"} 0\n");
    assert_has(&b, "gpu_asleep{gpu=\"1\",uuid=\"\",name=\"AMD Radeon RX 7900 XTX\"} 1\n");
}

static void instances_and_simulation_are_labelled(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    AUTO_BUF struct buf b = exposition(s, NULL);
    assert_has(&b, "gpu_memory_used_bytes{gpu=\"3\",uuid=\"GPU-44444444\",name=\"NVIDIA H100\",mig_uuid=\"MIG-77\","
                   "profile=\"1g.10gb\",simulated=\"true\"} 536870912\n");
}

static void help_and_type_stand_once_before_all_series_of_a_name(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    AUTO_BUF struct buf b = exposition(s, NULL);
    struct str rest = buf_view(&b), line;
    char current[128] = "", seen[8192] = " ";
    while (str_cut(&rest, '\n', &line)) {
        struct str word, name;
        struct str left = line;
        if (str_starts(line, "# HELP ")) {
            str_word(&left, &word);
            str_word(&left, &word);
            str_word(&left, &name);
            char marked[130];
            snprintf(marked, sizeof marked, " " STR_FMT " ", STR_ARG(name));
            if (strstr(seen, marked))
                fail_msg("%s has two heads", marked);
            strncat(seen, marked + 1, sizeof seen - strlen(seen) - 1);
            str_copy(current, sizeof current, name);
        } else if (!str_starts(line, "#")) {
            size_t len = 0;
            while (len < line.len && line.at[len] != '{' && line.at[len] != ' ')
                len++;
            if (!str_is((struct str){line.at, len}, current))
                fail_msg("series " STR_FMT " stands behind the head of %s", STR_ARG(line), current);
        }
    }
}

static void labels_are_escaped(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    snprintf(s->gpus[0].processes[0].name, PROCESS_NAME_SIZE, "a\"b\\c\nd\xff");
    AUTO_BUF struct buf b = exposition(s, NULL);
    assert_has(&b, "process=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"");
    snapshot_unref(s);
}

static void processes_of_one_name_are_added_up(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    struct process *twin = gpu_add_process(&s->gpus[0], 4243);
    snprintf(twin->name, sizeof twin->name, "python3");
    snprintf(twin->user, sizeof twin->user, "alice");
    twin->mem_bytes = reading_ok(1000 * MIB_BYTES);
    AUTO_BUF struct buf b = exposition(s, NULL);
    assert_has(&b, "process=\"python3\",user=\"alice\",container=\"\"} 2\n");
    assert_has(&b, "process=\"python3\",user=\"alice\",container=\"\"} 18874368000\n");
    assert_lacks(&b, "4243");
    snapshot_unref(s);
}

/* Of two processes of one name the mean; one that was not judged has no part in it. */
static void what_limits_a_program_has_its_share(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    for (int32_t pid = 1; pid <= 3; pid++) {
        struct process *p = gpu_add_process(&s->gpus[0], pid);
        p->instance = -1;
        str_copy(p->name, sizeof p->name, STR("python3"));
        str_copy(p->job, sizeof p->job, STR("4711"));
        if (pid < 3)
            p->limit = (struct process_limit){.code = LIMIT_DISK,
                                              .share_permille = pid == 1 ? 900 : 500,
                                              .second = pid == 1 ? LIMIT_COMPUTE : LIMIT_UNJUDGED,
                                              .second_permille = 100};
    }
    AUTO_BUF struct buf out = exposition(s, NULL);
    assert_has(&out, "process=\"python3\",user=\"\",container=\"\",hpc_job=\"4711\",limit=\"disk\"} 0.7\n");
    assert_has(&out, "limit=\"compute\"} 0.05\n");
    assert_lacks(&out, "limit=\"\"");
    snapshot_unref(s);
}

static void containers_and_pods_have_their_names(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    struct process *p = &s->gpus[0].processes[0];
    snprintf(p->container, sizeof p->container, "k8s:uid/4f2a9c1b3d7e");
    snprintf(p->container_name, sizeof p->container_name, "ml/train-0/worker");
    AUTO_BUF struct buf b = exposition(s, NULL);
    assert_has(&b, "container=\"worker\",pod=\"train-0\",namespace=\"ml\"}");
    snprintf(p->container_name, sizeof p->container_name, "ml/train-0");
    AUTO_BUF struct buf two = exposition(s, NULL);
    assert_has(&two, "container=\"\",pod=\"train-0\",namespace=\"ml\"}");
    snprintf(p->container_name, sizeof p->container_name, "train-llama");
    AUTO_BUF struct buf plain = exposition(s, NULL);
    assert_has(&plain, "container=\"train-llama\"}");
    p->container_name[0] = '\0';
    AUTO_BUF struct buf id = exposition(s, NULL);
    assert_has(&id, "container=\"k8s:uid/4f2a9c1b3d7e\"}");
    snapshot_unref(s);
}

/* Two series with the same labels make Prometheus refuse all of them. */
static void series_of_other_exporters_are_not_doubled(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    s->gpus[0].mem_used_bytes = reading_ok(1000000 * MIB_BYTES);
    struct process *p = gpu_add_process(&s->gpus[0], 77);
    snprintf(p->name, sizeof p->name, "(unattributed)");
    p->mem_bytes = reading_ok(MIB_BYTES);
    AUTO_BUF struct buf b = exposition(s, NULL);
    assert_has(&b, "process=\"?\",user=\"\",container=\"\"} 1048576\n");
    snapshot_unref(s);
}

static void labels_of_all_series_are_put_in(void **state)
{
    (void)state;
    const struct prometheus_options o = {.labels = {{"cluster", "a\"b"}, {"empty", ""}}, .label_count = 2};
    AUTO_BUF struct buf b = BUF(4096);
    buf_text(&b, "# HELP a {x} y\n# TYPE a gauge\na 1\na{p=\"{,}cluster=\"} 2\n\na{cluster=\"own\"} 3\na{} 4\n");
    prometheus_add_labels(&b, "box", &o);
    assert_string_equal(b.at, "# HELP a {x} y\n# TYPE a gauge\na{cluster=\"a\\\"b\",host=\"box\"} 1\n"
                              "a{p=\"{,}cluster=\",cluster=\"a\\\"b\",host=\"box\"} 2\n"
                              "a{cluster=\"own\",host=\"box\"} 3\na{cluster=\"a\\\"b\",host=\"box\"} 4\n");
}

/* They are put in where the text is: a line that gets none, one that gets all, and the last one are where this could go wrong. */
static void labels_of_all_series_are_put_in_whatever_the_lengths(void **state)
{
    (void)state;
    for (int width = 0; width < 40; width++) {
        const struct prometheus_options o = {.labels = {{"x", "1"}, {"zone", "\"\n\""}}, .label_count = 2};
        AUTO_BUF struct buf text = BUF(65536), expected = BUF(65536);
        for (int i = 0; i < 20; i++) {
            buf_printf(&text, "s{p=\"%0*d\",x=\"own\",zone=\"own\"} %d\n", width + 1, i, i);
            buf_printf(&text, "s%0*d %d%s", width + 1, i, i, i < 19 ? "\n" : "");
            buf_printf(&expected, "s{p=\"%0*d\",x=\"own\",zone=\"own\"} %d\n", width + 1, i, i);
            buf_printf(&expected, "s%0*d{x=\"1\",zone=\"\\\"\\n\\\"\"} %d\n", width + 1, i, i);
        }
        prometheus_add_labels(&text, NULL, &o);
        assert_string_equal(text.at, expected.at);
    }
}

static void numbers_are_written_in_full(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, " 0\n"},
        {-1, " -1\n"},
        {0.62, " 0.62\n"},
        {-0.5, " -0.5\n"},
        {78.1, " 78.1\n"},
        {126.781, " 126.781\n"},
        {0.000001, " 1e-06\n"},
        {0.05, " 0.05\n"},
        {1e15, " 1000000000000000\n"},
        {1.0 / 3, " 0.333333333333\n"},
        {1700000000.5, " 1700000000.5\n"},
        {999999.999, " 999999.999\n"},
        {25769803776.0, " 25769803776\n"},
        {1000020.003, " 1000020.003\n"},
        {-123456789.5, " -123456789.5\n"},
        {1234567.12345, " 1234567.12345\n"},
        {999999999.999, " 999999999.999\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf b = BUF(64);
        prometheus_value(&b, cases[i].value);
        assert_string_equal(b.at, cases[i].text);
    }
}

static void without_gpu_the_counters_still_exist(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(0);
    AUTO_BUF struct buf b = exposition(s, NULL);
    assert_has(&b, "gpu_devices 0\n");
    assert_has(&b, "nvml_query_errors_total 0\n");
    assert_lacks(&b, "gpu_temperature");
    snapshot_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readings_become_series_in_base_units),
        TEST(the_names_that_guards_rely_on_exist),
        TEST(what_is_absent_has_no_series),
        TEST(instances_and_simulation_are_labelled),
        TEST(help_and_type_stand_once_before_all_series_of_a_name),
        TEST(labels_are_escaped),
        TEST(processes_of_one_name_are_added_up),
        TEST(what_limits_a_program_has_its_share),
        TEST(containers_and_pods_have_their_names),
        TEST(series_of_other_exporters_are_not_doubled),
        TEST(labels_of_all_series_are_put_in),
        TEST(labels_of_all_series_are_put_in_whatever_the_lengths),
        TEST(numbers_are_written_in_full),
        TEST(without_gpu_the_counters_still_exist),
    };
    return RUN_TESTS(tests);
}
