/* SPDX-License-Identifier: Apache-2.0
 * The configuration through its public header: layers, messages, groups, profiles, reload.
 */
#include <errno.h>
#include <sys/stat.h>

#include "config_fixture.h"

#include "model/severity.h"

static void without_a_file_every_setting_has_its_default(void **state)
{
    (void)state;
    struct config *c = NULL;
    assert_int_equal(load(NULL, NULL, NULL, 0, &c), 0);
    assert_string_equal(c->server.listen.items[0], "127.0.0.1:9447");
    assert_int_equal(c->server.max_age_ms, 250);
    assert_true(c->sampling.interval_seconds == 5.0);
    assert_int_equal(config_interval_ms(c), 5000);
    assert_int_equal(c->sampling.sources.count, 1);
    assert_string_equal(c->sampling.sources.items[0], "auto");
    assert_int_equal(c->log.level, LOG_INFO);
    assert_int_equal(c->store.max_size_bytes, 4LL << 30);
    assert_true(c->alerts.high_usage_percent == 50);
    assert_true(c->worker.auto_evict && c->worker.enable_nvml && !c->worker.require_nvml);
    assert_int_equal(c->worker.clear_ms, 30000);
    assert_int_equal(c->alert_count + c->notify_count + c->guard_worker_count, 0);
    config_free(c);
}

static void later_layers_win_and_each_value_knows_its_origin(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/etc", config_folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/etc/whirr", config_folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/user", config_folder);
    mkdir(path, 0755);
    char xdg[300];
    snprintf(xdg, sizeof xdg, "XDG_CONFIG_HOME=%s", path);
    snprintf(path, sizeof path, "%s/user/whirr", config_folder);
    mkdir(path, 0755);
    write_file("etc/whirr/whirr.toml",
               "[server]\nlisten = \"10.0.0.1:1\"\nmax_age_ms = 1\n[sampling]\ninterval_seconds = 2\n[log]\nlevel='error'\n");
    write_file("user/whirr/whirr.toml", "[server]\nmax_age_ms = 2\n[sampling]\ninterval_seconds = 3.5\n");
    const char *environment[] = {xdg, "GPU_POLL_INTERVAL_SECONDS=0.25", "WHIRR_LOG_FORMAT=json", "WHIRR_SERVER_MAX_AGE_MS=", NULL};
    const struct config_flag flags[] = {{"log.format", "text", "--log-format"}};
    struct config *c = NULL;
    assert_int_equal(load(NULL, environment, flags, 1, &c), 0);
    assert_string_equal(c->server.listen.items[0], "10.0.0.1:1");
    assert_int_equal(c->server.max_age_ms, 2); /* the empty variable counts as not set */
    assert_true(c->sampling.interval_seconds == 0.25);
    assert_int_equal(c->log.format, CONFIG_LOG_TEXT);
    assert_int_equal(c->log.level, LOG_ERROR);
    assert_int_equal(c->file_count, 2);
    AUTO_BUF struct buf shown = BUF(1 << 20);
    config_write_show(c, false, &shown);
    assert_non_null(strstr(shown.at, "listen = [\"10.0.0.1:1\"]"));
    assert_non_null(strstr(shown.at, "# /etc/whirr/whirr.toml:2\n"));
    assert_non_null(strstr(shown.at, "/user/whirr/whirr.toml:2\n"));
    assert_non_null(strstr(shown.at, "# environment GPU_POLL_INTERVAL_SECONDS\n"));
    assert_non_null(strstr(shown.at, "# --log-format\n"));
    assert_non_null(strstr(shown.at, "# default\n"));
    config_free(c);

    /* --config reads that file alone. */
    assert_int_equal(load(write_file("alone.toml", ""), environment, NULL, 0, &c), 0);
    assert_string_equal(c->server.listen.items[0], "127.0.0.1:9447");
    assert_true(c->sampling.interval_seconds == 0.25);
    config_free(c);

    /* Its own variable is the more particular one. */
    const char *both[] = {"WHIRR_SAMPLING_INTERVAL_SECONDS=7", "GPU_POLL_INTERVAL_SECONDS=8", NULL};
    assert_int_equal(load(write_file("alone.toml", ""), both, NULL, 0, &c), 0);
    assert_true(c->sampling.interval_seconds == 7);
    config_free(c);
    remove(write_file("etc/whirr/whirr.toml", ""));
}

