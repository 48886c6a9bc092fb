/* SPDX-License-Identifier: Apache-2.0
 * The live view without a terminal: samples and keys in, frames as text out.
 */
#include "test.h"
#include "tui/top.h"

#include <stdio.h>

#include "insight/area/part.h"
#include "insight/view/why.h"
#include "sim_snapshot.h"
#include "tui/draw.h"
#include "tui/setup.h"

struct view {
    struct sim_machine machine;
    struct top top;
    struct canvas canvas;
    struct buf text;
};

static void sample(struct view *v)
{
    struct snapshot *s = sim_machine_sample(&v->machine, GROUP_ALL);
    top_sample(&v->top, s, why_explain(s, NULL), false);
    clock_manual_advance_ms(&v->machine.clock, 1000);
}

static void open_view(struct view *v, const char *params, int width, int height, bool utf8)
{
    *v = (struct view){.text = BUF(1 << 20)};
    sim_machine_start(&v->machine, params);
    top_init(&v->top, &top_defaults);
    v->top.utf8 = utf8;
    top_resize(&v->top, width, height);
    assert_int_equal(canvas_resize(&v->canvas, width, height), 0);
    sample(v);
}

static void close_view(struct view *v)
{
    top_done(&v->top);
    canvas_done(&v->canvas);
    buf_done(&v->text);
    sim_machine_stop(&v->machine);
}

static const char *frame(struct view *v)
{
    buf_done(&v->text);
    v->text = BUF(1 << 20);
    draw_frame(&v->top, &v->canvas);
    canvas_write(&v->canvas, &v->text);
    return v->text.at;
}

static void keys(struct view *v, const char *text)
{
    for (; *text; text++)
        top_key(&v->top, *text);
}

static void assert_shows(struct view *v, const char *part)
{
    if (!strstr(frame(v), part))
        fail_msg("'%s' is not in\n%s", part, v->text.at);
}

static void assert_hides(struct view *v, const char *part)
{
    if (strstr(frame(v), part))
        fail_msg("'%s' is in\n%s", part, v->text.at);
}

static void test_every_size_and_number_of_gpus_is_drawn(void **state)
{
    (void)state;
    static const int sizes[][2] = {{40, 12}, {80, 24}, {120, 40}, {300, 90}, {20, 6}, {1, 1}};
    static const int gpus[] = {1, 4, 16, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t g = 0; g < 4; g++)
            for (int utf8 = 0; utf8 < 2; utf8++) {
                struct view v;
                char params[64];
                snprintf(params, sizeof params, "gpus=%d,scenario=mixed", gpus[g]);
                open_view(&v, params, sizes[s][0], sizes[s][1], utf8);
                const char *text = frame(&v);
                int lines = 0;
                for (const char *at = text; *at; at++) {
                    lines += *at == '\n';
                    if (!utf8 && (unsigned char)*at >= 0x80)
                        fail_msg("not ASCII: %s", text);
                }
                assert_int_equal(lines, sizes[s][1]);
                if (sizes[s][0] >= 40)
                    assert_shows(&v, "whirr");
                for (int key = 0; key < 128; key++) { /* no key in no mode at no size breaks anything */
                    top_key(&v.top, key);
                    frame(&v);
                }
                close_view(&v);
            }
}

/* In a window of 30 days each sample takes the place of the one before, but not of the one that is on screen. */
static void test_a_paused_picture_stays_as_it_is(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=2,scenario=training", 110, 36, true);
    v.top.settings.window_ms = top_windows_ms[top_window_count - 1];
    sample(&v);
    sample(&v);
    keys(&v, "p");
    char *before = strdup(frame(&v));
    for (int i = 0; i < 3; i++) {
        sample(&v);
        assert_string_equal(frame(&v), before);
        const struct trail *trail = &v.top.trails[0];
        assert_int_equal(trail->count, 3); /* the first, the one on screen, the newest */
        assert_int_equal(trail->points[1].at_ms, v.top.now.ms);
    }
    free(before);
    close_view(&v);
}

static void test_sixteen_gpus_have_a_row_each_in_80x24(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=16,scenario=training", 80, 24, true);
    for (int i = 0; i < 16; i++) {
        char row[32];
        snprintf(row, sizeof row, "\n  %2d H100", i);
        assert_shows(&v, row);
    }
    assert_shows(&v, "PROCESS");
    assert_shows(&v, "train.py · Llama");
    close_view(&v);
}

static void test_64_gpus_are_a_heat_map(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=64,scenario=training", 80, 24, false);
    assert_shows(&v, "64 GPUs   44.8 kW"); /* not 44800 W */
    assert_shows(&v, "64 GPUs  WORK %");
    assert_shows(&v, " 63 # ");
    assert_shows(&v, "GPUS        JOB"); /* one row for all 64 */
    assert_shows(&v, "0-63        train");
    keys(&v, "mm");
    assert_shows(&v, "VRAM % of the total");
    close_view(&v);
    open_view(&v, "gpus=64,scenario=multi-user", 200, 60, false);
    assert_shows(&v, "64 GPUs  UTIL %"); /* their work is not measured */
    keys(&v, "m");
    assert_shows(&v, "VRAM % of the total");
    close_view(&v);
}

static void test_jobs_have_a_plot_where_there_is_room(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=64,scenario=training", 200, 60, false);
    for (int i = 0; i < 400; i++)
        sample(&v);
    assert_shows(&v, "Work of its GPUs, 5m");
    for (int y = 0; y < v.canvas.height; y++) /* a whole line of it */
        if (canvas_cell(&v.canvas, 3, y)->glyph == '0' && canvas_cell(&v.canvas, 4, y)->glyph == '-')
            for (int x = 150; x < 170; x++)
                assert_int_not_equal(canvas_cell(&v.canvas, x, y)->glyph, ' ');
    close_view(&v);
}

static void test_a_process_outside_of_a_job_has_its_own_row(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1", 120, 40, true);
    struct snapshot *s = snapshot_new(64);
    for (int i = 0; i < 64; i++)
        s->gpus[i].index = i;
    for (int i = 0; i < 2; i++) {
        struct process *p = gpu_add_process(&s->gpus[i], 100 + i);
        str_copy(p->name, sizeof p->name, STR("train"));
        str_copy(p->job, sizeof p->job, str_from(i ? "" : "job 7"));
    }
    top_sample(&v.top, s, why_explain(s, NULL), false);
    assert_shows(&v, "job 7 · train ");
    assert_hides(&v, "2 processes");
    close_view(&v);
}

