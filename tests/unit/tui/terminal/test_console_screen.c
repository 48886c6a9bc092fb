/* SPDX-License-Identifier: Apache-2.0
 * The screen of Windows on a console that is played here: what is typed in, what is written, and what is left behind.
 */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os/console.h"
#include "port/windows/screen.h"
#include "tui/terminal/paint.h"
#include "tui/terminal/screen.h"
#include "tui/terminal/terminal.h"
#include "tui/top.h"

enum { TEXT_MAX = 1 << 16, PLAYED_MAX = 64, WIDTH = 20, HEIGHT = 3 };

static struct console_event events[PLAYED_MAX];
static size_t first, count;
static struct buf written = {.max = TEXT_MAX};
static const char *at_end;
static bool refuses;
static enum console_kind kind;
static struct console_cell shown[WIDTH * HEIGHT];
static int columns = 80, rows = 24;

int console_begin(bool mouse, const char *restore)
{
    (void)mouse;
    at_end = restore;
    return refuses ? -ENOTTY : (int)kind;
}

void console_end(void)
{
    console_write(at_end, strlen(at_end));
}

void console_write(const char *text, size_t len)
{
    buf_str(&written, (struct str){text, len});
}

void console_show(const struct console_cell *cells, int width, int height)
{
    assert_true(width == WIDTH && height == HEIGHT);
    memcpy(shown, cells, sizeof shown);
}

bool console_size(int *ret_columns, int *ret_rows)
{
    *ret_columns = columns;
    *ret_rows = rows;
    return true;
}

bool console_wait(const int *sockets, size_t sockets_count, int timeout_ms)
{
    (void)sockets;
    (void)sockets_count;
    (void)timeout_ms;
    return true;
}

struct console_event console_next(void)
{
    return first < count ? events[first++] : (struct console_event){0};
}

size_t console_pending(void)
{
    return count - first;
}

static void play(const struct console_event *what, size_t many)
{
    assert_true(many <= PLAYED_MAX);
    memcpy(events, what, many * sizeof *what);
    first = 0;
    count = many;
}

static const char *take_written(void)
{
    static char text[TEXT_MAX];
    str_copy(text, sizeof text, buf_view(&written));
    written.len = 0;
    return text;
}

static void open_screen(void)
{
    assert_int_equal(screen_open(true, true, false, "default", true), 0);
}

static void test_it_takes_the_other_screen_and_gives_it_back(void **state)
{
    (void)state;
    open_screen();
    assert_string_equal(take_written(), "\033[?1049h\033[?25l");
    screen_close();
    assert_string_equal(take_written(), "\033[m\033[?25h\033[?1049l");
    screen_close();
    assert_string_equal(take_written(), "");
    refuses = true;
    assert_int_equal(screen_open(true, true, false, "default", true), -ENOTTY);
    refuses = false;
}

static void test_only_what_changed_is_written(void **state)
{
    (void)state;
    struct canvas c = {.utf8 = true};
    assert_int_equal(canvas_resize(&c, WIDTH, HEIGHT), 0);
    open_screen();
    take_written();
    canvas_text(&c, 0, 0, WIDTH, TINT_PLAIN, "71 °C");
    canvas_text(&c, 4, 2, WIDTH, TINT_BAD, "▲");
    screen_show(&c);
    assert_string_equal(take_written(), "\033[m\033[H\033[2J71 °C\033[3d\b\033[38;2;255;95;95m▲");
    screen_show(&c);
    assert_string_equal(take_written(), "");
    canvas_text(&c, 0, 0, WIDTH, TINT_PLAIN, "72 °C");
    screen_show(&c);
    assert_string_equal(take_written(), "\033[1;2H\033[m2");
    screen_redraw();
    screen_show(&c);
    assert_non_null(strstr(take_written(), "\033[2J72 °C"));
    screen_close();
    canvas_done(&c);
}