static void flags_of_a_list_add_up_and_environment_lists_have_separators(void **state)
{
    (void)state;
    const char *environment[] = {"WHIRR_SAMPLING_SOURCES=nvml, drm", "WHIRR_SERVER_CORS_ORIGINS=a,b;c", NULL};
    const struct config_flag flags[] = {{"sampling.sources", "sim:gpus=8,scenario=idle", "--source"},
                                        {"sampling.sources", "nvml", "--source"}};
    struct config *c = NULL;
    assert_int_equal(load(write_file("alone.toml", ""), environment, NULL, 0, &c), 0);
    assert_int_equal(c->sampling.sources.count, 2);
    assert_string_equal(c->sampling.sources.items[1], "drm");
    assert_int_equal(c->server.cors_origins.count, 2);
    assert_string_equal(c->server.cors_origins.items[0], "a,b");
    config_free(c);
    assert_int_equal(load(write_file("alone.toml", ""), environment, flags, 2, &c), 0);
    assert_int_equal(c->sampling.sources.count, 2);
    assert_string_equal(c->sampling.sources.items[0], "sim:gpus=8,scenario=idle");
    assert_string_equal(c->sampling.sources.items[1], "nvml");
    config_free(c);
}

static void mistakes_name_the_place_what_is_allowed_and_the_nearest_key(void **state)
{
    (void)state;
    assert_refused("[server]\nlisen = \"x\"\n", "2:1: unknown setting 'server.lisen', did you mean 'server.listen'?");
    assert_refused("[sevrer]\nlisten = \"127.0.0.1:1\"\n", "1:2: unknown table 'sevrer', did you mean 'server'?");
    assert_refused("[server]\nmax_age_ms = \"fast\"\n",
                   "2:14: bad value of server.max_age_ms: expected a whole number from 0 to 60000");
    assert_refused("[server]\nmax_age_ms = 70000\n",
                   "2:14: bad value of server.max_age_ms: expected a whole number from 0 to 60000");
    assert_refused("[sampling]\ninterval_seconds = 0\n", "2:20: bad value of sampling.interval_seconds: expected a number above 0");
    assert_refused("[sampling]\ninterval_seconds = nan\n",
                   "2:20: bad value of sampling.interval_seconds: expected a number above 0");
    assert_refused("[log]\nlevel = \"waning\"\n",
                   "2:9: bad value of log.level: expected \"debug\", \"info\", \"warning\" or \"error\", did you mean 'warning'?");
    assert_refused("[worker]\nclear_for = 30\n",
                   "2:13: bad value of worker.clear_for: expected a duration like \"250ms\", \"30s\", \"5m\", "
                   "\"1h30m\" or \"7d\" from 0s to 1d");
    assert_refused("[worker]\nenable_nvml = \"true\"\n", "2:15: bad value of worker.enable_nvml: expected true or false");
    assert_refused("[server]\nlisten = \"9447\"\n",
                   "2:10: bad value of server.listen: expected \"ADDRESS:PORT\" like \"127.0.0.1:9447\" "
                   "or \"[::1]:9447\", or \"none\", or a list of these");
    assert_refused("[store]\nurl = \"mysql://x\"\n",
                   "2:7: bad value of store.url: expected \"auto\", \"sqlite:PATH\", \"postgresql://...\" or \"none\"");
    assert_refused("server = 1\n", "1:1: 'server' must be a table: [server] with its settings below");
    assert_refused("x = 1\n", "1:1: unknown setting 'x'");
    assert_refused("[guard.worker.a]\nmetods = []\n",
                   "2:1: unknown setting 'guard.worker.a.metods', did you mean 'guard.worker.a.methods'?");
    assert_refused("[guard.wroker.a]\n", "1:8: unknown table 'guard.wroker', did you mean 'guard.worker'?");
    assert_refused("[guard.worker]\nx = 1\n", "2:1: 'guard.worker.x' must be a table: [guard.worker.NAME] with its settings below");
    assert_refused("[alert]\nname = \"x\"\n", "1:2: 'alert' must be written as [[alert]], once for each");
    assert_refused("[[alert]]\nwhen = \"x\"\n", "1:3: alert.name is missing: Name, unique among all rules");
    assert_refused("[server]\ntls_key = \"k\"\n",
                   "2:11: server.tls_certificate and server.tls_key belong together, only one is set");
    assert_refused("[server\n", "1:8: ']' is missing at the end of the table's name");
}