static void test_where_each_gpu_has_no_cell_several_share_one(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=64,scenario=gpu-lost", 40, 12, true);
    assert_shows(&v, "worst of each 4");
    assert_shows(&v, " 0-3!"); /* GPU 0 is lost */
    assert_shows(&v, " 4-7█");
    assert_shows(&v, "60-63█");
    close_view(&v);
}

static void test_a_headline_ends_with_a_sentence_and_numbers_keep_their_unit(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=8,scenario=late-rank", 80, 24, true);
    assert_shows(&v, "4711) is late.\n");
    assert_shows(&v, "216/700 keeps others waiting");
    top_resize(&v.top, 46, 12);
    assert_int_equal(canvas_resize(&v.canvas, 46, 12), 0);
    assert_shows(&v, "GPUs 1-7 are waiting for GPU 0\n");
    close_view(&v);
    open_view(&v, "gpus=1,scenario=inference,start=40", 80, 24, true);
    for (int width = 60; width < 90; width++) {
        top_resize(&v.top, width, 24);
        assert_int_equal(canvas_resize(&v.canvas, width, 24), 0);
        assert_hides(&v, "0\n   W,");
        assert_hides(&v, "\n   °C,");
    }
    close_view(&v);
}

static void test_a_small_screen_has_a_row_and_a_word_for_each_gpu(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "scenario=slowed-rank", 40, 12, true);
    assert_shows(&v, "WHY");
    assert_shows(&v, " 7 █");
    assert_hides(&v, "utilization");
    struct snapshot *s = snapshot_new(3);
    for (int i = 0; i < 3; i++)
        s->gpus[i] = (struct gpu){.index = i, .util_permille = reading_ok(10 * (i + 5))};
    top_sample(&v.top, s, why_explain(s, NULL), false);
    assert_shows(&v, "5%");
    assert_shows(&v, "6%");
    assert_shows(&v, "7%");
    close_view(&v);
}

static void test_a_lost_gpu_keeps_its_row_with_the_reason(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=gpu-lost", 80, 24, true);
    assert_shows(&v, "lost");
    assert_shows(&v, "▲");
    close_view(&v);
    open_view(&v, "gpus=3,scenario=training,fault=asleep@1", 80, 24, true);
    assert_shows(&v, "asleep (not woken)");
    close_view(&v);
}

static void test_the_filter_works_while_it_is_typed(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "scenario=mixed", 120, 40, true);
    assert_shows(&v, "ollama");
    keys(&v, "/q");
    assert_int_equal(top_next_request(&v.top).kind == REQUEST_END, 0); /* a letter, not the key */
    top_key(&v.top, TOP_KEY_BACKSPACE);
    keys(&v, "train.py");
    assert_int_equal(v.top.row_count, 1);
    assert_shows(&v, "Filter: train.py");
    int cursor = 0; /* one cell behind the text */
    for (int x = 0; x < 120; x++)
        cursor += canvas_cell(&v.canvas, x, 39)->flags & CELL_REVERSE;
    assert_int_equal(cursor, 1);
    assert_true(canvas_cell(&v.canvas, 1 + (int)strlen("Filter: train.py"), 39)->flags & CELL_REVERSE);
    top_key(&v.top, TOP_KEY_ENTER);
    assert_shows(&v, "filter: train.py");
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_true(v.top.row_count > 1);
    keys(&v, "/nothing like it");
    assert_shows(&v, "No process matches the filter.");
    close_view(&v);
}

static void test_the_worst_finding_has_a_key_and_esc_comes_back(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=overheat", 120, 40, true);
    keys(&v, "!");
    assert_shows(&v, "What you can do");
    assert_shows(&v, "likely");
    assert_int_equal(v.top.only, 0); /* the one that is hot */
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_hides(&v, "What you can do");
    close_view(&v);
}

static void test_enter_opens_the_process_with_its_course_and_limits(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 120, 50, true);
    for (int i = 0; i < 30; i++) {
        struct snapshot *s = sim_machine_sample(&v.machine, GROUP_ALL);
        s->gpus[0].processes[0].limit.code = i < 10 ? LIMIT_DISK : LIMIT_POWER;
        top_sample(&v.top, s, NULL, false);
        clock_manual_advance_ms(&v.machine.clock, 1000);
    }
    top_key(&v.top, TOP_KEY_ENTER);
    assert_int_equal(v.top.mode, MODE_DETAILS);
    assert_shows(&v, "Limit        at the power limit 20s, waits for disk 10s");
    assert_shows(&v, "since ");
    static const char *const plots[] = {"Util         ⣿", "VRAM         ", "Power        "};
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++)
        assert_shows(&v, plots[i]);
    close_view(&v);
}

static void test_plots_can_be_blocks(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    sample(&v);
    assert_shows(&v, "⢸");
    keys(&v, "D");
    assert_hides(&v, "⢸");
    assert_shows(&v, "█ 9"); /* the newest value beside its number */
    assert_true(v.top.settings.blocks);
    close_view(&v);
}

static void test_idle_ones_and_other_users_can_be_hidden(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=mixed", 120, 40, true);
    assert_shows(&v, "Xorg");
    size_t all = v.top.row_count;
    keys(&v, "i");
    assert_hides(&v, "Xorg");
    assert_shows(&v, "idle ones hidden");
    keys(&v, "i");
    keys(&v, "u"); /* of the first row's user */
    assert_true(v.top.row_count < all);
    for (size_t i = 0; i < v.top.row_count; i++)
        assert_string_equal(v.top.rows[i].process->user, "ollama");
    keys(&v, "u");
    assert_int_equal(v.top.row_count, all);
    close_view(&v);
}

static struct top_request find_request(struct view *v, enum request_kind kind)
{
    struct top_request w;
    while ((w = top_next_request(&v->top)).kind != REQUEST_NOTHING)
        if (w.kind == kind)
            return w;
    return w;
}

