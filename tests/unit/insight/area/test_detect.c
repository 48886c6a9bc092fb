/* SPDX-License-Identifier: Apache-2.0
 * Each detector by itself: what it finds, and in which cases next to it it is silent.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "model/finding_code.h"
#include "test.h"

#define GIB (1LL << 30)

struct look {
    struct snapshot *s;
    struct gpu *gpu;
    struct recent past;
};

/* A GPU at full load with nothing wrong. */
static struct look busy(void)
{
    struct look l = {.s = snapshot_new(1)};
    assert_non_null(l.s);
    l.s->taken_at.ms = 1800000000000;
    l.gpu = &l.s->gpus[0];
    snprintf(l.gpu->id.name, sizeof l.gpu->id.name, "NVIDIA H200");
    l.gpu->util_permille = reading_ok(980);
    l.gpu->power_mw = reading_ok(400000);
    l.gpu->power_limit_mw = reading_ok(700000);
    l.gpu->temp_mdegc = reading_ok(60000);
    l.gpu->clock_graphics_khz = reading_ok(1900000);
    l.gpu->clock_graphics_max_khz = reading_ok(1980000);
    l.gpu->throttle_bits = reading_ok(0);
    l.gpu->pcie_width = l.gpu->pcie_width_max = reading_ok(16);
    l.gpu->mem_total_bytes = reading_ok(80 * GIB);
    l.gpu->mem_used_bytes = reading_ok(2 * GIB);
    l.gpu->processes_state = READING_OK;
    return l;
}

static struct look idle(void)
{
    struct look l = busy();
    l.gpu->util_permille = reading_ok(0);
    l.gpu->power_mw = reading_ok(70000);
    l.gpu->temp_mdegc = reading_ok(35000);
    return l;
}

static struct process *add_process(struct look *l, int32_t pid, const char *name, int64_t bytes)
{
    struct process *p = gpu_add_process(l->gpu, pid);
    snprintf(p->name, sizeof p->name, "%s", name);
    p->visible = true;
    p->type = PROCESS_COMPUTE;
    p->mem_bytes = reading_ok(bytes);
    return p;
}

/* What the detector finds; ends the look. NULL: nothing. */
static const char *found(struct look *l, void (*detect)(const struct facts *, struct collection *), finding_code code)
{
    static char headline[FINDING_HEADLINE_SIZE];
    struct facts f;
    struct collection c;
    facts_collect(&f, l->s, l->gpu, &l->past);
    assert_int_equal(collection_init(&c, l->s), 0);
    detect(&f, &c);
    struct verdict *v = c.verdict;
    const struct finding *one = verdict_find(v, 0, code);
    snprintf(headline, sizeof headline, "%s", one ? one->headline : "");
    verdict_free(v);
    recent_done(&l->past);
    snapshot_unref(l->s);
    return headline[0] ? headline : NULL;
}

#define FINDS(look, detect, code, words)             \
    do {                                             \
        const char *is_ = found(look, detect, code); \
        if (!is_ || !strstr(is_, words))             \
            fail_msg("%s", is_ ? is_ : "nothing");   \
    } while (0)

/* ---- memory ---- */

static struct look left_over(void)
{
    struct look l = idle();
    l.gpu->mem_used_bytes = reading_ok(21 * GIB);
    return l;
}

static void memory_without_an_owner_is_found(void **state)
{
    (void)state;
    struct look l = left_over();
    FINDS(&l, area_memory.find, FINDING_MEMORY_UNOWNED, "21");
}

static void memory_of_a_process_that_just_ended_is_still_being_freed(void **state)
{
    (void)state;
    for (int ago_s = 1; ago_s <= 30; ago_s += 29) {
        struct look l = left_over();
        l.past.ended_count = 1;
        l.past.ended[0].gpu_index = 0;
        l.past.ended[0].missed_at.ms = l.s->taken_at.ms - ago_s * 1000;
        assert_int_equal(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED) != NULL, ago_s == 30);
    }
    struct look l = left_over(); /* on another GPU */
    l.past.ended_count = 1;
    l.past.ended[0].gpu_index = 1;
    l.past.ended[0].missed_at.ms = l.s->taken_at.ms - 1000;
    assert_non_null(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED));
}

