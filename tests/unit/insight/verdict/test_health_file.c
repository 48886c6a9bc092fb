/* SPDX-License-Identifier: Apache-2.0 */
#include "insight/verdict/health_memory.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "health_of.h"
#include "model/finding_code.h"
#include "source/fault/fault.h"
#include "test.h"

#define BOOT "11111111-1111-1111-1111-111111111111"
#define OTHER "22222222-1111-1111-1111-111111111111"

static const struct wall start = {1700000000000};
static struct judge *judge;
static struct health_history *history; /* its memory */
static struct snapshot *machine;

static int begin(void **state)
{
    (void)state;
    judge = judge_new();
    history = judge_health(judge);
    machine = snapshot_new(1);
    struct gpu *gpu = &machine->gpus[0];
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-1");
    snprintf(gpu->id.pci_address, sizeof gpu->id.pci_address, "0000:05:00.0");
    snprintf(gpu->id.name, sizeof gpu->id.name, "Card");
    snprintf(gpu->source, sizeof gpu->source, "test");
    gpu->temp_mdegc = reading_ok(50000);
    gpu->energy_mj = reading_ok(1000);
    machine->taken_at = start;
    machine->source_count = 1;
    snprintf(machine->sources[0].name, sizeof machine->sources[0].name, "test");
    machine->sources[0].state = SOURCE_OK;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    judge_free(judge);
    snapshot_unref(machine);
    return 0;
}

static void expect(enum health_state wanted)
{
    struct health *health = health_of(judge, machine);
    assert_non_null(health);
    if (health->verdicts[0].state != wanted)
        fail_msg("it is %s: %s", health_state_name(health->verdicts[0].state), health->verdicts[0].reason);
    health_free(health);
}

static struct health_log_mark restart(const char *boot)
{
    AUTO_BUF struct buf text = BUF(HEALTH_FILE_MAX);
    struct error err = {0};
    struct health_log_mark mark;
    health_write(history, &(struct health_host){.machine = "one", .boot = BOOT}, (struct health_log_mark){77, {start.ms}},
                 machine->taken_at, &text);
    judge_free(judge);
    judge = judge_new();
    history = judge_health(judge);
    struct health_host host = {.machine = "another"};
    str_copy(host.boot, sizeof host.boot, str_from(boot));
    assert_int_equal(health_read(history, buf_view(&text), &host, machine->taken_at, &mark, &err), -EXDEV); /* a shared home */
    assert_int_equal(history->card_count, 0);
    str_copy(host.machine, sizeof host.machine, STR("one"));
    assert_int_equal(health_read(history, buf_view(&text), &host, machine->taken_at, &mark, &err), 0);
    return mark;
}

static void faults_survive_a_restart_and_end_with_a_boot(void **state)
{
    (void)state;
    expect(HEALTH_HEALTHY);
    assert_true(health_note_xid(history, "0000:05:00.0", 95, start));
    expect(HEALTH_FAILING);
    assert_int_equal(restart(BOOT).us, 77);
    expect(HEALTH_FAILING);
    struct health_log_mark mark = restart(OTHER);
    assert_int_equal(mark.us, 0);
    machine->gpus[0].energy_mj = reading_ok(5); /* its counter began anew with the same boot */
    expect(HEALTH_HEALTHY);
    /* An error after that boot is not cured by it, and is the second of its kind. */
    machine->taken_at.ms += 10000;
    health_note_xid(history, "0000:05:00.0", 95, machine->taken_at);
    expect(HEALTH_FAILING);
    assert_true(history->cards[0].faults[0].returned);
}

static void an_error_in_the_log_of_the_new_boot_counts_although_the_counters_began_anew(void **state)
{
    (void)state;
    expect(HEALTH_HEALTHY);
    restart(OTHER);
    health_note_xid(history, "0000:05:00.0", 95, start); /* read before the first sample */
    machine->gpus[0].energy_mj = reading_ok(5);
    expect(HEALTH_FAILING);
}

static void since_when_it_is_so_survives_a_restart(void **state)
{
    (void)state;
    expect(HEALTH_HEALTHY);
    machine->taken_at.ms += 3600000;
    restart(BOOT);
    struct health *health = health_of(judge, machine);
    assert_int_equal(health->verdicts[0].since.ms, start.ms);
    assert_false(health->verdicts[0].changed);
    health_free(health);
}