static void test_left_goes_into_the_past_and_n_comes_back(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=game-start", 120, 40, true);
    for (int i = 0; i < 30; i++)
        sample(&v);
    int64_t now = v.top.now.ms;
    top_key(&v.top, TOP_KEY_LEFT);
    assert_true(v.top.cursor_ms && v.top.cursor_ms < now);
    assert_shows(&v, "PAST");
    for (int i = 0; i < 20; i++)
        top_key(&v.top, TOP_KEY_LEFT);
    assert_int_equal(v.top.cursor_ms, now - 30000); /* no further than what was seen */
    assert_ptr_not_equal(top_shown(&v.top), v.top.live);
    sample(&v);
    assert_int_equal(v.top.cursor_ms, now - 30000);
    keys(&v, "n");
    assert_ptr_equal(top_shown(&v.top), v.top.live);
    keys(&v, "g-10s");
    top_key(&v.top, TOP_KEY_ENTER);
    assert_int_equal(v.top.cursor_ms, v.top.now.ms - 10000);
    keys(&v, "gyesteryear");
    top_key(&v.top, TOP_KEY_ENTER);
    assert_shows(&v, "Not a time.");
    close_view(&v);
}

static void test_with_a_daemon_a_moment_is_asked_for(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 120, 40, true);
    v.top.daemon = true;
    keys(&v, "g-2h");
    top_key(&v.top, TOP_KEY_ENTER);
    struct top_request w = find_request(&v, REQUEST_AT);
    assert_int_equal(w.number, v.top.now.ms - 2 * 3600 * 1000);
    assert_shows(&v, "looking up");
    struct snapshot *then = sim_machine_sample(&v.machine, GROUP_ALL);
    then->taken_at.ms = w.number;
    top_moment(&v.top, w.number, then, why_explain(then, NULL), "");
    assert_shows(&v, "PAST");
    top_moment(&v.top, 12345, snapshot_ref(then), NULL, ""); /* an answer that came too late */
    assert_ptr_equal(top_shown(&v.top), then);
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_int_equal(v.top.cursor_ms, 0);
    close_view(&v);
}

static void test_a_moment_that_is_not_stored_is_empty_until_another_is_chosen(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 80, 24, true);
    v.top.daemon = true;
    keys(&v, "g-2h");
    top_key(&v.top, TOP_KEY_ENTER);
    int64_t at = find_request(&v, REQUEST_AT).number;
    struct top_missing missing = {at, at - 5000, at + 5000, false, "whirr was not running."};
    top_miss(&v.top, &missing);
    sample(&v);
    v.top.daemon = true;
    assert_shows(&v, "is not stored.");
    assert_shows(&v, "whirr was not running.");
    assert_hides(&v, "train.py");
    keys(&v, "d x/"); /* nothing is there to look at or to signal */
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_shows(&v, "is not stored.");
    keys(&v, "(");
    assert_int_equal(find_request(&v, REQUEST_AT).number, at - 5000);
    assert_shows(&v, "looking up");
    assert_hides(&v, "train.py");
    missing = (struct top_missing){.at_ms = at - 5000, .unanswered = true, .text = "The daemon's history did not answer."};
    top_miss(&v.top, &missing);
    assert_shows(&v, "can't be looked up.");
    keys(&v, ")");
    assert_shows(&v, "Nothing later is stored.");
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_ptr_equal(top_shown(&v.top), v.top.live);
    close_view(&v);
}

static void test_signals_need_rights_and_a_confirmation(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    v.top.read_only = true;
    keys(&v, "x");
    assert_shows(&v, "Read-only");
    assert_int_equal(v.top.mode, MODE_MAIN);
    v.top.read_only = false;
    keys(&v, "x"); /* asked once whether at all */
    assert_shows(&v, "Let top signal processes?");
    keys(&v, "n");
    assert_int_equal(v.top.mode, MODE_MAIN);
    assert_false(v.top.settings.act);
    keys(&v, "xy");
    assert_true(v.top.settings.act);
    assert_int_equal(v.top.mode, MODE_SIGNAL);
    keys(&v, "n");
    keys(&v, "x");
    assert_shows(&v, "alice, train-llama), running for");
    assert_shows(&v, "of VRAM is freed");
    keys(&v, "n");
    assert_int_equal(find_request(&v, REQUEST_SIGNAL).kind, REQUEST_NOTHING);
    keys(&v, "xy");
    struct top_request w = find_request(&v, REQUEST_SIGNAL);
    assert_int_equal(w.number, 15);
    assert_int_equal(w.pid, v.top.rows[0].process->pid);
    close_view(&v);
}

static void test_a_nice_value_is_changed_after_a_confirmation(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    top_key(&v.top, TOP_KEY_F1 + 7);
    assert_shows(&v, "by +1: other programs get the CPU first");
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_int_equal(find_request(&v, REQUEST_NICE).kind, REQUEST_NOTHING);
    for (int i = 0; i < 5; i++)
        top_key(&v.top, TOP_KEY_F1 + 7);
    keys(&v, "y");
    struct top_request w = find_request(&v, REQUEST_NICE);
    assert_int_equal(w.number, 5);
    assert_int_equal(w.pid, v.top.rows[0].process->pid);
    assert_int_equal(v.top.mode, MODE_MAIN);
    close_view(&v);
}

