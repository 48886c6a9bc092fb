/* SPDX-License-Identifier: Apache-2.0
 * Alerts over time: when they begin, when they end, what keeps them quiet.
 */
#include "course.h"
#include "model/finding_code.h"

#define BUSY "[alerts]\nenabled = false\n[[alert]]\nname = 'busy'\nwhen = 'utilization_percent > 50'\n"

#define OPS_AND_CHAT "[notify.ops]\ntype='webhook'\nurl='http://x'\n[notify.chat]\ntype='webhook'\nurl='http://y'\n"

static struct course c;

static int tear_down(void **state)
{
    (void)state;
    course_end(&c);
    return 0;
}

static void set_util(double percent)
{
    gpu_set(&c.machine->gpus[0], "utilization_percent", percent);
}

static void without_a_wait_it_fires_and_ends_at_once(void **state)
{
    (void)state;
    course_begin(&c, BUSY "labels = {team = 'ml'}\n[notify.ops]\ntype='webhook'\nurl='http://x'\n", 1);
    set_util(50);
    course_step(&c, 0);
    set_util(80);
    course_step(&c, 5);
    assert_int_equal(c.last.status, NOTICE_FIRING);
    assert_string_equal(c.last.alert, "busy");
    assert_string_equal(c.last.severity, "warning");
    assert_string_equal(c.last.gpu_name, "Test Card");
    assert_string_equal(c.last.labels[0].value, "ml");
    assert_true(c.last.has_value && c.last.value == 80);
    assert_non_null(strstr(c.last.summary, "utilization_percent is 80%"));
    assert_int_equal(c.last.started_at.ms, c.start_ms + 5000);
    assert_int_equal(c.last.ended_at.ms, 0);
    course_step(&c, 10);
    set_util(20);
    course_step(&c, 15);
    assert_int_equal(c.last.status, NOTICE_RESOLVED);
    assert_int_equal(c.last.ended_at.ms, c.start_ms + 15000);
    assert_string_equal(course_told(&c), "5 fired busy 0; 15 resolved busy 0; ");
}

static void it_must_hold_for_as_long_as_asked(void **state)
{
    (void)state;
    course_begin(&c, BUSY "for = '30s'\n", 1);
    set_util(80);
    course_run(&c, 0, 20);
    set_util(10);
    course_step(&c, 25); /* too early: no notification */
    set_util(80);
    course_run(&c, 30, 70);
    assert_string_equal(course_told(&c), "0 pending busy 0; 25 calmed busy 0; 30 pending busy 0; 60 fired busy 0; ");
}

/* What others were told of is kept before a crash could forget it; what only waits can be counted again. */
static void what_fires_or_ends_is_kept_at_once_and_what_waits_soon(void **state)
{
    (void)state;
    static const struct {
        int at, util;
        bool changed, stirred;
    } steps[] = {{0, 80, false, true},  {25, 10, false, true},  {30, 80, false, true},
                 {60, 80, true, false}, {65, 80, false, false}, {70, 10, true, false}};
    course_begin(&c, BUSY "for = '30s'\n", 1);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        c.set.changed = c.set.stirred = false;
        set_util(steps[i].util);
        course_step(&c, steps[i].at);
        assert_int_equal(c.set.changed, steps[i].changed);
        assert_int_equal(c.set.stirred, steps[i].stirred);
    }
}

static void a_clear_condition_makes_a_gap_between_on_and_off(void **state)
{
    (void)state;
    course_begin(&c, BUSY "clear = 'utilization_percent < 40'\nclear_for = '10s'\n", 1);
    set_util(80);
    course_step(&c, 0);
    set_util(45);
    course_run(&c, 5, 100); /* neither on nor off: it stays */
    set_util(39);
    course_run(&c, 105, 110);
    set_util(41);
    course_step(&c, 113); /* over for too short a time */
    set_util(39);
    course_run(&c, 115, 130);
    assert_string_equal(course_told(&c), "0 fired busy 0; 125 resolved busy 0; ");
}