static void a_card_that_is_gone_is_remembered_until_it_is_forgotten(void **state)
{
    (void)state;
    struct health_card *card;
    expect(HEALTH_HEALTHY);
    restart(BOOT);
    assert_int_equal(health_forget(history, machine, "GPU-1", start, "alice", &card), -EBUSY);
    gpu_mark_state(&machine->gpus[0], GPU_LOST, "no longer listed");
    machine->taken_at.ms += (int64_t)HEALTH_UNNAMED_MAX_MS * 60;
    expect(HEALTH_LOST);
    restart(BOOT);
    assert_int_equal(history->card_count, 1);
    assert_int_equal(health_forget(history, machine, "GPU-2", machine->taken_at, "alice", &card), -ENOENT);
    assert_int_equal(health_forget(history, machine, "0000:05:00.0", machine->taken_at, "alice", &card), 0);
    restart(BOOT);
    assert_int_equal(history->cards[0].forgotten.ms, machine->taken_at.ms);
    assert_string_equal(history->cards[0].forgotten_by, "alice");
    assert_int_equal(health_forget(history, machine, "0", (struct wall){0}, "", &card), 0);
    assert_int_equal(history->cards[0].forgotten.ms, 0);
    assert_int_equal(health_forget(history, machine, "GPU-1", machine->taken_at, "", &card), 0);
    machine->taken_at.ms += HEALTH_FORGOTTEN_MAX_MS; /* the end of undoing it */
    restart(BOOT);
    assert_int_equal(history->card_count, 0);
    machine->gpus[0].state = GPU_OK;
}

static void a_card_without_a_name_is_nobodys_after_a_week(void **state)
{
    (void)state;
    struct gpu_id id = machine->gpus[0].id;
    machine->gpus[0].id.uuid[0] = machine->gpus[0].id.pci_address[0] = '\0';
    expect(HEALTH_HEALTHY);
    machine->taken_at.ms += HEALTH_UNNAMED_MAX_MS;
    restart(BOOT);
    assert_int_equal(history->card_count, 0);
    machine->gpus[0].id = id;
}

static void an_error_that_both_driver_and_log_tell_of_is_one_however_rarely_they_are_looked_at(void **state)
{
    (void)state;
    machine->interval_s = 60;
    expect(HEALTH_HEALTHY);
    machine->taken_at.ms += 60000;
    health_note_xid(history, "0000:05:00.0", 95, (struct wall){machine->taken_at.ms - 50000});
    machine->events[0] = (struct event){.kind = EVENT_DRIVER_FAULT, .gpu_index = 0, .code = 95, .at = machine->taken_at};
    machine->event_count = 1;
    expect(HEALTH_FAILING);
    assert_int_equal(history->cards[0].faults[0].times, 1);
    machine->taken_at.ms += 3600000;
    machine->events[0].at = machine->taken_at;
    expect(HEALTH_FAILING);
    assert_int_equal(history->cards[0].faults[0].times, 2);
}

static void simulated_cards_belong_to_their_simulated_host(void **state)
{
    (void)state;
    snprintf(history->machine, sizeof history->machine, "sim,gpus=1");
    machine->gpus[0].simulated = true;
    expect(HEALTH_HEALTHY);
    restart(BOOT);
    assert_int_equal(history->card_count, 0); /* no simulated host */
    snprintf(history->machine, sizeof history->machine, "sim,gpus=1");
    expect(HEALTH_HEALTHY);
    AUTO_BUF struct buf text = BUF(HEALTH_FILE_MAX);
    struct error err = {0};
    struct health_log_mark mark;
    const struct health_host host = {.machine = "one", .boot = BOOT};
    health_write(history, &host, (struct health_log_mark){0}, machine->taken_at, &text);
    history->card_count = 0;
    assert_int_equal(health_read(history, buf_view(&text), &host, machine->taken_at, &mark, &err), 0);
    assert_int_equal(history->card_count, 1);
    history->card_count = 0;
    snprintf(history->machine, sizeof history->machine, "sim,gpus=2");
    assert_int_equal(health_read(history, buf_view(&text), &host, machine->taken_at, &mark, &err), 0);
    assert_int_equal(history->card_count, 0);
}

/* Version 0.2.0 wrote checks with a state, a sentence and a number for the advice. */
static void a_file_of_an_older_version_is_understood(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\": 1, \"machine\": \"one\", \"boot\": \"" BOOT "\", \"cards\": [{\"uuid\": \"GPU-1\", \"name\": \"Card\", "
        "\"index\": 0, \"last_seen_ms\": 1699999990000, \"state\": \"failing\", \"state_since_ms\": 1699999000000, \"faults\": ["
        "{\"check\": \"fan\", \"held_ms\": 1699999000000, \"last_ms\": 1699999990000, \"times\": 1, \"active\": true, "
        "\"state\": \"failing\", \"advice\": 3, \"reason\": \"its fan should run at 60% but has stopped at 80 °C\"}, "
        "{\"check\": \"pcie_link\", \"held_ms\": 1699999000000, \"last_ms\": 1699999990000, \"times\": 1, \"active\": true, "
        "\"state\": \"degraded\", \"advice\": 4, \"reason\": \"its PCIe link has 4 of 16 lanes under load\"}]}]}";
    struct error err = {0};
    struct health_log_mark mark;
    const struct health_host host = {.machine = "one", .boot = BOOT};
    assert_int_equal(health_read(history, str_from(text), &host, start, &mark, &err), 0);
    machine->gpus[0].state = GPU_ASLEEP; /* no reading contradicts */
    struct health *health = health_of(judge, machine);
    const struct health_verdict *v = &health->verdicts[0];
    assert_int_equal(v->state, HEALTH_FAILING);
    assert_int_equal(v->findings[0].code, FINDING_FAN_STOPPED);
    assert_string_equal(v->reason, "Its fan should run at 60% but has stopped at 80 °C.");
    assert_int_equal(v->findings[1].code, FINDING_PCIE_LINK);
    assert_string_equal(v->findings[1].reason, "Its PCIe link has 4 of 16 lanes under load.");
    assert_int_equal(v->since.ms, 1699999000000);
    health_free(health);
    machine->gpus[0].state = GPU_OK;
}