static void test_a_line_that_chooses_the_gpu_is_copied(void **state)
{
    (void)state;
    static const struct {
        const char *params, *keys, *line;
    } all[] = {
        {"gpus=2,vendor=nvidia", "[y", "CUDA_VISIBLE_DEVICES=GPU-"},
        {"gpus=4", "[[y", "HIP_VISIBLE_DEVICES=0"},
        {"gpus=4", "[y", "ZE_AFFINITY_MASK=0"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct view v;
        open_view(&v, all[i].params, 120, 40, true);
        keys(&v, all[i].keys);
        struct top_request w = find_request(&v, REQUEST_COPY);
        assert_memory_equal(w.text, all[i].line, strlen(all[i].line));
        close_view(&v);
    }
}

static void test_every_tagged_process_is_signaled(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=64,scenario=training", 100, 90, true);
    v.top.allow_signals = true;
    while (top_next_request(&v.top).kind != REQUEST_NOTHING)
        ;
    for (int i = 0; i < 64; i++)
        keys(&v, " ");
    keys(&v, "xy");
    size_t count = 0;
    for (struct top_request w; (w = top_next_request(&v.top)).kind != REQUEST_NOTHING;)
        count += w.kind == REQUEST_SIGNAL;
    assert_int_equal(count, 64);
    close_view(&v);
}

static void test_the_wheel_over_a_plot_turns_time(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    for (int i = 0; i < 20; i++)
        sample(&v);
    frame(&v);
    const struct zone *plot = NULL;
    for (size_t i = 0; i < v.top.zone_count && !plot; i++)
        plot = v.top.zones[i].kind == ZONE_TIME ? &v.top.zones[i] : NULL;
    assert_non_null(plot);
    int x = plot->x + 1, y = plot->y;
    top_mouse(&v.top, TOP_WHEEL_UP, x, y);
    top_mouse(&v.top, TOP_WHEEL_UP, x, y);
    assert_int_equal(v.top.cursor_ms, v.top.now.ms - 10000);
    top_mouse(&v.top, TOP_WHEEL_DOWN, x, y);
    top_mouse(&v.top, TOP_WHEEL_DOWN, x, y);
    assert_int_equal(v.top.cursor_ms, 0);
    close_view(&v);
}

static void test_dragging_over_a_plot_moves_through_time(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    for (int i = 0; i < 20; i++)
        sample(&v);
    frame(&v);
    struct zone plot = {0};
    for (size_t i = 0; i < v.top.zone_count && !plot.width; i++)
        if (v.top.zones[i].kind == ZONE_TIME)
            plot = v.top.zones[i];
    int64_t window = v.top.settings.window_ms;
    top_mouse(&v.top, TOP_DRAG, plot.x + 3, plot.y); /* pressed nowhere */
    assert_int_equal(v.top.cursor_ms, 0);
    top_mouse(&v.top, TOP_CLICK, plot.x + plot.width - 2, plot.y);
    assert_true(v.top.cursor_ms > 0);
    top_mouse(&v.top, TOP_DRAG, plot.x + plot.width - 3, plot.y + 9); /* off the plot, it still has the mouse */
    int64_t meant = v.top.now.ms - window + window * (plot.width - 2) / plot.width;
    assert_true(llabs(v.top.cursor_ms - meant) < 1000); /* at the sample that is nearest */
    top_mouse(&v.top, TOP_DRAG, 99, 0);
    assert_int_equal(v.top.cursor_ms, 0); /* the end is now */
    top_mouse(&v.top, TOP_CLICK, 0, 29);
    top_mouse(&v.top, TOP_DRAG, plot.x + 3, plot.y);
    assert_int_equal(v.top.cursor_ms, 0);
    close_view(&v);
}

static void test_the_command_of_the_advice_is_copied(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    struct why_part *part = &v.top.why->gpus[0];
    v.top.only = 0;
    part->suggestion_count = 0;
    keys(&v, "c");
    assert_shows(&v, "No command to copy.");
    part->suggestion_count = 2;
    str_copy(part->suggestions[0], WHY_LINE_SIZE, STR("Check the airflow: clean dust from the fan."));
    str_copy(part->suggestions[1], WHY_LINE_SIZE, STR("To make it quieter: sudo some-smi -i 0 -pl 350   (now 450 W)"));
    keys(&v, "c");
    assert_string_equal(find_request(&v, REQUEST_COPY).text, "sudo some-smi -i 0 -pl 350");
    str_copy(part->suggestions[0], WHY_LINE_SIZE, STR("Run `whirr doctor` and look."));
    keys(&v, "c");
    assert_string_equal(find_request(&v, REQUEST_COPY).text, "whirr doctor");
    close_view(&v);
}

static void test_groups_have_sums(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=multi-user", 120, 40, true);
    keys(&v, "tt");
    assert_shows(&v, "alice: 1 process");
    keys(&v, "t");
    assert_shows(&v, "Grouped by container.");
    close_view(&v);
}

static void test_the_tree_has_a_head_for_a_parent_without_a_gpu(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=training", 120, 40, true);
    keys(&v, "t");
    assert_shows(&v, "torchrun: 4 processes");
    assert_shows(&v, "├─ train.py · Llama");
    assert_shows(&v, "└─ train.py · Llama");
    /* Parents of each other, as a sample between two states may have them: no process is lost. */
    struct snapshot *odd = sim_machine_sample(&v.machine, GROUP_ALL);
    odd->gpus[0].processes[0].parent = odd->gpus[1].processes[0].pid;
    odd->gpus[1].processes[0].parent = odd->gpus[0].processes[0].pid;
    odd->gpus[2].processes[0].parent = odd->gpus[2].processes[0].pid;
    top_sample(&v.top, odd, NULL, false);
    size_t rows = 0;
    for (size_t i = 0; i < v.top.row_count; i++)
        rows += v.top.rows[i].process != NULL;
    assert_int_equal(rows, 4);
    frame(&v);
    close_view(&v);
}

static void test_the_usual_band_is_behind_the_temperature(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 120, 40, true);
    assert_hides(&v, "┈");
    v.top.why->gpus[0].usual.temp_low_mdegc = reading_ok(80000);
    v.top.why->gpus[0].usual.temp_high_mdegc = reading_ok(90000);
    assert_shows(&v, "┈┈┈┈┈┈");
    assert_shows(&v, "usual 80 to 90");
    v.top.badges[0].full_ms = 7200000;
    assert_shows(&v, "VRAM full in about 2h");
    assert_shows(&v, "2h ▸"); /* at the upper end of the plot */
    close_view(&v);
}