static void memory_is_owned_where_owners_cannot_be_listed(void **state)
{
    (void)state;
    struct look l = left_over();
    l.gpu->processes_state = READING_DENIED;
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED));
    l = left_over();
    l.gpu->processes_hidden = 1;
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED));
    l = left_over();
    add_process(&l, 7, "python3", 0)->mem_bytes = reading_absent(READING_UNSUPPORTED);
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED));
    l = left_over();
    l.gpu->util_permille = reading_ok(900); /* it computes, and nothing is listed */
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED));
    l = left_over();
    add_process(&l, 7, "python3", 19 * GIB);
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED));
}

static void memory_that_the_driver_reserves_needs_no_owner(void **state)
{
    (void)state;
    struct look l = left_over();
    l.gpu->mem_free_bytes = reading_ok(59 * GIB);
    l.gpu->mem_reserved_bytes = reading_ok(20 * GIB);
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_UNOWNED));
}

static void memory_that_moved_to_the_host_is_found(void **state)
{
    (void)state;
    struct look l = busy();
    l.gpu->gtt_used_bytes = reading_ok(6 * GIB);
    l.gpu->mem_used_bytes = reading_ok(79 * GIB);
    FINDS(&l, area_memory.find, FINDING_MEMORY_SPILLED, "6");
    l = busy(); /* there is room: what is there was put there on purpose */
    l.gpu->gtt_used_bytes = reading_ok(6 * GIB);
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_SPILLED));
    l = busy();
    l.gpu->gtt_used_bytes = reading_ok(GIB / 2);
    l.gpu->mem_used_bytes = reading_ok(79 * GIB);
    assert_null(found(&l, area_memory.find, FINDING_MEMORY_SPILLED));
}

/* ---- model servers ---- */

static struct look serving(int64_t running, int64_t waiting, int64_t kv_permille)
{
    struct look l = busy();
    struct process *p = add_process(&l, 7, "vllm", 60 * GIB);
    p->tokens_milli = reading_ok(90000);
    p->requests_running = reading_ok(running);
    p->requests_waiting = reading_ok(waiting);
    p->kv_cache_permille = reading_ok(kv_permille);
    return l;
}

static void a_full_cache_is_found_while_requests_wait(void **state)
{
    (void)state;
    struct look l = serving(30, 2, 990);
    FINDS(&l, area_servers.find, FINDING_KV_CACHE_FULL, "full (99%), and 2 requests wait");
    l = serving(30, 0, 990); /* full, and enough for all */
    assert_null(found(&l, area_servers.find, FINDING_KV_CACHE_FULL));
    l = serving(30, 2, 700);
    assert_null(found(&l, area_servers.find, FINDING_KV_CACHE_FULL));
    l = serving(30, 2, 990);
    l.gpu->processes[0].requests_waiting = reading_absent(READING_UNSUPPORTED);
    assert_null(found(&l, area_servers.find, FINDING_KV_CACHE_FULL));
}

static void a_queue_is_found_where_more_wait_than_run(void **state)
{
    (void)state;
    struct look l = serving(4, 9, 300);
    FINDS(&l, area_servers.find, FINDING_REQUESTS_QUEUE, "9 requests wait at vllm, which is working on 4");
    l = serving(16, 9, 300);
    assert_null(found(&l, area_servers.find, FINDING_REQUESTS_QUEUE));
    l = serving(1, 3, 300);
    assert_null(found(&l, area_servers.find, FINDING_REQUESTS_QUEUE));
}

static void interrupted_requests_and_silence_are_found(void **state)
{
    (void)state;
    struct look l = serving(30, 2, 600);
    l.gpu->processes[0].preempted_milli = reading_ok(2000);
    FINDS(&l, area_servers.find, FINDING_PREEMPTIONS, "interrupts 120 requests a minute");
    l = serving(30, 2, 600);
    l.gpu->processes[0].preempted_milli = reading_ok(0);
    assert_null(found(&l, area_servers.find, FINDING_PREEMPTIONS));
    l = serving(30, 2, 600);
    l.gpu->processes[0].tokens_milli = reading_absent(READING_FAILED);
    FINDS(&l, area_servers.find, FINDING_SERVER_SILENT, "vllm has stopped answering");
    l = serving(30, 2, 600);
    l.gpu->processes[0].tokens_milli = reading_absent(READING_UNSUPPORTED); /* it never said anything */
    assert_null(found(&l, area_servers.find, FINDING_SERVER_SILENT));
}