static void all_mistakes_are_reported_at_once(void **state)
{
    (void)state;
    struct config *c = NULL;
    const char *environment[] = {"WHIRR_LOG_LEVEL=loud", "WHIRR_SERVER_LISTN=x", "WHIRR_NVML_LIBRARY=x", NULL};
    const struct config_flag flags[] = {{"sampling.interval_seconds", "-1", "--interval"}};
    assert_int_equal(load(write_file("wrong.toml", "[server]\na = 1\nlisten = 2\n[b]\n"), environment, flags, 1, &c), -EINVAL);
    assert_int_equal(problems.errors, 5);
    assert_int_equal(problems.count, 6);
    assert_string_equal(problems.list[3].where, "environment WHIRR_LOG_LEVEL");
    assert_true(problems.list[4].warning);
    assert_string_equal(problems.list[4].text, "no setting has this name, did you mean 'WHIRR_SERVER_LISTEN'?");
    assert_string_equal(problems.list[5].where, "--interval");
    assert_string_equal(problems.list[5].text, "bad value '-1' of sampling.interval_seconds: expected a number above 0");
}

static void more_mistakes_than_fit_are_counted(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF(1 << 16);
    for (int i = 0; i < 200; i++)
        buf_printf(&text, "unknown%d = 1\n", i);
    struct config *c = NULL;
    assert_int_equal(load(write_file("wrong.toml", text.at), NULL, NULL, 0, &c), -EINVAL);
    assert_int_equal(problems.errors, 200);
    assert_int_equal(problems.count, CONFIG_PROBLEMS_MAX);
    assert_int_equal(problems.left_out, 200 - CONFIG_PROBLEMS_MAX);
}

static void a_named_file_must_exist(void **state)
{
    (void)state;
    struct config *c = NULL;
    assert_int_equal(load("/nonexistent/whirr.toml", NULL, NULL, 0, &c), -EINVAL);
    assert_string_equal(problems.list[0].where, "/nonexistent/whirr.toml");
    assert_string_equal(problems.list[0].text, "cannot be read: No such file or directory");
}

static void the_worker_table_of_the_contract_works_as_written(void **state)
{
    (void)state;
    struct config *c = loaded("[worker]\n"
                              "enable_nvml = true\n"
                              "require_nvml = false                 # true: refuse to start without NVML\n"
                              "auto_evict_for_user_apps = true\n"
                              "process_check_interval_secs = 5\n"
                              "enable_health_monitoring = true\n"
                              "health_check_interval_secs = 10\n"
                              "temperature_threshold_celsius = 85\n"
                              "enable_capacity_tracking = true\n");
    assert_int_equal(problems.count, 0);
    assert_true(c->worker.process_check_interval_secs == 5 && c->worker.temperature_threshold_celsius == 85);
    config_free(c);
}