static void test_a_row_has_what_some_gpu_measures_and_a_panel_plots_it(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=training,model=h100", 120, 40, true);
    sample(&v);
    static const char *const shown[] = {"UTIL WORK   VRAM GiB",
                                        "MEM°",
                                        "POWER W",
                                        "MHz",
                                        "ENC",
                                        "DEC",
                                        "PCIe↓ ↑GB/s",
                                        "700/700",
                                        " busy",
                                        "PCIe 5.0 x16",
                                        "memory 2619 MHz",
                                        "work 9",
                                        "stock limit",
                                        "enc 0%  dec 0%",
                                        "↓ 3.",
                                        "GiB free",
                                        "slows at"};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        assert_shows(&v, shown[i]);
    assert_hides(&v, "HOT°"); /* no GPU here has one */
    assert_hides(&v, "FAN");
    assert_shows(&v, "GPU 0  H100");
    keys(&v, "[");
    assert_shows(&v, "GPU 3  H100"); /* the chosen one */
    close_view(&v);
    open_view(&v, "gpus=4,scenario=training,vendor=amd", 200, 40, true);
    assert_shows(&v, "HOT°");
    assert_hides(&v, "WORK");
    close_view(&v);
}

static void test_the_host_is_told_beside_now_only(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=training", 120, 40, true);
    struct snapshot *s = snapshot_copy(v.top.live);
    s->host.cpu_permille = reading_ok(310);
    s->host.cpu_count = reading_ok(32);
    s->host.mem_total_bytes = reading_ok(128LL << 30);
    s->host.mem_available_bytes = reading_ok(86LL << 30);
    top_sample(&v.top, s, NULL, false);
    assert_shows(&v, "SIMULATED   4 GPUs   ");
    assert_shows(&v, " W   CPU 31% of 32   RAM 42.0/128.0 GiB   driver nvidia ");
    struct snapshot *then = snapshot_copy(s); /* as a daemon's answer about a moment is made: of the newest sample */
    sample(&v);
    top_key(&v.top, TOP_KEY_LEFT);
    top_moment(&v.top, v.top.cursor_ms, then, NULL, "");
    assert_shows(&v, "PAST");
    assert_hides(&v, "CPU 31%");
    assert_hides(&v, "RAM 42");
    close_view(&v);
}

static void test_advice_is_whole_at_every_width(void **state)
{
    (void)state;
    static const int widths[] = {60, 80, 120};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct view v;
        open_view(&v, "gpus=4,scenario=overheat", widths[i], 24, true);
        const char *text = frame(&v), *at = strstr(text, "   Do ");
        assert_non_null(at);
        char words[1024] = "";
        for (size_t n = 0; *at && n + 1 < sizeof words && strncmp(at, "   # GPU", 8) != 0; at++)
            if (*at != ' ' && *at != '\n')
                words[n++] = *at;
        assert_non_null(strstr(words, "roomtemperature.")); /* its last words */
        close_view(&v);
    }
}

static void test_events_are_marked_and_visited(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=training", 160, 40, true);
    for (int i = 0; i < 60; i++)
        sample(&v);
    top_mark(&v.top, &(struct top_mark){
                         .at_ms = v.top.now.ms - v.top.settings.window_ms - 1, .gpu_index = 0, .bad = true, .text = "before"});
    assert_hides(&v, "▲"); /* it is left of the plots */
    v.top.mark_count = 0;
    top_mark(&v.top, &(struct top_mark){.at_ms = v.top.now.ms - 40000, .gpu_index = 1, .bad = true, .text = "XID 79 on GPU 1"});
    top_mark(&v.top, &(struct top_mark){.at_ms = v.top.now.ms - 20000, .gpu_index = 2, .text = "GPU 2 is back"});
    assert_shows(&v, "▲"); /* below the rows */
    assert_hides(&v, "XID 79");
    top_mark(&v.top, &(struct top_mark){.at_ms = v.top.now.ms, .gpu_index = 3, .text = "GPU 3 was plugged in"});
    assert_shows(&v, "◆ now"); /* beside the word */
    v.top.mark_count = 2;
    assert_hides(&v, " FAN"); /* none of them has one */
    keys(&v, "((");
    assert_int_equal(v.top.cursor_ms, v.top.now.ms - 40000);
    assert_shows(&v, "XID 79 on GPU 1");
    keys(&v, ")");
    assert_shows(&v, "GPU 2 is back");
    keys(&v, ")");
    assert_shows(&v, "No later event");
    close_view(&v);
}

static void test_nothing_is_not_unknown_in_a_plot(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=idle", 120, 60, false);
    for (int i = 0; i < 60; i++) {
        struct snapshot *s = sim_machine_sample(&v.machine, GROUP_ALL);
        s->gpus[0].pcie_rx_bytes_per_s = s->gpus[0].pcie_tx_bytes_per_s = reading_ok(0);
        top_sample(&v.top, s, NULL, false);
        clock_manual_advance_ms(&v.machine.clock, 1000);
    }
    const char *name = strstr(frame(&v), " PCIe   "), *below = name ? strchr(name, '\n') + 1 : "";
    size_t blanks = strspn(below, " ");
    assert_true(below[blanks] == '_' && blanks < 60); /* a line along the bottom, in the left half */
    close_view(&v);
}

static void test_details_have_energy_and_cost(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 120, 40, true);
    v.top.price_per_kwh = 0.3;
    v.top.currency = "EUR";
    keys(&v, "d");
    assert_int_equal(find_request(&v, REQUEST_DETAILS).pid, v.top.rows[0].process->pid);
    assert_shows(&v, "Started by   torchrun");
    assert_shows(&v, "less than 0.01 EUR, since");
    float *run = calloc(20, sizeof *run);
    struct top_details details = {.pid = v.top.rows[0].process->pid,
                                  .start_key = v.top.rows[0].process->start_key,
                                  .text = strdup("Command\tpython3 whole command\nEnvironment\tPATH=/bin\n\tTOKEN=***\n"),
                                  .slots = 10,
                                  .vram = run,
                                  .util = run + 10,
                                  .since_ms = v.top.now.ms - 3600000,
                                  .until_ms = v.top.now.ms,
                                  .energy_mj = 36000000000,
                                  .peak_bytes = 8LL << 30};
    top_details(&v.top, &details);
    assert_shows(&v, "10.00 kWh, 3.00 EUR, since");
    assert_shows(&v, "Command      python3 whole command");
    assert_shows(&v, "TOKEN=***");
    assert_shows(&v, "at most 8.0 GiB of VRAM");
    details = (struct top_details){.pid = 1, .text = strdup("Command\tof another one\n")}; /* an answer that came too late */
    top_details(&v.top, &details);
    assert_hides(&v, "of another one");
    close_view(&v);
}

