/* SPDX-License-Identifier: Apache-2.0
 * Rules: built in, changed, of one's own; and what is said about wrong ones.
 */
#include "model/finding_code.h"
#include "rules.h"

#include "base/file.h"
#include "config/findings.h"

static struct config *config;
static struct alert_rules *rules;

static int tear_down(void **state)
{
    (void)state;
    alert_rules_free(TAKE(rules));
    config_free(TAKE(config));
    return 0;
}

static const struct alert_rule *rule(const char *name)
{
    const struct alert_rule *r = alert_rules_find(rules, name);
    if (!r)
        fail_msg("there is no rule %s", name);
    return r;
}

static void every_finding_that_matters_has_a_rule(void **state)
{
    (void)state;
    rules = rules_of("", &config);
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++) {
        const struct finding_kind *kind = finding_kind((finding_code)i);
        const struct alert_rule *r = alert_rules_of_finding(rules, (finding_code)i);
        assert_int_equal(r != NULL, kind->severity > SEVERITY_INFO || kind->hold_ms > 0);
        if (!r)
            continue;
        assert_true(r->enabled && r->builtin && rule_is_finding(r));
        assert_string_equal(r->name, kind->code);
        assert_int_equal(r->severity, kind->severity);
        assert_int_equal(r->hold_ms, kind->hold_ms);
        assert_int_equal(r->notify_from, SEVERITY_WARNING);
    }
    assert_true(rule("store_failing")->enabled && rule("store_full_soon")->enabled);
}

static void the_documentation_tells_of_every_older_name(void **state)
{
    (void)state;
    const char *root = getenv("WHIRR_SOURCE_ROOT"), *old;
    char path[512], row[512];
    AUTO_BUF struct buf text = BUF(1 << 20);
    struct env env;
    if (!root)
        SKIP("WHIRR_SOURCE_ROOT is not set");
    env_init_system(&env);
    snprintf(path, sizeof path, "%s/docs/alerts.md", root);
    assert_int_equal(file_read_all(&env, path, &text), 0);
    for (size_t i = 0; (old = config_old_alert(i)); i++) {
        snprintf(row, sizeof row, "\n- `%s`: ", old);
        const char *line = strstr(text.at, row);
        for (finding_code code = 0; code < FINDING_CODE_COUNT; code++)
            if (config_names_finding(old, code) && strcmp(old, finding_code_name(code)) != 0 &&
                (!line || !memmem(line, strcspn(line + 1, "\n") + 1, finding_code_name(code), strlen(finding_code_name(code)))))
                fail_msg("docs/alerts.md lacks %s: %s", old, finding_code_name(code));
    }
}

static void builtin_alerts_can_be_left_out_and_changed(void **state)
{
    (void)state;
    rules = rules_of("[alerts]\nhigh_usage_percent = 70.5\ndisabled = ['gpu_hot', 'loud']\n"
                     "[[alert]]\nname = 'vram_nearly_full'\nwhen = 'memory_used_percent > 99'\nfor = '5m'\n"
                     "[[alert]]\nname = 'gpu_lost'\nseverity = 'warning'\n"
                     "[[alert]]\nname = 'xid_error'\nenabled = false\n"
                     "[[alert]]\nname = 'high_gpu_usage'\n"
                     "[[alert]]\nname = 'airflow'\nwhen = 'temperature_celsius > 60'\n"
                     "[finding.slowdown]\nseverity = 'critical'\nhold = '5s'\n"
                     "[finding.nvlink]\nmute = true\n",
                     &config);
    assert_string_equal(expr_text(rule("high_gpu_usage")->when), "utilization_percent > 70.5%");
    assert_false(rule("hot")->enabled || rule("heat_limit")->enabled || rule("loud")->enabled);
    assert_false(rule("vram_full")->enabled); /* the condition stands for it */
    assert_string_equal(expr_text(rule("vram_nearly_full")->when), "memory_used_percent > 99");
    assert_int_equal(rule("vram_nearly_full")->hold_ms, 300000);
    assert_int_equal(rule("lost")->severity, SEVERITY_WARNING);
    assert_true(rule("airflow")->enabled && !rule("airflow")->builtin && rule("airflow")->hold_ms == 0);
    assert_false(rule("xid")->enabled || rule("nvlink")->enabled);
    assert_int_equal(rule("slowdown")->severity, SEVERITY_CRITICAL);
    assert_int_equal(rule("slowdown")->hold_ms, 5000);
    assert_true(rule("slowdown")->changed && !rule("fan_stopped")->changed && rule("fan_stopped")->enabled);
}

static void switching_all_off_leaves_ones_own(void **state)
{
    (void)state;
    rules = rules_of("[alerts]\nenabled = false\n[[alert]]\nname = 'busy'\nwhen = 'utilization_percent > 10'\n"
                     "[[alert]]\nname = 'gpu_lost'\nenabled = true\n",
                     &config);
    assert_false(rule("hot")->enabled);
    assert_true(rule("busy")->enabled);
    assert_false(rule("busy")->builtin);
    assert_true(rule("lost")->enabled);
}