static void the_alert_example_works_as_written(void **state)
{
    (void)state;
    struct config *c =
        loaded("[notify.ops]\ntype = \"webhook\"\nurl = \"http://127.0.0.1:9000/hook\"\n\n"
               "[[alert]]\nname = \"busy\"\nwhen = \"utilization_percent > 10\"\nfor = \"0s\"\nseverity = \"warning\"\n"
               "notify = [\"ops\"]\n[[alert]]\nname = 'hot'\nwhen = 'x'\nfor = '1m30s'\nlabels = {team = 'ml', room = 4}\n");
    assert_int_equal(c->notify_count, 1);
    assert_string_equal(c->notify[0].entry.name, "ops");
    assert_int_equal(c->notify[0].type, CONFIG_NOTIFY_WEBHOOK);
    assert_int_equal(c->alert_count, 2);
    assert_string_equal(c->alert[0].when, "utilization_percent > 10");
    assert_int_equal(c->alert[0].severity, SEVERITY_WARNING);
    assert_string_equal(c->alert[0].notify.items[0], "ops");
    assert_int_equal(c->alert[1].hold_ms, 90000);
    assert_int_equal(c->alert[1].labels.count, 2);
    assert_string_equal(c->alert[1].labels.pairs[1].value, "4");
    config_free(c);
    assert_refused("[notify.ops]\ntype='ntfy'\nurl='http://x'\n[[alert]]\nname='a'\nwhen='b'\nnotify=['osp']\n",
                   "7:8: there is no [notify.osp], did you mean 'ops'?");
    assert_refused("[[alert]]\nname='a'\nwhen='b'\n[[alert]]\nname='a'\nwhen='c'\n",
                   "4:3: the name 'a' is already that of the [[alert]] in line 1");
}

static void a_model_server_has_a_place_and_never_a_gate(void **state)
{
    (void)state;
    struct config *c =
        loaded("[serving.chat]\nurl = 'http://127.0.0.1:8000'\nkind = 'vllm'\n[serving.box]\nurl = 'https://10.0.0.2:8000/'\n"
               "process = 'vllm'\nkey = 'sk-1'\n[serving.comfy]\nkind = 'comfyui'\nignore = true\n"
               "[guard.worker.w]\nmethods = ['vllm']\nurl = 'http://127.0.0.1:8000'\ngate = '127.0.0.1:8001'\n");
    assert_int_equal(problems.count, 0);
    assert_int_equal(c->serving_count, 3);
    config_free(c);
    assert_refused("[serving.x]\nkey = 'a'\n", "1:10: serving.x needs a url, a process or a kind");
    assert_refused("[serving.x]\nurl = 'ftp://x'\n",
                   "2:7: bad value of serving.x.url: expected a URL that begins with http:// or https://");
    assert_refused("[serving.x]\nurl = 'http://127.0.0.1:8000/metrics'\n",
                   "2:7: serving.x.url: expected http:// or https:// with a host and a port, and nothing else");
    assert_refused("[serving.x]\nurl = 'http://me:pw@127.0.0.1:8000'\n",
                   "2:7: serving.x.url: expected http:// or https:// with a host and a port, and nothing else");
    assert_refused(
        "[serving.x]\nurl = 'http://10.0.0.2:8000'\n",
        "2:7: serving.x.url is not on loopback: set process to the process on the GPU that it belongs to, or its container");
    assert_refused("[serving.x]\nkind = 'nim'\nkey = 'a'\nkey_file = '/k'\n",
                   "4:12: serving.x: key and key_file contradict each other");
    assert_refused("[serving.x]\nkind = 'nim'\nkey = \"a\\r\\nX: y\"\n",
                   "3:7: serving.x.key: expected letters, digits and signs, without blanks");
    static const char *const gates[][2] = {
        {"127.0.0.1:8000", "http://127.0.0.1:8000"}, {"127.0.0.1:8000", "http://localhost:8000"}, {"*:8000", "http://[::1]:8000"},
        {"0.0.0.0:8000", "http://10.0.0.2:8000"},    {"10.0.0.2:8000", "http://gpu:8000"},        {"[::1]:80", "http://localhost"},
    };
    for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "[serving.x]\nurl = '%s'\nprocess = 'p'\n[guard.worker.w]\nmethods = ['vllm']\nurl = 'http://127.0.0.1:9'\ngate = "
                 "'%s'\n",
                 gates[i][1], gates[i][0]);
        assert_refused(text,
                       "2:7: serving.x.url is the gate of guard.worker.w, which each request would wake: use the worker's own url");
    }
    /* One that is left alone is not asked: it may be a gate, and anywhere. */
    config_free(
        loaded("[serving.x]\nurl = 'http://127.0.0.1:8001'\nignore = true\n[serving.y]\nurl = 'http://10.0.0.2:8000'\n"
               "ignore = true\n[guard.worker.w]\nmethods = ['vllm']\nurl = 'http://127.0.0.1:8000'\ngate = '127.0.0.1:8001'\n"));
}