static void conditions_that_overlap_do_not_oscillate(void **state)
{
    (void)state;
    course_begin(&c, BUSY "clear = 'utilization_percent < 90'\n", 1);
    set_util(80);
    course_run(&c, 0, 60);
    assert_string_equal(course_told(&c), "0 fired busy 0; ");
}

static void unknown_values_keep_the_state_for_a_while(void **state)
{
    (void)state;
    course_begin(&c, BUSY, 1);
    set_util(80);
    course_step(&c, 0);
    gpu_unset(&c.machine->gpus[0], "utilization_percent");
    course_run(&c, 5, 300);
    assert_string_equal(course_told(&c), "0 fired busy 0; ");
    set_util(80);
    course_step(&c, 305);
    gpu_unset(&c.machine->gpus[0], "utilization_percent");
    course_run(&c, 310, 1200);
    assert_string_equal(course_told(&c), "0 fired busy 0; 905 resolved busy 0; ");
    assert_true(c.set.list[0]->state.lapsed);
}

static void unknown_time_does_not_count_as_held(void **state)
{
    (void)state;
    course_begin(&c, BUSY "for = '30s'\n", 1);
    set_util(80);
    course_run(&c, 0, 10);
    gpu_unset(&c.machine->gpus[0], "utilization_percent");
    course_run(&c, 15, 60);
    set_util(80);
    course_run(&c, 65, 100); /* 10 s before it, 20 s from the last unknown moment on */
    assert_string_equal(course_told(&c), "0 pending busy 0; 80 fired busy 0; ");
}

static void nothing_known_at_all_is_no_alert(void **state)
{
    (void)state;
    course_begin(&c, BUSY, 2);
    course_run(&c, 0, 100);
    assert_string_equal(course_told(&c), "");
    assert_int_equal(c.set.count, 0);
}

static void a_flapping_alert_is_damped(void **state)
{
    (void)state;
    course_begin(&c, BUSY, 1);
    for (int64_t t = 0; t < 600; t += 10) {
        set_util(80);
        course_step(&c, t);
        set_util(20);
        course_step(&c, t + 5);
    }
    /* Three beginnings, then it is taken for one until it is quiet for five minutes. */
    assert_string_equal(course_told(&c),
                        "0 fired busy 0; 5 resolved busy 0; 10 fired busy 0; 15 resolved busy 0; 20 fired busy 0; ");
    assert_true(c.set.list[0]->state.flapping);
    course_run(&c, 600, 890);
    assert_null(strstr(course_told(&c), "20 fired busy 0; 8"));
    course_run(&c, 895, 900);
    assert_non_null(strstr(course_told(&c), "20 fired busy 0; 895 resolved busy 0; "));
}

static void each_gpu_has_an_alert_of_its_own(void **state)
{
    (void)state;
    course_begin(&c, BUSY, 3);
    for (size_t i = 0; i < 3; i++)
        gpu_set(&c.machine->gpus[i], "utilization_percent", i == 1 ? 10 : 90);
    course_step(&c, 0);
    gpu_set(&c.machine->gpus[0], "utilization_percent", 10);
    course_step(&c, 5);
    assert_string_equal(course_told(&c), "0 fired busy 0; 0 fired busy 2; 5 resolved busy 0; ");
}

static void an_alert_ends_with_its_process(void **state)
{
    (void)state;
    course_begin(&c, "[alerts]\nenabled = false\n[[alert]]\nname = 'big'\nwhen = 'process.memory_mb > 1GiB'\n", 1);
    struct gpu *g = &c.machine->gpus[0];
    for (int32_t pid = 10; pid < 13; pid++)
        gpu_add_process(g, pid)->mem_bytes = reading_ok(pid == 11 ? 1 : 2LL << 30);
    course_step(&c, 0);
    g->process_count = 1; /* 11 and 12 are gone */
    g->processes_state = READING_FAILED;
    course_step(&c, 5); /* the processes are not known */
    g->processes_state = READING_OK;
    course_step(&c, 10);
    g->processes[0].start_key = 99; /* another one with the same number */
    course_step(&c, 15);
    assert_string_equal(course_told(&c),
                        "0 fired big 10; 0 fired big 12; 10 resolved big 12; 15 fired big 10; 15 resolved big 10; ");
}