/* ---- clocks ---- */

static struct look slow(void)
{
    struct look l = busy();
    l.gpu->clock_graphics_khz = reading_ok(420000);
    return l;
}

static void low_clocks_under_load_say_what_holds_them(void **state)
{
    (void)state;
    struct look l = slow();
    l.gpu->throttle_bits = reading_ok(THROTTLE_APP_CLOCKS);
    FINDS(&l, area_clocks.find, FINDING_CLOCKS_LOW, "locked");
    l = slow();
    l.gpu->pstate = reading_ok(8);
    FINDS(&l, area_clocks.find, FINDING_CLOCKS_LOW, "P8");
    l = slow();
    FINDS(&l, area_clocks.find, FINDING_CLOCKS_LOW, "420 of 1980 MHz");
}

static void memory_in_an_idle_state_is_found_under_load(void **state)
{
    (void)state;
    struct look l = busy();
    l.gpu->clock_memory_max_khz = reading_ok(10501000);
    l.gpu->clock_memory_khz = reading_ok(405000);
    FINDS(&l, area_clocks.find, FINDING_CLOCKS_LOW, "its memory is at 405 of 10501 MHz");
    l = busy();
    l.gpu->clock_memory_max_khz = reading_ok(10501000);
    l.gpu->clock_memory_khz = reading_ok(10251000);
    assert_null(found(&l, area_clocks.find, FINDING_CLOCKS_LOW));
}

static void low_clocks_have_other_reasons(void **state)
{
    (void)state;
    struct look l = slow();
    l.gpu->util_permille = reading_ok(300);
    assert_null(found(&l, area_clocks.find, FINDING_CLOCKS_LOW));
    l = slow();
    l.gpu->throttle_bits = reading_ok(THROTTLE_HW_THERMAL); /* which is the trouble; these clocks only take calm away */
    FINDS(&l, area_clocks.find, FINDING_CLOCKS_LOW, "a limit holds it there");
    l = slow();
    l.gpu->power_mw = reading_ok(699000);
    FINDS(&l, area_clocks.find, FINDING_CLOCKS_LOW, "a limit holds it there");
    l = busy();
    assert_null(found(&l, area_clocks.find, FINDING_CLOCKS_LOW));
}

/* ---- fan ---- */

static struct look by_hand(int64_t fan_permille, int64_t temp_mdegc, const char *control)
{
    struct look l = busy();
    l.gpu->fan_permille = reading_ok(fan_permille);
    l.gpu->temp_mdegc = reading_ok(temp_mdegc);
    l.gpu->temp_limit_mdegc = reading_ok(90000);
    l.gpu->fan_control.state = READING_OK;
    snprintf(l.gpu->fan_control.value, sizeof l.gpu->fan_control.value, "%s", control);
    return l;
}

static void a_fan_set_by_hand_is_found_where_it_is_too_slow(void **state)
{
    (void)state;
    struct look l = by_hand(300, 87000, "manual");
    FINDS(&l, area_fan.find, FINDING_FAN_BY_HAND, "30%");
    l = by_hand(300, 87000, "automatic");
    assert_null(found(&l, area_fan.find, FINDING_FAN_BY_HAND));
    l = by_hand(300, 60000, "manual");
    assert_null(found(&l, area_fan.find, FINDING_FAN_BY_HAND));
    l = by_hand(900, 87000, "manual");
    assert_null(found(&l, area_fan.find, FINDING_FAN_BY_HAND));
}

/* ---- links ---- */

static void a_narrow_link_is_found_under_load(void **state)
{
    (void)state;
    struct look l = busy();
    l.gpu->pcie_width = reading_ok(4);
    FINDS(&l, area_link.find, FINDING_PCIE_LINK, "4 of 16");
    l = busy(); /* one lane may be why it works so little */
    l.gpu->util_permille = reading_ok(150);
    l.gpu->pcie_width = reading_ok(1);
    FINDS(&l, area_link.find, FINDING_PCIE_LINK, "1 of 16");
    l = idle(); /* lanes do not rest, and it is known before work begins */
    l.gpu->pcie_width = reading_ok(4);
    FINDS(&l, area_link.find, FINDING_PCIE_LINK, "4 of 16");
    l = idle(); /* but in laptops they do */
    snprintf(l.gpu->id.name, sizeof l.gpu->id.name, "NVIDIA GeForce RTX 4070 Laptop GPU");
    l.gpu->pcie_width = reading_ok(4);
    assert_null(found(&l, area_link.find, FINDING_PCIE_LINK));
    l = busy();
    assert_null(found(&l, area_link.find, FINDING_PCIE_LINK));
}