static void a_worker_under_guard_takes_what_it_does_not_set_from_worker(void **state)
{
    (void)state;
    struct config *c = loaded("[worker]\nclear_for = '10s'\nclaim = 'any'\n"
                              "[guard.worker.ollama]\nmethods = ['ollama', 'checkpoint']\nclaim = 'needs'\ngpus = [0, 'GPU-1']\n"
                              "match = { unit = 'ollama.service' }\n[guard.worker.'my llama']\nways = 'llamacpp'\n");
    assert_int_equal(c->guard_worker_count, 2);
    const struct config_guard_worker *w = &c->guard_worker[0];
    assert_int_equal(w->methods.count, 2);
    assert_int_equal(w->clear_ms, 10000);
    assert_int_equal(w->claim, CONFIG_CLAIM_NEEDS);
    assert_string_equal(w->gpus.items[0], "0");
    assert_string_equal(w->match.pairs[0].key, "unit");
    assert_int_equal(c->guard_worker[1].claim, CONFIG_CLAIM_ANY);
    assert_string_equal(c->guard_worker[1].entry.name, "my llama");
    assert_int_equal(c->guard_worker[1].methods.count, 1);
    AUTO_BUF struct buf shown = BUF(1 << 20);
    config_write_show(c, false, &shown);
    assert_non_null(strstr(shown.at, "[guard.worker.\"my llama\"]\n"));
    assert_non_null(strstr(shown.at, "# as worker.clear_for\n"));
    config_free(c);
}

static void no_time_needs_no_unit(void **state)
{
    (void)state;
    struct config *c = loaded("[worker]\nclear_for = 0\n");
    assert_int_equal(c->worker.clear_ms, 0);
    config_free(c);
}

static void old_names_are_understood(void **state)
{
    (void)state;
    struct config *c = loaded("[guard.worker.a]\nways = ['mine', 'checkpoint']\n[guard.way.mine]\nunload = 'POST /unload'\n"
                              "[guard.method.other]\nunload = 'POST /unload'\n");
    assert_int_equal(c->guard_worker[0].methods.count, 2);
    assert_int_equal(c->guard_method_count, 2);
    assert_string_equal(c->guard_method[0].entry.name, "mine");
    config_free(c);
    assert_refused("[guard.way.mine]\nunload = 'POST /a'\nunlod = ''\n",
                   "3:1: unknown setting 'guard.method.mine.unlod', did you mean 'guard.method.mine.unload'?");
    assert_refused("ways = 1\n", "1:1: unknown setting 'ways'");
}

static void profiles_set_what_they_imply(void **state)
{
    (void)state;
    struct config *c = loaded("[worker]\nprofile = 'server'\n[guard.worker.a]\n[guard.worker.b]\nprofile = 'desktop'\n");
    assert_false(c->worker.auto_evict);
    assert_true(c->worker.health_monitoring);
    assert_false(c->guard_worker[0].auto_evict);
    assert_true(c->guard_worker[1].auto_evict);
    config_free(c);

    assert_refused("[worker]\nprofile = 'desktop'\nauto_evict_for_user_apps = false\n",
                   "3:28: worker.auto_evict_for_user_apps = false contradicts profile \"desktop\", which requires it");
    c = loaded("[worker]\nprofile = 'server'\nauto_evict_for_user_apps = true\n");
    assert_true(c->worker.auto_evict); /* a person's word counts, but is remarked upon */
    assert_int_equal(problems.count, 1);
    assert_true(problems.list[0].warning);
    config_free(c);
}