static void test_details_have_what_a_model_server_says(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=kv-full", 160, 50, true);
    assert_shows(&v, "TOK/S");
    keys(&v, "d");
    assert_shows(&v, "requests running, ");
    assert_shows(&v, " waiting, KV cache 9");
    assert_shows(&v, " tokens/s");
    assert_shows(&v, "Answers      first token ");
    close_view(&v);
    open_view(&v, "gpus=1,scenario=training", 160, 50, true);
    keys(&v, "d");
    assert_hides(&v, "Answers");
    assert_hides(&v, "Requests");
    close_view(&v);
}

static void test_the_keys_at_the_bottom_are_those_of_the_view(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 120, 40, true);
    assert_shows(&v, "? help  Enter open  a act  ←→ time  / filter  s sort  t group  q quit");
    keys(&v, "2");
    assert_shows(&v, "? help  q quit  Esc back");
    keys(&v, "7");
    assert_shows(&v, "e evict  H hold");
    close_view(&v);
}

/* The tint of the first letter of that text on the screen. */
static enum tint tint_of(struct view *v, const char *text)
{
    frame(v);
    for (int y = 0; y < v->canvas.height; y++)
        for (int x = 0; x < v->canvas.width; x++) {
            size_t i = 0;
            while (text[i] && canvas_cell(&v->canvas, x + (int)i, y) &&
                   canvas_cell(&v->canvas, x + (int)i, y)->glyph == (uint32_t)text[i])
                i++;
            if (!text[i])
                return (enum tint)canvas_cell(&v->canvas, x, y)->tint;
        }
    fail_msg("'%s' is not on the screen", text);
    return TINT_PLAIN;
}

static void test_who_only_holds_memory_is_dim_and_says_how_long(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=multi-user", 200, 40, true);
    keys(&v, "k");
    assert_int_equal(tint_of(&v, "Jupyter kernel  "), TINT_PLAIN);
    for (int i = 0; i < 61; i++)
        sample(&v);
    assert_int_equal(tint_of(&v, "Jupyter kernel  "), TINT_DIM);
    assert_shows(&v, "IDLE");
    assert_int_equal(tint_of(&v, "gmx mdrun"), TINT_PLAIN);
    const struct gpu *gpu = &v.top.live->gpus[3];
    top_idle_since(&v.top, gpu->processes[0].pid, gpu->index, v.top.now.ms - 7200000); /* the history knows more */
    assert_shows(&v, "2h");
    close_view(&v);
}

static void test_clicks_hit_what_is_drawn(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=mixed", 120, 40, true);
    frame(&v);
    for (size_t i = 0; i < v.top.zone_count; i++)
        if (v.top.zones[i].kind == ZONE_SORT && top_columns[v.top.zones[i].number].sort && v.top.zones[i].number == COL_VRAM) {
            top_mouse(&v.top, TOP_CLICK, v.top.zones[i].x, v.top.zones[i].y);
            break;
        }
    assert_string_equal(v.top.settings.sort, "memory");
    assert_shows(&v, "VRAM▼");
    top_mouse(&v.top, TOP_CLICK, 20, 0); /* the second tab */
    assert_int_equal(v.top.tab, TAB_WHY);
    for (int i = 0; i < 2000; i++)
        top_mouse(&v.top, (enum top_mouse)(i % 4), i * 7 % 130, i * 13 % 45), frame(&v);
    close_view(&v);
}

static void test_signs_have_plain_forms(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=overheat", 80, 24, false);
    assert_shows(&v, "\n !");
    assert_shows(&v, "\n!  0 RTX");
    assert_shows(&v, "GPUv");
    keys(&v, "r");
    assert_shows(&v, "GPU^");
    close_view(&v);
}

static void test_pause_holds_the_screen(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=bursty", 80, 24, true);
    keys(&v, "p");
    const struct snapshot *before = v.top.live;
    sample(&v);
    assert_ptr_equal(v.top.live, before);
    assert_shows(&v, "PAUSED");
    keys(&v, "p");
    sample(&v);
    assert_ptr_not_equal(v.top.live, before);
    close_view(&v);
}

static void test_settings_survive_a_round_trip(void **state)
{
    (void)state;
    struct top_settings written = top_defaults, read = top_defaults;
    str_copy(written.theme, sizeof written.theme, STR("blind"));
    str_copy(written.sort, sizeof written.sort, STR("memory"));
    written.window_ms = 3600000;
    written.group = GROUPED_MODEL;
    written.metric = TRAIL_TEMP;
    written.columns = 1U << COL_PID | 1U << COL_VRAM;
    written.off[SETUP_GPUS] = 1U << ROW_BAR | 1U << ROW_FAN;
    written.off[SETUP_PLOTS] = 1U << TRAIL_ENCODER;
    written.off[SETUP_HOST] = 1U << FIELD_SWAP;
    written.reverse = written.compute_only = written.hide_idle = written.blocks = written.act = true;
    struct buf text = BUF(4096);
    prefs_write(&written, &text);
    prefs_read(buf_view(&text), &read);
    assert_memory_equal(&read, &written, sizeof read);
    buf_done(&text);
    prefs_read(STR("theme = 7\nsort = \"nonsense\"\ncolumns = [1]\nwindow = \"2h\""), &read);
    assert_memory_equal(&read, &written, sizeof read);
    prefs_read(STR("not toml at all ["), &read);
    assert_memory_equal(&read, &written, sizeof read);
}

static void test_columns_are_moved_and_stay_so(void **state)
{
    (void)state;
    struct view v;
    struct top_settings read = top_defaults;
    struct buf text = BUF(4096), again = BUF(4096);
    open_view(&v, "gpus=4,scenario=training", 120, 40, true);
    assert_shows(&v, "GPU▼     PID USER");
    keys(&v, "oJJJKo");
    assert_shows(&v, "    PID USER     GPU▼");
    prefs_write(&v.top.settings, &text);
    prefs_read(buf_view(&text), &read);
    prefs_write(&read, &again);
    assert_string_equal(again.at, text.at);
    assert_non_null(strstr(text.at, "\"pid\", \"user\", \"gpu\""));
    buf_done(&text);
    buf_done(&again);
    keys(&v, "oro");
    assert_shows(&v, "GPU▼     PID USER");
    close_view(&v);
}