static void a_gpu_outside_of_the_fabric_is_found(void **state)
{
    (void)state;
    struct look l = busy();
    l.gpu->fabric_ready = reading_ok(0);
    FINDS(&l, area_link.find, FINDING_NVLINK, "fabric");
    l = busy();
    l.gpu->fabric_ready = reading_ok(1);
    assert_null(found(&l, area_link.find, FINDING_NVLINK));
}

/* The links of GPU 0 and of a second GPU beside it. */
static struct look linked(int64_t its, int64_t others, const char *other_name)
{
    struct look one = busy(), l = {.s = snapshot_new(2)};
    assert_non_null(l.s);
    l.s->taken_at = one.s->taken_at;
    l.gpu = &l.s->gpus[0];
    memcpy(l.s->gpus[0].metric, one.gpu->metric, sizeof one.gpu->metric);
    l.s->gpus[0].id = l.s->gpus[1].id = one.gpu->id;
    l.s->gpus[0].processes_state = l.s->gpus[1].processes_state = READING_OK;
    snprintf(l.s->gpus[1].id.name, sizeof l.s->gpus[1].id.name, "%s", other_name);
    l.s->gpus[1].index = 1;
    l.s->gpus[0].nvlink_links_active = reading_ok(its);
    l.s->gpus[1].nvlink_links_active = reading_ok(others);
    snapshot_unref(one.s);
    return l;
}

static void fewer_links_than_a_sibling_are_found(void **state)
{
    (void)state;
    struct look l = linked(17, 18, "NVIDIA H200");
    FINDS(&l, area_link.find, FINDING_NVLINK, "17 of 18 links");
    l = linked(18, 18, "NVIDIA H200");
    assert_null(found(&l, area_link.find, FINDING_NVLINK));
    l = linked(18, 17, "NVIDIA H200"); /* that is the other one's finding */
    assert_null(found(&l, area_link.find, FINDING_NVLINK));
    l = linked(0, 4, "NVIDIA H200"); /* a bridge joins two */
    FINDS(&l, area_link.find, FINDING_NVLINK, "0 of 4 links");
    l = linked(0, 0, "NVIDIA H200"); /* without a bridge */
    assert_null(found(&l, area_link.find, FINDING_NVLINK));
    l = linked(12, 18, "NVIDIA A100"); /* of another kind */
    assert_null(found(&l, area_link.find, FINDING_NVLINK));
}

/* ---- trust ---- */

static void utilization_without_work_is_found(void **state)
{
    (void)state;
    struct look l = busy();
    l.gpu->sm_active_permille = reading_ok(10);
    l.gpu->power_mw = reading_ok(122000); /* as a kernel that waits draws on this GPU */
    FINDS(&l, area_no_work.find, FINDING_NO_WORK_DONE, "waiting inside a kernel");
    l = busy();
    l.gpu->sm_active_permille = reading_ok(10);
    l.gpu->graphics_active_permille = reading_ok(5);
    l.gpu->power_mw = reading_ok(130000);
    FINDS(&l, area_no_work.find, FINDING_NO_WORK_DONE, "only with copies");
    l = busy(); /* 400 W are work: the counters are of a moment before it began */
    l.gpu->sm_active_permille = reading_ok(10);
    assert_null(found(&l, area_no_work.find, FINDING_NO_WORK_DONE));
    l = busy();
    l.gpu->sm_active_permille = reading_ok(600);
    assert_null(found(&l, area_no_work.find, FINDING_NO_WORK_DONE));
    l = busy();
    assert_null(found(&l, area_no_work.find, FINDING_NO_WORK_DONE));
    l = busy();
    l.gpu->sm_active_permille = reading_ok(10);
    l.gpu->encoder_permille = reading_ok(800);
    assert_null(found(&l, area_no_work.find, FINDING_NO_WORK_DONE));
}