static void a_reload_tells_what_it_applies_and_what_needs_a_restart(void **state)
{
    (void)state;
    struct config *before = loaded("[server]\nmax_age_ms = 1\n[[alert]]\nname = 'a'\nwhen = 'x'\n[guard.worker.old]\n");
    struct config *after = loaded("[server]\nmax_age_ms = 2\nlisten = '[::1]:1'\n[[alert]]\nname = 'a'\nwhen = 'y'\n"
                                  "[guard.worker.new]\ngate = '127.0.0.1:2'\n");
    struct config_changes changes;
    config_compare(before, after, &changes);
    assert_int_equal(changes.count, 5);
    assert_string_equal(changes.list[0].key, "server.listen");
    assert_true(changes.list[0].needs_restart);
    assert_string_equal(changes.list[1].key, "server.max_age_ms");
    assert_false(changes.list[1].needs_restart);
    assert_string_equal(changes.list[2].key, "guard.worker.new");
    assert_true(changes.list[2].needs_restart); /* its gate must listen */
    assert_string_equal(changes.list[3].key, "guard.worker.old");
    assert_string_equal(changes.list[4].key, "alert.a.when");
    assert_int_equal(changes.applied, 3);
    assert_int_equal(changes.needing_restart, 2);
    config_compare(after, after, &changes);
    assert_int_equal(changes.count, 0);

    /* A bad file leaves what was there. */
    struct config *kept = before;
    assert_int_equal(load(write_file("wrong.toml", "[server]\nmax_age_ms = 'x'\n"), NULL, NULL, 0, &kept), -EINVAL);
    assert_ptr_equal(kept, before);
    config_free(before);
    config_free(after);
}

static void too_many_tables_are_refused(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF(1 << 16);
    for (int i = 0; i < CONFIG_ENTRIES_MAX + 1; i++)
        buf_printf(&text, "[guard.worker.w%d]\n", i);
    assert_refused(text.at, "129:15: more than 128 tables of [guard.worker]");
}

