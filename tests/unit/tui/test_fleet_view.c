/* SPDX-License-Identifier: Apache-2.0
 * All hosts of a fleet in the live view: answers, keys and clicks in, frames as text out.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "tui/draw.h"
#include "tui/fleet_rows.h"
#include "tui/theme.h"

struct view {
    struct top top;
    struct canvas canvas;
    struct buf text;
};

/* Four hosts with a GPU and a process each; the one in the place `lost` has lost its GPU. */
static void answer(struct view *v, int lost)
{
    enum { HOSTS = 4 };
    struct fleet f = {.gpus = calloc(HOSTS, sizeof *f.gpus), .processes = calloc(HOSTS, sizeof *f.processes)};
    assert_true(f.gpus && f.processes);
    f.gpu_count = f.process_count = HOSTS;
    for (int i = 0; i < HOSTS; i++) {
        struct fleet_gpu *g = &f.gpus[i];
        *g = (struct fleet_gpu){.gpu = "0", .name = "H100", .up = i != lost, .free_bytes = reading_ok((int64_t)(i + 1) << 30)};
        snprintf(g->host, sizeof g->host, "node%d", i);
        snprintf(g->uuid, sizeof g->uuid, "GPU-%d", i);
        struct fleet_process *p = &f.processes[i];
        *p = (struct fleet_process){.gpu = "0", .process = "train.py", .mem_bytes = reading_ok((int64_t)1 << 30)};
        snprintf(p->host, sizeof p->host, "node%d", i);
        snprintf(p->user, sizeof p->user, "user%d", i);
    }
    assert_int_equal(fleet_index(&f), 0);
    fleet_settle(&f);
    top_fleet_take(&v->top, &f, (struct wall){1700000000000});
}

static void open_view(struct view *v)
{
    *v = (struct view){.text = BUF(1 << 20)};
    top_init(&v->top, &top_defaults);
    v->top.fleet = top_fleet_new();
    v->top.tab = TAB_HOSTS;
    assert_non_null(v->top.fleet);
    top_resize(&v->top, 100, 12);
    assert_int_equal(canvas_resize(&v->canvas, 100, 12), 0);
}

static void close_view(struct view *v)
{
    top_done(&v->top);
    canvas_done(&v->canvas);
    buf_done(&v->text);
}

static const char *frame(struct view *v)
{
    buf_done(&v->text);
    v->text = BUF(1 << 20);
    draw_frame(&v->top, &v->canvas);
    canvas_write(&v->canvas, &v->text);
    return v->text.at;
}

static void assert_shows(struct view *v, const char *part)
{
    if (!strstr(frame(v), part))
        fail_msg("'%s' is not in\n%s", part, v->text.at);
}

static const char *chosen(const struct view *v)
{
    return fleet_row_host(&v->top.fleet->rows[v->top.selected]);
}

static void test_before_an_answer_it_asks_and_says_what_fails(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    assert_shows(&v, "Asking...");
    top_trouble(&v.top, "the database is away");
    assert_shows(&v, "the database is away");
    answer(&v, 2);
    assert_null(strstr(frame(&v), "away"));
    top_trouble(&v.top, "the database is away again");
    assert_shows(&v, "away again");
    assert_shows(&v, "node2");
    close_view(&v);
}

static void test_the_worst_is_first_and_the_selection_stays_with_its_host(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    answer(&v, 2);
    assert_string_equal(chosen(&v), "node2");
    top_key(&v.top, 'j');
    assert_string_equal(chosen(&v), "node0");
    answer(&v, 0);
    assert_string_equal(chosen(&v), "node0");
    assert_int_equal(v.top.selected, 0);
    close_view(&v);
}

static void test_a_host_is_opened_and_its_command_copied(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    answer(&v, 2);
    top_key(&v.top, TOP_KEY_DOWN);
    top_key(&v.top, TOP_KEY_ENTER);
    assert_shows(&v, "node0, one of 4 hosts");
    assert_shows(&v, "train.py");
    assert_shows(&v, "PROCESS");
    assert_null(strstr(frame(&v), "node1"));
    top_key(&v.top, 'c');
    assert_shows(&v, "Copied: whirr --host node0 top");
    struct top_request w = top_next_request(&v.top);
    assert_int_equal(w.kind, REQUEST_COPY);
    assert_string_equal(w.text, "whirr --host node0 top");
    top_key(&v.top, TOP_KEY_BACKSPACE);
    assert_shows(&v, "node3");
    assert_string_equal(chosen(&v), "node0");
    close_view(&v);
}

static void test_the_filter_begins_at_the_first_match(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    answer(&v, 2);
    top_key(&v.top, 'G');
    for (const char *key = "/USER"; *key; key++)
        top_key(&v.top, *key);
    assert_int_equal(v.top.row_count, 4);
    assert_string_equal(chosen(&v), "node2");
    top_key(&v.top, '1');
    assert_shows(&v, "filter: USER1");
    assert_int_equal(v.top.row_count, 1);
    assert_string_equal(chosen(&v), "node1");
    top_key(&v.top, TOP_KEY_ESCAPE);
    assert_int_equal(v.top.row_count, 4);
    close_view(&v);
}