static void test_reasons_and_limits_are_whole_at_120_columns(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=late-rank", 120, 40, true);
    struct gpu *gpu = (struct gpu *)&v.top.live->gpus[0]; /* the sample is this test's */
    gpu->processes[0].limit.code = LIMIT_NETWORK_FS;
    assert_shows(&v, " waits for a network file system\n");         /* of the GPU, at the end of its row */
    assert_shows(&v, " waits for a network file system train.py "); /* of the process */
    close_view(&v);
}

static size_t saves(struct top *t)
{
    size_t found = 0;
    for (struct top_request r; (r = top_next_request(t)).kind != REQUEST_NOTHING;)
        found += r.kind == REQUEST_SAVE;
    return found;
}

static void test_keys_of_nvitop_open_the_dialog_with_their_signal(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    v.top.settings.act = true;
    keys(&v, "K");
    assert_int_equal(v.top.mode, MODE_SIGNAL);
    assert_string_equal(top_signals[v.top.choice].name, "KILL");
    keys(&v, "nI");
    assert_string_equal(top_signals[v.top.choice].name, "INT");
    keys(&v, "nT");
    assert_string_equal(top_signals[v.top.choice].name, "TERM");
    keys(&v, "n");
    v.top.settings.act = false; /* the first time consent comes before it */
    keys(&v, "Ky");
    assert_string_equal(top_signals[v.top.choice].name, "KILL");
    close_view(&v);
}

static void test_a_key_without_a_meaning_says_so(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 100, 30, true);
    keys(&v, "Q");
    assert_shows(&v, "Q does nothing here; ? lists the keys.");
    keys(&v, "9");
    assert_shows(&v, "There is no view 9 here.");
    keys(&v, "E");
    assert_shows(&v, "worker under guard");
    keys(&v, "a");
    assert_shows(&v, "send a signal; I INT, T TERM, K KILL");
    keys(&v, "n");
    keys(&v, "L");
    assert_string_equal(find_request(&v, REQUEST_COPY).text, "whirr set power 490W --gpu 0 --for 2h");
    close_view(&v);
}

static void test_rows_have_fans(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=multi-user,model=rtx4090", 80, 24, true);
    assert_shows(&v, " FAN WHY");
    close_view(&v);
}

static void test_what_has_no_plot_is_in_one_line_with_bars(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training,model=rtx4090", 80, 20, true);
    assert_shows(&v, "Fan ███▏░ 6");
    assert_shows(&v, "Enc ░░░░░ 0%   Dec ░░░░░ 0%");
    assert_hides(&v, "Temp ███");
    close_view(&v);
}

static void test_the_window_grows_to_the_longest_and_shrinks_to_the_shortest(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=training", 80, 24, true);
    while (v.top.settings.window_ms < top_windows_ms[top_window_count - 1]) {
        int64_t before = v.top.settings.window_ms;
        keys(&v, "w");
        assert_true(v.top.settings.window_ms > before);
    }
    assert_hides(&v, "longest window");
    keys(&v, "w");
    assert_shows(&v, "That is the longest window.");
    for (size_t i = 1; i < top_window_count; i++)
        keys(&v, "-");
    assert_int_equal(v.top.settings.window_ms, top_windows_ms[0]);
    keys(&v, "-");
    assert_shows(&v, "That is the shortest window.");
    assert_int_equal(v.top.settings.window_ms, top_windows_ms[0]);
    close_view(&v);
}

static void test_setup_leaves_out_what_is_not_wanted(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=4,scenario=training", 120, 40, true);
    assert_shows(&v, "POWER W");
    assert_shows(&v, "4 GPUs   2"); /* 2800 W */
    saves(&v.top);
    top_key(&v.top, TOP_KEY_F1 + 1);
    assert_shows(&v, "[x] USER");
    for (int i = 0; i < COL_USER; i++)
        top_key(&v.top, TOP_KEY_DOWN);
    top_key(&v.top, ' ');
    assert_shows(&v, "[ ] USER");
    assert_int_equal(saves(&v.top), 0); /* W alone saves */
    top_key(&v.top, 'W');
    assert_int_equal(saves(&v.top), 1);
    top_key(&v.top, TOP_KEY_TAB);
    for (int i = 0; i < ROW_POWER; i++)
        top_key(&v.top, 'j');
    top_key(&v.top, TOP_KEY_ENTER);
    top_key(&v.top, TOP_KEY_TAB); /* plots */
    top_key(&v.top, TOP_KEY_TAB);
    top_key(&v.top, ' '); /* the power of all GPUs */
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_int_equal(saves(&v.top), 0);
    assert_hides(&v, "POWER W");
    assert_hides(&v, "USER ");
    assert_hides(&v, "4 GPUs   2");
    top_key(&v.top, 'o'); /* where it was left */
    top_key(&v.top, 'r');
    top_key(&v.top, TOP_KEY_BACK_TAB);
    top_key(&v.top, TOP_KEY_BACK_TAB);
    top_key(&v.top, 'r');
    top_key(&v.top, 'q');
    assert_shows(&v, "POWER W");
    close_view(&v);
}

static void test_setup_takes_clicks_and_values(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=2,scenario=training", 80, 24, true);
    top_key(&v.top, 'o');
    assert_shows(&v, "Process columns");
    for (size_t i = 0; i < v.top.zone_count; i++)
        if (v.top.zones[i].kind == ZONE_SETUP && v.top.zones[i].number == -1 - SETUP_LOOK) {
            top_mouse(&v.top, TOP_CLICK, v.top.zones[i].x + 3, v.top.zones[i].y);
            break;
        }
    assert_shows(&v, "Signals and nice values");
    top_key(&v.top, ' ');
    assert_string_equal(v.top.settings.theme, "blind");
    for (size_t i = 0; i < top_window_count; i++) { /* round and round */
        v.top.choice = 3;
        top_key(&v.top, ' ');
    }
    assert_int_equal(v.top.settings.window_ms, top_defaults.window_ms);
    v.top.choice = 7;
    top_key(&v.top, ' ');
    assert_true(v.top.settings.act);
    v.top.read_only = true;
    v.top.settings.act = false;
    top_key(&v.top, ' ');
    assert_false(v.top.settings.act);
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_int_equal(v.top.mode, MODE_MAIN);
    close_view(&v);
}