static void damaged_files_are_refused_whole(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 "{",
                                 "null",
                                 "{\"version\": 1}",
                                 "{\"version\": 9, \"boot\": \"x\", \"cards\": []}",
                                 "{\"version\": 1, \"boot\": \"x\", \"cards\": [{}]}",
                                 "{\"version\": 1, \"boot\": \"x\", \"cards\": [{\"state\": \"healthy\", \"index\": 5000}]}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        struct health_log_mark mark;
        assert_int_equal(health_read(history, str_from(texts[i]), &(struct health_host){.boot = BOOT}, start, &mark, &err),
                         -EINVAL);
        assert_int_equal(history->card_count, 0);
    }
}

static void what_the_kernels_drivers_say_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t code; /* 0: no fault */
    } lines[] = {
        {"amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", 4},
        {"amdgpu 0000:03:00.0: amdgpu: VRAM is lost due to GPU reset!", 3},
        {"amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62", 2},
        {"amdgpu 0000:03:00.0: amdgpu: GPU reset(1) succeeded!", 0},
        {"amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:32771)", 6},
        {"amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=102, emitted seq=104", 5},
        {"[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted seq=2", 0}, /* of which card? */
        {"i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dffffb, in Xorg [1234]", 5},
        {"i915 0000:00:02.0: [drm] Resetting chip for stopped heartbeat on rcs0", 4},
        {"xe 0000:03:00.0: [drm] GT0: Engine reset: engine_class=rcs, logical_mask: 0x1, guc_id=2", 4},
        {"CRITICAL: Xe has declared device 0000:03:00.0 as wedged.", 1},
        {"amdgpu 0000:03:00.0: amdgpu: device wedged, but recovered through reset", 4},
        {"amdgpu 0000:03:00.0: [drm] device wedged, but no recovery needed", 5},
        {"amdgpu 0000:03:00.0: [drm] device wedged, needs recovery", 1},
        {"amdgpu 0000:03:00.0: amdgpu: GPU Recovery Failed: -22", 2},
        {"amdgpu 0000:03:00.0: amdgpu: GPU recovery failed: -110", 2},
        {"amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered", 5},
        {"amdgpu 0000:03:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000006", 7},
        {"amdgpu 0000:03:00.0: amdgpu: SMU is initialized successfully!", 0},
        {"pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0", 0},
        {"", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct fault_line fault = {0};
        bool found = driver_fault_parse(str_from(lines[i].line), &fault);
        if (found != (lines[i].code != 0) || fault.code != lines[i].code)
            fail_msg("%s: %lld", lines[i].line, (long long)fault.code);
    }
}

static void a_hang_is_a_note_three_a_day_are_worse_and_a_card_that_was_given_up_fails(void **state)
{
    (void)state;
    expect(HEALTH_HEALTHY);
    for (int i = 0; i < 3; i++) {
        machine->taken_at.ms += 60000;
        assert_true(health_note_driver_fault(history, "0000:05:00.0", 4, machine->taken_at));
        expect(i < 2 ? HEALTH_HEALTHY : HEALTH_DEGRADED);
    }
    health_note_driver_fault(history, "0000:05:00.0", 1, machine->taken_at);
    struct health *health = health_of(judge, machine);
    assert_int_equal(health->verdicts[0].state, HEALTH_FAILING);
    assert_string_equal(health->verdicts[0].reason, "The driver gave up on the GPU, just now (kernel log).");
    assert_int_equal(health->verdicts[0].finding_count, 2);
    health_free(health);
    assert_false(health_note_driver_fault(history, "0000:99:00.0", 1, machine->taken_at));
}

#define HEALTH_TEST(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEALTH_TEST(faults_survive_a_restart_and_end_with_a_boot),
        HEALTH_TEST(an_error_in_the_log_of_the_new_boot_counts_although_the_counters_began_anew),
        HEALTH_TEST(since_when_it_is_so_survives_a_restart),
        HEALTH_TEST(a_card_that_is_gone_is_remembered_until_it_is_forgotten),
        HEALTH_TEST(a_card_without_a_name_is_nobodys_after_a_week),
        HEALTH_TEST(an_error_that_both_driver_and_log_tell_of_is_one_however_rarely_they_are_looked_at),
        HEALTH_TEST(simulated_cards_belong_to_their_simulated_host),
        HEALTH_TEST(a_file_of_an_older_version_is_understood),
        HEALTH_TEST(damaged_files_are_refused_whole),
        HEALTH_TEST(what_the_kernels_drivers_say_is_understood),
        HEALTH_TEST(a_hang_is_a_note_three_a_day_are_worse_and_a_card_that_was_given_up_fails),
    };
    return RUN_TESTS(tests);
}