static void test_clicks_choose_tabs_rows_and_keys(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    answer(&v, 2);
    frame(&v);
    for (size_t i = 0; i < v.top.zone_count; i++)
        if (v.top.zones[i].kind == ZONE_PART && v.top.zones[i].number == FLEET_PART_FREE) {
            top_mouse(&v.top, TOP_CLICK, v.top.zones[i].x, v.top.zones[i].y);
            break;
        }
    assert_int_equal(v.top.fleet->part, FLEET_PART_FREE);
    assert_int_equal(v.top.row_count, 3); /* a lost one has no room */
    assert_string_equal(chosen(&v), "node3");
    frame(&v);
    top_mouse(&v.top, TOP_CLICK, 3, 5);
    assert_string_equal(chosen(&v), "node1");
    top_mouse(&v.top, TOP_CLICK, 3, 5);
    assert_shows(&v, "node1, one of 4 hosts");
    close_view(&v);
}

static void test_the_views_of_this_host_are_beside_it(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    answer(&v, 2);
    assert_shows(&v, "Overview  Why");
    top_key(&v.top, '3');
    struct top_request w = top_next_request(&v.top);
    assert_int_equal(w.kind, REQUEST_VIEW);
    assert_int_equal(w.number, TAB_ALERTS);
    top_key(&v.top, TOP_KEY_TAB);
    assert_int_equal(top_next_request(&v.top).number, TAB_OVERVIEW);
    assert_int_equal(v.top.tab, TAB_HOSTS);
    top_key(&v.top, 'V');
    assert_int_equal(v.top.fleet->part, FLEET_PART_PROCESSES);
    top_key(&v.top, 'v');
    assert_int_equal(v.top.fleet->part, FLEET_PART_HOSTS);

    struct top own; /* ... and it beside those */
    top_init(&own, &top_defaults);
    assert_int_equal(top_tab_count(&own), TAB_HOSTS);
    own.has_fleet = true;
    assert_int_equal(top_tab_count(&own), TAB_COUNT);
    top_key(&own, '8');
    w = top_next_request(&own);
    assert_int_equal(w.kind, REQUEST_VIEW);
    assert_int_equal(w.number, TAB_HOSTS);
    assert_int_equal(own.tab, TAB_OVERVIEW);
    top_done(&own);
    close_view(&v);
}

static void test_held_gpus_have_a_list_of_their_own(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    answer(&v, -1);
    v.top.fleet->fleet.gpus[2].state = FLEET_HELD;
    top_key(&v.top, 'v');
    assert_int_equal(v.top.fleet->part, FLEET_PART_HELD);
    assert_shows(&v, "node2");
    assert_int_equal(v.top.row_count, 1);
    top_key(&v.top, 'v');
    assert_int_equal(v.top.fleet->part, FLEET_PART_FREE);
    assert_int_equal(v.top.row_count, 4);
    close_view(&v);
}

/* Themes, the end and help are those of one host; what is about one host's processes and past does nothing here. */
static void test_keys_of_one_host_do_nothing(void **state)
{
    (void)state;
    struct view v;
    open_view(&v);
    v.top.allow_signals = true;
    answer(&v, 2);
    char *before = strdup(frame(&v));
    for (const char *key = "xdi gfpnwmtCoF<>[](){}hl8eHR"; *key; key++)
        top_key(&v.top, *key);
    top_key(&v.top, TOP_KEY_LEFT);
    assert_shows(&v, "All hosts are shown as of now");
    top_key(&v.top, 'd');
    assert_shows(&v, "That key is for one host");
    top_key(&v.top, TOP_KEY_UP); /* takes the words away */
    assert_string_equal(frame(&v), before);
    assert_int_equal(v.top.request_count, 0);
    free(before);
    top_key(&v.top, '?');
    assert_shows(&v, "GPUs that are held but idle");
    assert_shows(&v, "+- Keys -");
    top_key(&v.top, 'q');
    top_key(&v.top, 'T'); /* another theme, which only W saves */
    assert_string_equal(v.top.settings.theme, theme_after(top_defaults.theme));
    top_key(&v.top, 'W');
    assert_int_equal(top_next_request(&v.top).kind, REQUEST_SAVE);
    top_key(&v.top, 'q');
    assert_int_equal(top_next_request(&v.top).kind, REQUEST_END);
    close_view(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_before_an_answer_it_asks_and_says_what_fails),
        TEST(test_the_worst_is_first_and_the_selection_stays_with_its_host),
        TEST(test_a_host_is_opened_and_its_command_copied),
        TEST(test_the_filter_begins_at_the_first_match),
        TEST(test_clicks_choose_tabs_rows_and_keys),
        TEST(test_the_views_of_this_host_are_beside_it),
        TEST(test_held_gpus_have_a_list_of_their_own),
        TEST(test_keys_of_one_host_do_nothing),
    };
    return RUN_TESTS(tests);
}