static void a_gap_in_the_samples_does_not_count_as_held(void **state)
{
    (void)state;
    course_begin(&c, BUSY "for = '1m'\n", 1);
    set_util(80);
    course_run(&c, 0, 20);
    course_step(&c, 3600);
    assert_string_equal(course_told(&c), "0 pending busy 0; ");
    course_run(&c, 3605, 3660);
    assert_string_equal(course_told(&c), "0 pending busy 0; 3660 fired busy 0; ");
}

static void a_clock_that_is_set_changes_nothing(void **state)
{
    (void)state;
    course_begin(&c, BUSY "for = '30s'\n", 1);
    set_util(80);
    int64_t mono = 1000000000000;
    static const int64_t wall[] = {0, 5, 10, 7215, 7220, 7225, 7230, 7235}; /* two hours forward, while 5 s pass each time */
    for (size_t i = 0; i < ARRAY_LEN(wall); i++) {
        c.machine->taken_at.ms = c.start_ms + wall[i] * 1000;
        c.machine->taken.ns = mono += 5 * NS_PER_S;
        alert_set_step(&c.set, c.machine, NULL, course_news, &c);
    }
    assert_string_equal(course_told(&c), "0 pending busy 0; 7230 fired busy 0; ");
}

static void silenced_alerts_are_not_told_until_the_silence_is_over(void **state)
{
    (void)state;
    struct error err;
    struct silence s = {.until = {1700000000000 + 60000}};
    course_begin(&c, BUSY "labels = {team = 'ml'}\n", 2);
    assert_int_equal(silence_add_matcher(&s, STR("alert=bu*"), &err), 0);
    assert_int_equal(silence_add_matcher(&s, STR("gpu=1"), &err), 0);
    assert_int_equal(silence_add_matcher(&s, STR("team=ML"), &err), 0);
    assert_int_equal(silences_add(&c.set.silences, &s, (struct wall){c.start_ms}, &err), 0);
    gpu_set(&c.machine->gpus[0], "utilization_percent", 90);
    gpu_set(&c.machine->gpus[1], "utilization_percent", 90);
    course_run(&c, 5, 20);
    course_restart(&c);
    course_run(&c, 25, 70);
    assert_string_equal(course_told(&c), "5 fired busy 0; 5 fired busy 1 silenced; 60 heard busy 1; ");
    assert_int_equal(c.set.silences.count, 0);
}

static void silences_are_checked(void **state)
{
    (void)state;
    struct error err;
    struct silence s = {.until = {1}};
    course_begin(&c, BUSY, 1);
    assert_int_not_equal(silence_add_matcher(&s, STR("gpu_hot"), &err), 0);
    assert_int_not_equal(silence_add_matcher(&s, STR("=x"), &err), 0);
    assert_int_not_equal(silences_add(&c.set.silences, &s, (struct wall){0}, &err), 0); /* about nothing */
    assert_int_equal(silence_add_matcher(&s, STR("alert=*"), &err), 0);
    assert_int_not_equal(silences_add(&c.set.silences, &s, (struct wall){5}, &err), 0); /* already over */
    s.until.ms = 1000;
    for (size_t i = 0; i < SILENCES_MAX; i++)
        assert_int_equal(silences_add(&c.set.silences, &s, (struct wall){5}, &err), 0);
    assert_int_not_equal(silences_add(&c.set.silences, &s, (struct wall){5}, &err), 0); /* full */
    assert_true(silences_remove(&c.set.silences, "s3"));
    assert_false(silences_remove(&c.set.silences, "s3"));
}

static void a_finding_that_holds_for_its_time_is_an_alert(void **state)
{
    (void)state;
    course_begin(&c, "[alerts]\nnotify = ['ops']\n" OPS_AND_CHAT, 1);
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_PCIE_LINK, SEVERITY_WARNING);
    course_run(&c, 0, 60);
    assert_string_equal(c.last.severity, "warning");
    assert_string_equal(c.last.summary, "GPU 0: pcie_link");
    assert_string_equal(c.last.notifiers[0], "ops");
    machine_judge(c.machine);
    course_run(&c, 65, 185); /* over for twice its time */
    assert_string_equal(course_told(&c), "0 pending pcie_link 0; 60 fired pcie_link 0; 185 resolved pcie_link 0; ");
}