static void test_a_console_without_sequences_gets_cells(void **state)
{
    (void)state;
    struct canvas c = {.utf8 = true};
    assert_int_equal(canvas_resize(&c, WIDTH, HEIGHT), 0);
    kind = CONSOLE_CELLS;
    take_written();
    open_screen();
    canvas_text(&c, 0, 0, WIDTH, TINT_PLAIN, "71 °日");
    canvas_text(&c, 4, 2, WIDTH, TINT_BAD, "▲");
    canvas_flag(&c, 0, 0, 1, CELL_REVERSE);
    canvas_flag(&c, 1, 0, 1, CELL_BOLD);
    screen_show(&c);
    static const unsigned glyphs[] = {'7', '1', ' ', 0xb0, 0x65e5, 0, ' '};
    for (size_t i = 0; i < ARRAY_LEN(glyphs); i++)
        assert_int_equal(shown[i].glyph, glyphs[i]);
    assert_true(shown[0].reverse && !shown[1].reverse && shown[0].color == -1 && shown[1].color == 15);
    const struct console_cell *sign = &shown[2 * WIDTH + 4];
    assert_true(sign->glyph == 0x25b2 && sign->color == 1);
    screen_copy("text"); /* there is no way into its clipboard */
    assert_string_equal(take_written(), "");
    screen_close();
    take_written();
    assert_int_equal(screen_open(false, false, false, "default", true), 0);
    screen_show(&c);
    assert_true(shown[3].glyph == '?' && shown[5].glyph == 0 && sign->color == 15 && shown[0].color == -1);
    screen_close();
    take_written();
    kind = CONSOLE_SEQUENCES;
    canvas_done(&c);
}

static void test_keys_have_their_meaning(void **state)
{
    (void)state;
    static const struct {
        struct console_event typed;
        int key;
    } cases[] = {
        {{CONSOLE_KEY, .key = 'Q', .unit = 'q'}, 'q'},
        {{CONSOLE_KEY, .key = 0x0d, .unit = '\r'}, TOP_KEY_ENTER},
        {{CONSOLE_KEY, .key = 0x1b, .unit = 27}, TOP_KEY_ESCAPE},
        {{CONSOLE_KEY, .key = 0x08, .unit = 8}, TOP_KEY_BACKSPACE},
        {{CONSOLE_KEY, .key = 0x09, .unit = '\t'}, TOP_KEY_TAB},
        {{CONSOLE_KEY, .key = 0x09, .unit = '\t', .shift = true}, TOP_KEY_BACK_TAB},
        {{CONSOLE_KEY, .key = 0x21}, TOP_KEY_PAGE_UP},
        {{CONSOLE_KEY, .key = 0x22}, TOP_KEY_PAGE_DOWN},
        {{CONSOLE_KEY, .key = 0x23}, TOP_KEY_END},
        {{CONSOLE_KEY, .key = 0x24}, TOP_KEY_HOME},
        {{CONSOLE_KEY, .key = 0x25}, TOP_KEY_LEFT},
        {{CONSOLE_KEY, .key = 0x26}, TOP_KEY_UP},
        {{CONSOLE_KEY, .key = 0x27}, TOP_KEY_RIGHT},
        {{CONSOLE_KEY, .key = 0x28}, TOP_KEY_DOWN},
        {{CONSOLE_KEY, .key = 0x70}, TOP_KEY_F1},
        {{CONSOLE_KEY, .key = 0x79}, TOP_KEY_F10},
        {{CONSOLE_KEY, .key = 0x26, .unit = '('}, '('}, /* a letter that another program sent with that code */
        {{CONSOLE_KEY, .key = 0x10}, 0},                /* Shift alone */
        {{CONSOLE_KEY, .key = 'E', .unit = 0xe9}, 0xe9},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        play(&cases[i].typed, 1);
        struct screen_event e = screen_next();
        assert_int_equal(e.kind, SCREEN_KEY);
        assert_int_equal(e.key, cases[i].key);
        assert_int_equal(screen_next().kind, SCREEN_NOTHING);
    }
    play((struct console_event[]){{CONSOLE_KEY, .unit = 0xd83d}, {CONSOLE_KEY, .unit = 0xde00}, {CONSOLE_KEY, .unit = 0xde00}}, 3);
    assert_int_equal(screen_next().key, 0);
    assert_int_equal(screen_next().key, 0x1f600);
    assert_int_equal(screen_next().key, 0); /* half of a character */
}