static void a_rule_of_the_users_file_replaces_the_systems_of_the_same_name(void **state)
{
    (void)state;
    char home[300];
    snprintf(home, sizeof home, "HOME=%s", config_folder);
    char path[300];
    snprintf(path, sizeof path, "%s/.config", config_folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/.config/whirr", config_folder);
    mkdir(path, 0755);
    write_file("etc/whirr/whirr.toml", "[[alert]]\nname='a'\nwhen='1'\n[[alert]]\nname='b'\nwhen='2'\n");
    write_file(".config/whirr/whirr.toml", "[[alert]]\nname='c'\nwhen='3'\n[[alert]]\nname='a'\nwhen='4'\n");
    const char *environment[] = {home, NULL};
    struct config *c = NULL;
    assert_int_equal(load(NULL, environment, NULL, 0, &c), 0);
    assert_int_equal(c->alert_count, 3);
    assert_string_equal(c->alert[0].name, "b");
    assert_string_equal(c->alert[1].name, "c");
    assert_string_equal(c->alert[2].when, "4");
    config_free(c);
    remove(write_file("etc/whirr/whirr.toml", ""));
}

static void a_named_file_that_cannot_be_read_is_always_an_error(void **state)
{
    (void)state;
    struct config *c = NULL;
    const char *environment[] = {"WHIRR_CONFIG=/nope/whirr.toml", NULL};
    assert_int_equal(load_forgiving("/nope/whirr.toml", NULL, &c), -EINVAL);
    assert_int_equal(load_forgiving(NULL, environment, &c), -EINVAL);
    assert_non_null(strstr(problems.list[0].where, "/nope/whirr.toml"));
    assert_int_equal(load_forgiving(write_file("broken.toml", "[server\n"), NULL, &c), -EINVAL);
    assert_null(c);
}

static void a_default_file_costs_only_what_is_wrong_in_it(void **state)
{
    (void)state;
    char path[256], xdg[300];
    snprintf(path, sizeof path, "%s/wrong", config_folder);
    mkdir(path, 0755);
    snprintf(xdg, sizeof xdg, "XDG_CONFIG_HOME=%s", path);
    snprintf(path, sizeof path, "%s/wrong/whirr", config_folder);
    mkdir(path, 0755);
    write_file("wrong/whirr/whirr.toml", "[server]\nmax_age_ms = 7\n[sampling]\ninterval_seconds = -1\n");
    const char *environment[] = {xdg, "WHIRR_SERVER_SOCKET=/somewhere/whirr.sock", NULL};
    struct config *c = NULL;
    assert_int_equal(load(NULL, environment, NULL, 0, &c), -EINVAL);
    assert_int_equal(load_forgiving(NULL, environment, &c), 0);
    assert_int_equal(problems.errors, 1);
    assert_string_equal(c->server.socket, "/somewhere/whirr.sock");
    assert_int_equal(c->server.max_age_ms, 7);
    assert_true(c->sampling.interval_seconds == 5.0);
    config_free(c);
    c = NULL;
    write_file("wrong/whirr/whirr.toml", "[server\n");
    assert_int_equal(load_forgiving(NULL, environment, &c), 0);
    assert_string_equal(c->server.socket, "/somewhere/whirr.sock");
    config_free(c);
    c = NULL;
    const char *wrong[] = {"WHIRR_LOG_LEVEL=loud", NULL};
    assert_int_equal(load_forgiving(NULL, wrong, &c), -EINVAL); /* the environment was meant as it is */
}

static void a_release_above_its_limit_is_refused(void **state)
{
    (void)state;
    assert_refused("[worker]\ntemperature_threshold_celsius = 80\ntemperature_release_celsius = 90\n",
                   "3:31: worker.temperature_release_celsius (90) is above temperature_threshold_celsius (80)");
    assert_refused("[worker]\ntemperature_release_celsius = 80\n[guard.worker.x]\ntemperature_threshold_celsius = 75\n",
                   "4:33: guard.worker.x.temperature_release_celsius (80) is above temperature_threshold_celsius (75)");
    config_free(loaded("[worker]\ntemperature_threshold_celsius = 80\ntemperature_release_celsius = 80\n"));
}

int main(void)
{
    make_config_folder();
    const struct CMUnitTest tests[] = {
        TEST(without_a_file_every_setting_has_its_default),
        TEST(later_layers_win_and_each_value_knows_its_origin),
        TEST(flags_of_a_list_add_up_and_environment_lists_have_separators),
        TEST(mistakes_name_the_place_what_is_allowed_and_the_nearest_key),
        TEST(all_mistakes_are_reported_at_once),
        TEST(more_mistakes_than_fit_are_counted),
        TEST(a_named_file_must_exist),
        TEST(the_worker_table_of_the_contract_works_as_written),
        TEST(the_alert_example_works_as_written),
        TEST(a_model_server_has_a_place_and_never_a_gate),
        TEST(a_worker_under_guard_takes_what_it_does_not_set_from_worker),
        TEST(no_time_needs_no_unit),
        TEST(old_names_are_understood),
        TEST(profiles_set_what_they_imply),
        TEST(a_reload_tells_what_it_applies_and_what_needs_a_restart),
        TEST(too_many_tables_are_refused),
        TEST(a_named_file_that_cannot_be_read_is_always_an_error),
        TEST(a_default_file_costs_only_what_is_wrong_in_it),
        TEST(a_release_above_its_limit_is_refused),
        TEST(a_rule_of_the_users_file_replaces_the_systems_of_the_same_name),
    };
    return RUN_TESTS(tests);
}