static void what_was_not_looked_at_is_not_over(void **state)
{
    (void)state;
    course_begin(&c, "", 1);
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_FAN_STOPPED, SEVERITY_CRITICAL);
    course_run(&c, 0, 15);
    machine_judge(c.machine)->gpus[0].looked &= ~(1u << AREA_FAN);
    course_run(&c, 20, 300);
    assert_string_equal(course_told(&c), "0 pending fan_stopped 0; 15 fired fan_stopped 0; ");
    machine_judge(c.machine);
    course_run(&c, 305, 335);
    assert_non_null(strstr(course_told(&c), "335 resolved fan_stopped 0; "));
}

static void a_guess_and_usual_work_are_no_alerts(void **state)
{
    (void)state;
    course_begin(&c, "", 1);
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_AIRFLOW, SEVERITY_INFO);
    machine_find(c.machine, 0, FINDING_COMPUTE_LOAD, SEVERITY_INFO);
    course_run(&c, 0, 7200);
    assert_string_equal(course_told(&c), "");
}

static void what_is_not_severe_is_shown_and_told_to_those_who_ask(void **state)
{
    (void)state;
    course_begin(&c, "[alerts]\nnotify = ['ops']\n[finding.hidden_load]\nnotify = ['chat']\n" OPS_AND_CHAT, 1);
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_VRAM_FULL, SEVERITY_NOTICE);
    course_run(&c, 0, 60);
    assert_string_equal(c.last.alert, "vram_full");
    assert_int_equal(c.last.notifier_count, 0);
    machine_find(c.machine, 0, FINDING_HIDDEN_LOAD, SEVERITY_NOTICE);
    course_run(&c, 65, 125);
    assert_string_equal(c.last.alert, "hidden_load");
    assert_string_equal(c.last.notifiers[0], "chat");
}

static void what_gets_worse_is_told_again(void **state)
{
    (void)state;
    course_begin(&c, "[alerts]\nnotify = ['ops']\n" OPS_AND_CHAT, 1);
    machine_judge(c.machine);
    struct finding *f = machine_find(c.machine, 0, FINDING_HEAT_LIMIT, SEVERITY_WARNING);
    course_run(&c, 0, 40);
    f->severity = SEVERITY_CRITICAL;
    course_run(&c, 45, 50);
    assert_string_equal(c.last.severity, "critical");
    assert_int_equal(c.last.notifier_count, 1);
    f->severity = SEVERITY_WARNING; /* the worst of it stays */
    course_run(&c, 55, 60);
    assert_int_equal(c.set.list[0]->severity, SEVERITY_CRITICAL);
    assert_string_equal(course_told(&c), "0 pending heat_limit 0; 30 fired heat_limit 0; 45 heard heat_limit 0; ");
}

static void findings_can_be_muted_and_given_more_time(void **state)
{
    (void)state;
    course_begin(&c, "[finding.hot]\nhold = '2m'\n[finding.xid]\nmute = true\n[[alert]]\nname = 'ecc_errors'\nenabled = false\n",
                 1);
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_HOT, SEVERITY_WARNING);
    machine_find(c.machine, 0, FINDING_XID, SEVERITY_WARNING)->muted = true;
    machine_find(c.machine, 0, FINDING_ECC, SEVERITY_CRITICAL);
    course_run(&c, 0, 120);
    assert_string_equal(course_told(&c), "0 pending hot 0; 120 fired hot 0; ");
}