static void test_ctrl_c_ends_it(void **state)
{
    (void)state;
    open_screen();
    assert_int_equal(screen_signal(), 0);
    play(&(struct console_event){CONSOLE_KEY, .key = 'C', .unit = 3}, 1);
    assert_int_equal(screen_next().key, 0);
    assert_int_equal(screen_signal(), SIGINT);
    screen_close();
    open_screen();
    assert_int_equal(screen_signal(), 0);
    raise(SIGTERM); /* the window is closed */
    assert_int_equal(screen_signal(), SIGTERM);
    screen_close();
}

static void test_what_is_pasted_is_no_command(void **state)
{
    (void)state;
    struct console_event many[30];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (struct console_event){CONSOLE_KEY, .key = 'Q', .unit = 'q'};
    play(many, ARRAY_LEN(many));
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        assert_int_equal(screen_next().key, 0);
    assert_int_equal(screen_next().kind, SCREEN_NOTHING);
    play(many, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(screen_next().key, 'q');
}

static void test_a_window_that_changes_without_a_word_is_noticed(void **state)
{
    (void)state;
    int width, height;
    screen_size(&width, &height);
    assert_true(width == 80 && height == 24);
    assert_int_equal(screen_next().kind, SCREEN_NOTHING);
    columns = 100;
    assert_int_equal(screen_next().kind, SCREEN_RESIZE);
    assert_int_equal(screen_next().kind, SCREEN_NOTHING);
    columns = 80;
    screen_size(&width, &height);
}

static void test_the_mouse_and_the_size(void **state)
{
    (void)state;
    static const struct console_event moves[] = {
        {CONSOLE_MOUSE, .pressed = true, .x = 7, .y = 2},
        {CONSOLE_MOUSE, .pressed = true, .moved = true, .x = 8, .y = 2},
        {CONSOLE_MOUSE, .x = 8, .y = 2},
        {CONSOLE_MOUSE, .moved = true, .x = 9, .y = 2},
        {CONSOLE_MOUSE, .wheel = 120},
        {CONSOLE_MOUSE, .wheel = -120},
        {CONSOLE_RESIZED},
    };
    static const enum screen_event_kind kinds[] = {SCREEN_CLICK,    SCREEN_DRAG,       SCREEN_KEY,   SCREEN_KEY,
                                                   SCREEN_WHEEL_UP, SCREEN_WHEEL_DOWN, SCREEN_RESIZE};
    play(moves, ARRAY_LEN(moves));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct screen_event e = screen_next();
        assert_int_equal(e.kind, kinds[i]);
        assert_int_equal(e.key, 0);
        if (e.kind == SCREEN_CLICK)
            assert_true(e.x == 7 && e.y == 2);
    }
}

static void test_without_colors_only_what_is_faint_is_dim(void **state)
{
    (void)state;
    struct paint p = {0};
    paint_theme(&p, "default", false);
    for (int i = 0; i < TINT_COUNT; i++)
        assert_int_equal((p.styles[i].attributes & TERMINAL_DIM) != 0, i == TINT_DIM);
    paint_theme(&p, "default", true); /* there is gray */
    for (int i = 0; i < TINT_COUNT; i++)
        assert_false(p.styles[i].attributes & TERMINAL_DIM);
    paint_done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_takes_the_other_screen_and_gives_it_back),
        TEST(test_only_what_changed_is_written),
        TEST(test_a_console_without_sequences_gets_cells),
        TEST(test_keys_have_their_meaning),
        TEST(test_ctrl_c_ends_it),
        TEST(test_what_is_pasted_is_no_command),
        TEST(test_a_window_that_changes_without_a_word_is_noticed),
        TEST(test_the_mouse_and_the_size),
        TEST(test_without_colors_only_what_is_faint_is_dim),
    };
    int rc = RUN_TESTS(tests);
    buf_done(&written);
    return rc;
}