/* Full utilization at little power, for so long; no counter tells what the units do. */
static struct look cheap_load(int64_t lasted_ms, int64_t power_mw)
{
    struct look l = busy();
    l.gpu->power_mw = reading_ok(power_mw);
    recent_begin(&l.past, l.s);
    struct recent_gpu *past = &l.past.gpus[0];
    past->id = l.gpu->id;
    for (int64_t ago = lasted_ms; ago >= 0; ago -= 2000)
        past->points[past->count++] = (struct recent_point){
            .at = {l.s->taken_at.ms - ago}, .util_permille = reading_ok(990), .power_mw = reading_ok(power_mw)};
    return l;
}

static void power_that_contradicts_the_utilization_is_found(void **state)
{
    (void)state;
    struct look l = cheap_load(120000, 90000);
    FINDS(&l, area_no_work.find, FINDING_NO_WORK_DONE, "only 90 W");
    l = cheap_load(20000, 90000); /* drivers average power: it may still follow */
    assert_null(found(&l, area_no_work.find, FINDING_NO_WORK_DONE));
    l = cheap_load(120000, 300000);
    assert_null(found(&l, area_no_work.find, FINDING_NO_WORK_DONE));
}

/* ---- work ---- */

/* The sentence for video, or for the load; ends the look. */
static const char *cause_text(struct look *l, finding_code code, int32_t *pid)
{
    static char text[WHY_TEXT_SIZE];
    struct facts f;
    struct why_part part = {0};
    facts_collect(&f, l->s, l->gpu, &l->past);
    area_work.weigh(&f, &part);
    area_video.weigh(&f, &part);
    const struct why_cause *cause = find_cause(&part, code);
    snprintf(text, sizeof text, "%s", cause ? cause->text : "");
    *pid = cause ? cause->pid : 0;
    recent_done(&l->past);
    snapshot_unref(l->s);
    return text;
}

static struct look encoding(size_t programs)
{
    static const char *const names[] = {"ffmpeg", "obs", "HandBrakeCLI"};
    struct look l = idle();
    l.gpu->encoder_permille = reading_ok(700);
    add_process(&l, 5, "Xorg", GIB / 4)->type = PROCESS_GRAPHICS;
    for (size_t i = 0; i < programs; i++)
        add_process(&l, 10 + (int32_t)i, names[i], GIB);
    return l;
}

static void video_has_a_name_where_one_program_could_do_it(void **state)
{
    (void)state;
    int32_t pid;
    struct look l = encoding(0);
    assert_string_equal(cause_text(&l, FINDING_VIDEO_LOAD, &pid), ": video is being encoded");
    l = encoding(1);
    assert_string_equal(cause_text(&l, FINDING_VIDEO_LOAD, &pid), ": ffmpeg is encoding video");
    assert_int_equal(pid, 10);
    l = encoding(2);
    assert_string_equal(cause_text(&l, FINDING_VIDEO_LOAD, &pid), ": ffmpeg or obs is encoding video");
    assert_int_equal(pid, 0);
    l = encoding(3);
    assert_string_equal(cause_text(&l, FINDING_VIDEO_LOAD, &pid), ": ffmpeg, obs, or one of 1 more is encoding video");
    l = encoding(1); /* one program, started twice */
    add_process(&l, 20, "ffmpeg", GIB);
    assert_string_equal(cause_text(&l, FINDING_VIDEO_LOAD, &pid), ": ffmpeg is encoding video");
    assert_int_equal(pid, 0);
    l = encoding(2); /* one of them is known not to */
    l.gpu->processes[1].encoder_permille = reading_ok(0);
    assert_string_equal(cause_text(&l, FINDING_VIDEO_LOAD, &pid), ": obs is encoding video");
    l = encoding(2); /* and one that can't be seen could, too */
    l.gpu->processes_hidden = 1;
    assert_string_equal(cause_text(&l, FINDING_VIDEO_LOAD, &pid), ": video is being encoded");
}

static void servers_of_others_stand_for_clients(void **state)
{
    (void)state;
    static const struct {
        const char *name, *clients;
    } of[] = {
        {"nvidia-cuda-mps-server", "standing in for MPS clients that can't be seen here"},
        {"nvidia-cuda-mps", "MPS clients"}, /* as the kernel cuts it */
        {"vgpu", "a virtual machine whose programs can't be seen here"},
        {"qemu-system-x86", "a virtual machine"},
        {"python3", "computing"},
    };
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        int32_t pid;
        struct look l = busy();
        add_process(&l, 9, of[i].name, GIB)->util_permille = reading_ok(960);
        const char *text = cause_text(&l, FINDING_COMPUTE_LOAD, &pid);
        if (!strstr(text, of[i].clients))
            fail_msg("%s: %s", of[i].name, text);
    }
}