static void a_silence_for_an_older_name_still_works(void **state)
{
    (void)state;
    struct error err;
    struct silence s = {.until = {1700000000000 + 600000}};
    course_begin(&c, "", 1);
    assert_int_equal(silence_add_matcher(&s, STR("alert=gpu_thrott*"), &err), 0);
    assert_int_equal(silences_add(&c.set.silences, &s, (struct wall){c.start_ms}, &err), 0);
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_SLOWDOWN, SEVERITY_WARNING);
    machine_find(c.machine, 0, FINDING_PCIE_LINK, SEVERITY_WARNING);
    course_run(&c, 0, 60);
    assert_non_null(strstr(course_told(&c), "60 fired slowdown 0 silenced; 60 fired pcie_link 0; "));
}

static void a_lost_card_is_an_alert_until_it_is_back(void **state)
{
    (void)state;
    course_begin(&c, "", 1);
    gpu_mark_state(&c.machine->gpus[0], GPU_LOST, "GPU is lost");
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_LOST, SEVERITY_CRITICAL);
    course_step(&c, 0);
    assert_string_equal(c.last.severity, "critical");
    machine_judge(c.machine);
    course_run(&c, 5, 60); /* it still does not answer: nothing is known of it */
    c.machine->gpus[0].state = GPU_OK;
    course_run(&c, 65, 75);
    assert_string_equal(course_told(&c), "0 fired lost 0; 75 resolved lost 0; ");
}

static void the_host_and_its_history_are_watched(void **state)
{
    (void)state;
    course_begin(&c, "", 0);
    machine_judge(c.machine);
    machine_find(c.machine, -1, FINDING_SOURCE_FAILING, SEVERITY_WARNING);
    c.store.failing = reading_ok(1);
    course_run(&c, 0, 60);
    assert_string_equal(course_told(&c), "0 pending source_failing -1; 0 pending store_failing -1; 30 fired source_failing -1; "
                                         "60 fired store_failing -1; ");
    assert_int_equal(c.last.gpu_index, -1);
}

static void what_comes_and_goes_holds_by_its_share_of_the_time(void **state)
{
    (void)state;
    course_begin(&c, "", 1);
    machine_judge(c.machine);
    struct finding *f = machine_find(c.machine, 0, FINDING_SLOWDOWN, SEVERITY_WARNING); /* holds for 60 s */
    f->tense = TENSE_COMES_AND_GOES;
    f->share_ten_permille = reading_ok(333);
    course_run(&c, 0, 300);
    assert_string_equal(course_told(&c), "0 pending slowdown 0; 185 fired slowdown 0; ");
}

static void what_is_over_ends_its_alert(void **state)
{
    (void)state;
    course_begin(&c, "", 1);
    machine_judge(c.machine);
    struct finding *f = machine_find(c.machine, 0, FINDING_LOST, SEVERITY_CRITICAL);
    course_run(&c, 0, 20);
    f->tense = TENSE_WAS;
    f->severity = SEVERITY_WARNING;
    course_run(&c, 25, 400);
    assert_non_null(strstr(course_told(&c), "0 fired lost 0; "));
    assert_non_null(strstr(course_told(&c), "resolved lost 0; "));
}

static void a_process_that_idles_for_an_hour_is_told(void **state)
{
    (void)state;
    course_begin(&c, "", 1);
    struct gpu *g = &c.machine->gpus[0];
    for (int32_t pid = 4242; pid <= 4243; pid++)
        str_copy(gpu_add_process(g, pid)->name, PROCESS_NAME_SIZE, STR("jupyter"));
    machine_judge(c.machine);
    machine_find(c.machine, 0, FINDING_VRAM_HELD, SEVERITY_INFO)->pid = 4242;
    course_run(&c, 0, 1800);
    c.machine->verdict->findings[0].pid = 4243; /* another process: its own hour begins */
    course_run(&c, 1805, 5405);
    assert_string_equal(course_told(&c), "0 pending vram_held 4242; 1805 pending vram_held 4243; 1805 calmed vram_held 4242; "
                                         "5405 fired vram_held 4243; ");
    g->process_count = 0;
    course_step(&c, 5410); /* it ended */
    assert_non_null(strstr(course_told(&c), "5410 resolved vram_held 4243; "));
}