static void a_wrong_condition_is_shown_at_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message, *excerpt;
    } cases[] = {
        {"[[alert]]\nname = 'hot'\nwhen = 'temprature_celsius > 85'\n", ":3:9", "when of alert 'hot': unknown metric",
         "    temprature_celsius > 85\n    ^^^^^^^^^^^^^^^^^^\n"},
        {"[[alert]]\nname = 'hot'\nwhen = \"state == \\\"ok\\\" and temprature_celsius > 85\"\n", ":3:29", "temperature_celsius",
         "    state == \"ok\" and temprature_celsius > 85\n                      ^^^^^^^^^^^^^^^^^^\n"},
        {"[[alert]]\nname = 'hot'\nwhen = 'state == \"ok\"'\nclear = 'state ='\n", ":4:16", "clear of alert 'hot'", "^"},
        {"[[alert]]\nname = 'hot'\nwhen = 'state == \"ok\"'\nclear = 'process.memory_mb > 5'\n", ":4:9", "about a process", ""},
        {"[[alert]]\nname = 'hot'\nwhen = 'state == \"ok\"'\nsummary = 'it is {{temperature_celcius}}'\n", ":4:18",
         "{{temperature_celsius}}", "^^^^^^^^^^^^^^^^^^^^^^^"},
        {"[[alert]]\nname = 'hot'\nwhen = 'state == \"ok\"'\nsummary = '{{process.name}}'\n", ":4:12", "not about a process", "^"},
        {"[[alert]]\nname = 'hot'\nwhen = 'slowed_down'\nlabels = {gpu = 'x'}\n", ":4:10", "built-in label", ""},
        {"[[alert]]\nname = 'hot'\nwhen = 'slowed_down'\nlabels = {'a-b' = 'x'}\n", ":4:10", "letters, digits", ""},
        {"[[alert]]\nname = 'hot'\nwhen = 'slowed_down'\nlabels = {a='',b='',c='',d='',e='',f='',g='',h='',i=''}\n", ":4:10",
         "more than 8 labels", ""},
        {"[[alert]]\nname = 'mine'\n", ":1:3", "alert.when is missing", ""},
        {"[alerts]\ndisabled = ['gpu_hto']\n", ":2:12", "did you mean 'gpu_hot'?", ""},
        {"[alerts]\ndisabled = ['pcie_lnik']\n", ":2:12", "did you mean 'pcie_link'?", ""},
        {"[finding.pcie_lnik]\nmute = true\n", ":1:10", "there is no finding 'pcie_lnik', did you mean 'pcie_link'?", ""},
        {"[finding.hot]\nseverity = 'fatal'\n", ":2:12", "severity", ""},
        {"[finding.hot]\nhold = '-5s'\n", ":2:8", "hold", ""},
        {"[finding.hot]\nhold = '30d'\n", ":2:8", "hold", ""},
        {"[finding.hot]\nnotify = ['ops']\n", ":2:10", "there is no [notify.ops]", ""},
        {"[[alert]]\nname = 'hot'\nwhen = '''\ntemp > 3'''\n", ":3:8", "unknown metric 'temp'", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_not_equal(read_rules(cases[i].text, &config, &rules), 0);
        const struct config_problem *p = &rule_problems.list[0];
        if (rule_problems.errors != 1 || !str_ends(str_from(p->where), cases[i].where) || !strstr(p->text, cases[i].message) ||
            !strstr(p->excerpt, cases[i].excerpt))
            fail_msg("%s%zu errors\n%s: %s\n%s", cases[i].text, rule_problems.errors, p->where, p->text, p->excerpt);
        config_free(TAKE(config));
    }
}

static void all_mistakes_are_told_at_once(void **state)
{
    (void)state;
    assert_int_not_equal(
        read_rules("[[alert]]\nname = 'a'\nwhen = 'x > 1'\n[[alert]]\nname = 'b'\nwhen = 'y > 1'\nclear = 'z'\n", &config, &rules),
        0);
    assert_int_equal(rule_problems.errors, 3);
}

static void summaries_speak_of_their_subject(void **state)
{
    (void)state;
    rules =
        rules_of("[[alert]]\nname = 'busy'\nwhen = 'utilization_percent > 10'\n"
                 "[[alert]]\nname = 'own'\nwhen = 'process.memory_mb > 1GiB'\nfor = '90s'\n"
                 "summary = '{{process}} on {{gpu}} of {{host}}: {{ value }}, {{utilization_percent}}, {{fan_percent}}, {{for}}'\n",
                 &config);
    struct snapshot *s = machine_new(1);
    gpu_set(&s->gpus[0], "utilization_percent", 42);
    struct process *p = gpu_add_process(&s->gpus[0], 7);
    p->mem_bytes = reading_ok(3LL << 30);
    str_copy(p->name, sizeof p->name, STR("python3"));
    str_copy(p->user, sizeof p->user, STR("alice"));
    struct subject subject = {.snapshot = s, .gpu = &s->gpus[0]};
    AUTO_BUF struct buf made = BUF(1024), own = BUF(1024);
    summary_write(&made, rule("busy"), &subject, 0);
    assert_string_equal(made.at, "GPU 0 (Test Card): utilization_percent is 42% (utilization_percent > 10)");
    subject.process = p;
    summary_write(&own, rule("own"), &subject, 6000);
    assert_string_equal(own.at, "python3 (pid 7, alice) on GPU 0 (Test Card) of box: 3.0 GiB, 42%, –, 6s");
    snapshot_unref(s);
}

#define WITH_RULES(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RULES(every_finding_that_matters_has_a_rule),      WITH_RULES(the_documentation_tells_of_every_older_name),
        WITH_RULES(builtin_alerts_can_be_left_out_and_changed), WITH_RULES(switching_all_off_leaves_ones_own),
        WITH_RULES(a_wrong_condition_is_shown_at_its_place),    WITH_RULES(all_mistakes_are_told_at_once),
        WITH_RULES(summaries_speak_of_their_subject),
    };
    return RUN_TESTS(tests);
}