static void test_no_gpu_says_so(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=1,scenario=idle", 80, 24, true);
    struct snapshot *none = snapshot_new(0);
    none->taken_at.ms = v.top.now.ms + 1000;
    top_sample(&v.top, none, NULL, false);
    assert_shows(&v, "No GPU was found on this host.");
    close_view(&v);
}

/* Figures that no GPU has are not 0: neither in the list of hosts nor above the heat map. */
static void test_sums_of_what_is_not_known_are_dashes(void **state)
{
    (void)state;
    struct view v;
    open_view(&v, "gpus=64,scenario=training", 120, 40, true);
    assert_shows(&v, " kW  ");
    struct snapshot *s = sim_machine_sample(&v.machine, GROUP_ALL);
    for (size_t i = 0; i < s->gpu_count; i++)
        s->gpus[i].power_mw = s->gpus[i].util_permille = s->gpus[i].mem_used_bytes = reading_absent(READING_DENIED);
    top_sample(&v.top, s, NULL, false);
    assert_shows(&v, "64 GPUs  ");
    assert_hides(&v, "64 GPUs  0 W");
    const struct top *hosts[] = {&v.top, &v.top};
    v.top.hosts = hosts;
    v.top.host_count = 2;
    keys(&v, "8");
    assert_shows(&v, "HOST                  BUSY    POWER            VRAM   TEMP  WHY");
    assert_shows(&v, "this host");
    const char *line = strstr(v.text.at, "this host");
    char row[60];
    str_copy(row, sizeof row, str_from(line));
    assert_null(strstr(row, "0 W"));
    assert_null(strstr(row, "0/64"));
    v.top.hosts = NULL;
    v.top.host_count = 0;
    close_view(&v);
}

static void a_process_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    struct top t;
    struct snapshot *with = snapshot_new(1), *without = snapshot_new(1);
    top_init(&t, &top_defaults);
    const struct process *p = gpu_add_process(&with->gpus[0], 7);
    top_watch_busy(&t, with);
    assert_non_null(top_seen(&t, &with->gpus[0], p));
    top_watch_busy(&t, without);
    assert_null(top_seen(&t, &with->gpus[0], p));
    top_done(&t);
    snapshot_unref(with);
    snapshot_unref(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sums_of_what_is_not_known_are_dashes),
        TEST(test_every_size_and_number_of_gpus_is_drawn),
        TEST(test_a_paused_picture_stays_as_it_is),
        TEST(test_sixteen_gpus_have_a_row_each_in_80x24),
        TEST(test_64_gpus_are_a_heat_map),
        TEST(test_jobs_have_a_plot_where_there_is_room),
        TEST(test_a_process_outside_of_a_job_has_its_own_row),
        TEST(test_where_each_gpu_has_no_cell_several_share_one),
        TEST(test_a_headline_ends_with_a_sentence_and_numbers_keep_their_unit),
        TEST(test_a_small_screen_has_a_row_and_a_word_for_each_gpu),
        TEST(test_a_lost_gpu_keeps_its_row_with_the_reason),
        TEST(test_the_filter_works_while_it_is_typed),
        TEST(test_the_worst_finding_has_a_key_and_esc_comes_back),
        TEST(test_enter_opens_the_process_with_its_course_and_limits),
        TEST(test_plots_can_be_blocks),
        TEST(test_idle_ones_and_other_users_can_be_hidden),
        TEST(test_a_nice_value_is_changed_after_a_confirmation),
        TEST(test_a_line_that_chooses_the_gpu_is_copied),
        TEST(test_left_goes_into_the_past_and_n_comes_back),
        TEST(test_with_a_daemon_a_moment_is_asked_for),
        TEST(test_a_moment_that_is_not_stored_is_empty_until_another_is_chosen),
        TEST(test_signals_need_rights_and_a_confirmation),
        TEST(test_every_tagged_process_is_signaled),
        TEST(test_the_wheel_over_a_plot_turns_time),
        TEST(test_dragging_over_a_plot_moves_through_time),
        TEST(test_the_command_of_the_advice_is_copied),
        TEST(test_groups_have_sums),
        TEST(test_the_tree_has_a_head_for_a_parent_without_a_gpu),
        TEST(test_the_usual_band_is_behind_the_temperature),
        TEST(test_a_row_has_what_some_gpu_measures_and_a_panel_plots_it),
        TEST(test_the_host_is_told_beside_now_only),
        TEST(test_advice_is_whole_at_every_width),
        TEST(test_events_are_marked_and_visited),
        TEST(test_nothing_is_not_unknown_in_a_plot),
        TEST(test_details_have_energy_and_cost),
        TEST(test_details_have_what_a_model_server_says),
        TEST(test_the_keys_at_the_bottom_are_those_of_the_view),
        TEST(test_who_only_holds_memory_is_dim_and_says_how_long),
        TEST(test_clicks_hit_what_is_drawn),
        TEST(test_signs_have_plain_forms),
        TEST(test_pause_holds_the_screen),
        TEST(test_settings_survive_a_round_trip),
        TEST(test_columns_are_moved_and_stay_so),
        TEST(test_reasons_and_limits_are_whole_at_120_columns),
        TEST(test_keys_of_nvitop_open_the_dialog_with_their_signal),
        TEST(test_a_key_without_a_meaning_says_so),
        TEST(test_rows_have_fans),
        TEST(test_what_has_no_plot_is_in_one_line_with_bars),
        TEST(test_the_window_grows_to_the_longest_and_shrinks_to_the_shortest),
        TEST(test_setup_leaves_out_what_is_not_wanted),
        TEST(test_setup_takes_clicks_and_values),
        TEST(a_process_that_is_gone_is_forgotten),
        TEST(test_no_gpu_says_so),
    };
    return RUN_TESTS(tests);
}