static void states_survive_a_restart(void **state)
{
    (void)state;
    course_begin(&c, BUSY "for = '30s'\nclear_for = '20s'\n", 1);
    set_util(80);
    course_run(&c, 0, 20);
    course_restart(&c);
    course_run(&c, 25, 30);
    course_restart(&c);
    course_step(&c, 35);
    set_util(10);
    course_run(&c, 40, 50);
    course_restart(&c);
    course_run(&c, 55, 70);
    assert_string_equal(course_told(&c), "0 pending busy 0; 30 fired busy 0; 60 resolved busy 0; ");
    course_restart(&c);
    assert_int_equal(c.set.list[0]->state.phase, ALERT_RESOLVED);
    course_step(&c, 60 + 3600 + 1);
    assert_int_equal(c.set.count, 0); /* forgotten after an hour */
}

static void what_is_no_state_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "{", "[]", "{\"version\": 2}", "{\"version\": \"1\"}"};
    struct error err;
    course_begin(&c, BUSY, 1);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_not_equal(alert_keep_read(&c.set, str_from(wrong[i]), &err), 0);
    const char *odd =
        "{\"version\": 1, \"alerts\": [5, {}, {\"alert\": \"x\", \"severity\": \"info\", \"scope\": \"gpu\", \"state\": "
        "\"firing\"}, {\"alert\": \"x\", \"severity\": \"info\", \"scope\": \"gpu\", \"state\": \"firing\", "
        "\"started_at\": 5, \"gpu_index\": 900}], \"silences\": [{}, {\"id\": \"s1\", \"until\": 5}], \"xids\": [{}]}";
    assert_int_equal(alert_keep_read(&c.set, str_from(odd), &err), 0);
    assert_int_equal(c.set.count + c.set.silences.count, 0);
}

/* A daemon goes on with what the one before it has written, whichever version that was. */
static void states_are_written_as_they_always_were(void **state)
{
    (void)state;
    static const char kept[] =
        "{\"version\":1,\"saved_at\":1699999999999,\"next_silence\":2,\"alerts\":["
        "{\"alert\":\"busy\",\"severity\":\"warning\",\"scope\":\"process\",\"gpu_index\":3,\"gpu_uuid\":\"GPU-3\",\"gpu_name\":"
        "\"Card\","
        "\"simulated\":true,\"host\":\"box\",\"pid\":42,\"start_key\":7,\"process\":\"python3\",\"user\":\"alice\",\"state\":"
        "\"firing\","
        "\"pending_at\":1699999990000,\"calm_at\":1699999999500,\"known_at\":1699999999600,\"started_at\":1699999999000,"
        "\"fired\":[1699999999000,1699999998000],\"flapping\":true,\"lapsed\":false,\"value\":97.5,\"summary\":\"busy\","
        "\"notify\":[\"ops\",\"chat\"],\"silenced_by\":\"s1\",\"told\":true,\"labels\":{\"team\":\"ml\",\"rack\":\"7\"}},"
        "{\"alert\":\"gone\",\"severity\":\"info\",\"scope\":\"host\",\"gpu_index\":-1,\"gpu_uuid\":\"\",\"gpu_name\":\"\","
        "\"simulated\":false,\"host\":\"box\",\"pid\":0,\"start_key\":0,\"process\":\"\",\"user\":\"\",\"state\":\"resolved\","
        "\"ended_at\":1699999999900,\"fired\":[],\"flapping\":false,\"lapsed\":true,\"summary\":\"\",\"notify\":[],"
        "\"silenced_by\":\"\",\"told\":false,\"labels\":{}}],\"silences\":[{\"id\":\"s1\",\"created_at\":1699999990000,"
        "\"until\":1800000000000,\"comment\":\"c\",\"created_by\":\"me\",\"matchers\":[{\"key\":\"alert\",\"value\":\"b*\"}]}]}\n";
    AUTO_BUF struct buf again = BUF(1 << 16);
    struct error err;
    course_begin(&c, BUSY, 1);
    assert_int_equal(alert_keep_read(&c.set, str_from(kept), &err), 0);
    assert_true(c.set.list[0]->sent && c.set.list[0]->has_value);
    assert_string_equal(c.set.list[0]->labels[1].value, "7");
    assert_string_equal(c.set.list[0]->notify, "ops\nchat");
    alert_keep_write(&again, &c.set);
    assert_string_equal(again.at, kept);
}