/* ---- siblings ---- */

/* Four of a kind at the same work; the last one is looked at. */
static struct look four(void)
{
    struct look one = busy(), l = {.s = snapshot_new(4)};
    assert_non_null(l.s);
    l.s->taken_at = one.s->taken_at;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(gpu_copy(&l.s->gpus[i], one.gpu), 0);
        l.s->gpus[i].index = (int)(3 - i);
        l.s->gpus[i].clock_graphics_khz.value -= (int64_t)i * 15000;
    }
    snapshot_unref(one.s);
    l.gpu = &l.s->gpus[3]; /* GPU 0 */
    return l;
}

static void the_odd_one_out_of_siblings_is_named(void **state)
{
    (void)state;
    struct look l = four();
    assert_null(found(&l, area_siblings.find, FINDING_CLOCKS_LOW));
    l = four();
    l.gpu->clock_graphics_khz = reading_ok(1200000);
    l.gpu->power_mw = reading_ok(250000);
    FINDS(&l, area_siblings.find, FINDING_CLOCKS_LOW, "3 others");
    l = four(); /* they draw less: they wait, and run faster for it */
    l.gpu->clock_graphics_khz = reading_ok(1200000);
    for (size_t i = 0; i < 3; i++)
        l.s->gpus[i].power_mw = reading_ok(120000);
    assert_null(found(&l, area_siblings.find, FINDING_CLOCKS_LOW));
    l = four(); /* what is not read compares nothing */
    l.gpu->clock_graphics_khz = reading_ok(1200000);
    l.gpu->power_mw = reading_absent(READING_UNSUPPORTED);
    assert_null(found(&l, area_siblings.find, FINDING_CLOCKS_LOW));
    l = four(); /* of two, it is not known which is odd */
    l.gpu->clock_graphics_khz = reading_ok(1200000);
    l.gpu->power_mw = reading_ok(250000);
    snprintf(l.s->gpus[0].id.name, sizeof l.s->gpus[0].id.name, "NVIDIA L4");
    snprintf(l.s->gpus[1].id.name, sizeof l.s->gpus[1].id.name, "NVIDIA L4");
    assert_null(found(&l, area_siblings.find, FINDING_CLOCKS_LOW));
    l = four();
    l.gpu->temp_mdegc = reading_ok(83000);
    FINDS(&l, area_siblings.find, FINDING_AIRFLOW, "3 others");
    l = four();
    l.gpu->pcie_width = reading_ok(4);
    l.gpu->pcie_width_max = reading_absent(READING_UNSUPPORTED);
    FINDS(&l, area_siblings.find, FINDING_PCIE_LINK, "3 others");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_without_an_owner_is_found),
        TEST(memory_of_a_process_that_just_ended_is_still_being_freed),
        TEST(memory_is_owned_where_owners_cannot_be_listed),
        TEST(memory_that_the_driver_reserves_needs_no_owner),
        TEST(a_full_cache_is_found_while_requests_wait),
        TEST(a_queue_is_found_where_more_wait_than_run),
        TEST(interrupted_requests_and_silence_are_found),
        TEST(memory_that_moved_to_the_host_is_found),
        TEST(low_clocks_under_load_say_what_holds_them),
        TEST(memory_in_an_idle_state_is_found_under_load),
        TEST(low_clocks_have_other_reasons),
        TEST(a_fan_set_by_hand_is_found_where_it_is_too_slow),
        TEST(a_narrow_link_is_found_under_load),
        TEST(a_gpu_outside_of_the_fabric_is_found),
        TEST(utilization_without_work_is_found),
        TEST(fewer_links_than_a_sibling_are_found),
        TEST(power_that_contradicts_the_utilization_is_found),
        TEST(video_has_a_name_where_one_program_could_do_it),
        TEST(servers_of_others_stand_for_clients),
        TEST(the_odd_one_out_of_siblings_is_named),
    };
    return RUN_TESTS(tests);
}