static void rules_that_go_take_their_alerts_along(void **state)
{
    (void)state;
    struct config *other = NULL;
    course_begin(&c, BUSY "notify = ['ops', 'chat']\n" OPS_AND_CHAT, 1);
    set_util(80);
    course_step(&c, 0);
    course_restart(&c);
    struct alert_rules *rules = rules_of("[alerts]\nenabled = false\n", &other);
    c.machine->taken_at.ms = c.start_ms + 5000;
    alert_set_rules(&c.set, rules, c.machine->taken_at, course_news, &c);
    assert_string_equal(course_told(&c), "0 fired busy 0; 5 resolved busy 0; ");
    assert_int_equal(c.last.notifier_count, 2); /* those who heard of its beginning */
    assert_string_equal(c.last.notifiers[1], "chat");
    alert_set_rules(&c.set, c.rules, c.machine->taken_at, course_news, &c);
    alert_rules_free(rules);
    config_free(other);
}

static void too_many_alerts_are_counted(void **state)
{
    (void)state;
    course_begin(&c, "[alerts]\nenabled = false\n[[alert]]\nname = 'any'\nwhen = 'process.pid > 0'\n", 3);
    for (size_t g = 0; g < 3; g++)
        for (int32_t pid = 1; pid <= GPU_PROCESSES_MAX; pid++)
            assert_non_null(gpu_add_process(&c.machine->gpus[g], pid));
    course_step(&c, 0);
    assert_int_equal(c.set.count, ALERTS_MAX);
    assert_int_equal(c.set.left_out, 3 * GPU_PROCESSES_MAX - ALERTS_MAX);
}

#define IN_TIME(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TIME(without_a_wait_it_fires_and_ends_at_once),
        IN_TIME(it_must_hold_for_as_long_as_asked),
        IN_TIME(what_fires_or_ends_is_kept_at_once_and_what_waits_soon),
        IN_TIME(a_clear_condition_makes_a_gap_between_on_and_off),
        IN_TIME(conditions_that_overlap_do_not_oscillate),
        IN_TIME(unknown_values_keep_the_state_for_a_while),
        IN_TIME(unknown_time_does_not_count_as_held),
        IN_TIME(nothing_known_at_all_is_no_alert),
        IN_TIME(a_flapping_alert_is_damped),
        IN_TIME(each_gpu_has_an_alert_of_its_own),
        IN_TIME(an_alert_ends_with_its_process),
        IN_TIME(a_gap_in_the_samples_does_not_count_as_held),
        IN_TIME(a_clock_that_is_set_changes_nothing),
        IN_TIME(silenced_alerts_are_not_told_until_the_silence_is_over),
        IN_TIME(silences_are_checked),
        IN_TIME(a_finding_that_holds_for_its_time_is_an_alert),
        IN_TIME(what_was_not_looked_at_is_not_over),
        IN_TIME(a_guess_and_usual_work_are_no_alerts),
        IN_TIME(what_is_not_severe_is_shown_and_told_to_those_who_ask),
        IN_TIME(what_gets_worse_is_told_again),
        IN_TIME(findings_can_be_muted_and_given_more_time),
        IN_TIME(a_silence_for_an_older_name_still_works),
        IN_TIME(a_lost_card_is_an_alert_until_it_is_back),
        IN_TIME(the_host_and_its_history_are_watched),
        IN_TIME(what_comes_and_goes_holds_by_its_share_of_the_time),
        IN_TIME(what_is_over_ends_its_alert),
        IN_TIME(a_process_that_idles_for_an_hour_is_told),
        IN_TIME(states_survive_a_restart),
        IN_TIME(what_is_no_state_is_refused),
        IN_TIME(states_are_written_as_they_always_were),
        IN_TIME(rules_that_go_take_their_alerts_along),
        IN_TIME(too_many_alerts_are_counted),
    };
    return RUN_TESTS(tests);
}
