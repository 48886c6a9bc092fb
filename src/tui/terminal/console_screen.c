/* SPDX-License-Identifier: Apache-2.0
 * The screen on a Windows console: keys by their codes, sequences of vt_terminal.c or, without support for them, cells in 16
 * colors. Plain C logic, tested with a simulated console.
 */
#include "tui/terminal/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/os/console.h"
#include "port/windows/screen.h"
#include "tui/terminal/paint.h"
#include "tui/theme.h"
#include "tui/top.h"

enum {
    PASTE_MIN = 24, /* this many pending records (twelve keys, down and up) are a paste */
    CTRL_C = 3,
    WIDTH_UNKNOWN = 80,
    HEIGHT_UNKNOWN = 24,
};

/* Virtual-key codes from winuser.h. */
enum {
    KEY_BACK = 0x08,
    KEY_TAB,
    KEY_RETURN = 0x0d,
    KEY_ESCAPE = 0x1b,
    KEY_PRIOR = 0x21,
    KEY_DOWN = 0x28,
    KEY_F1 = 0x70,
    KEY_F10 = 0x79
};

/* Switch to the alternate screen without cursor, and back. */
#define TAKE_SCREEN "\033[?1049h\033[?25l"
#define RESTORE "\033[m\033[?25h\033[?1049l"

static volatile sig_atomic_t is_open, ending;
static bool color, pasting;
static enum console_kind kind;
static const struct theme *theme;   /* for cells */
static int last_width, last_height; /* a window may change without an event, while its buffer keeps its size */
static unsigned high;               /* the first half of a surrogate pair */
static struct paint paint;

static void put_all(struct str text)
{
    console_write(text.len ? text.at : "", text.len);
}

static void on_end(int number)
{
    ending = number;
}

int screen_signal(void)
{
    return ending;
}

bool screen_wants_stop(void)
{
    return false;
}

void screen_stop(void)
{
}

void screen_theme(const char *name)
{
    theme = theme_find(name);
    paint_theme(&paint, name, color);
    screen_redraw();
}

int screen_load(struct error *err)
{
    (void)err;
    return 0;
}

int screen_open(bool utf8, bool wants_color, bool direct, const char *theme_name, bool mouse)
{
    (void)direct; /* the console has all colors */
    int rc = console_begin(mouse, RESTORE);
    if (rc < 0)
        return rc;
    kind = (enum console_kind)rc;
    is_open = 1;
    ending = 0;
    signal(SIGINT, on_end); /* from closing the window, and from other programs: Ctrl+C itself is a key */
    signal(SIGTERM, on_end);
    color = wants_color;
    paint.utf8 = utf8;
    paint.line_feeds = false;
    screen_theme(theme_name);
    if (kind == CONSOLE_SEQUENCES)
        console_write(TAKE_SCREEN, sizeof TAKE_SCREEN - 1);
    return 0;
}

void screen_close(void)
{
    if (!is_open)
        return;
    is_open = 0;
    console_end();
    paint_done(&paint);
}

/* ---- drawing ---- */

void screen_size(int *width, int *height)
{
    if (!console_size(width, height) || *width <= 0 || *height <= 0) {
        *width = WIDTH_UNKNOWN;
        *height = HEIGHT_UNKNOWN;
    }
    last_width = *width;
    last_height = *height;
}

static bool is_resized(void)
{
    int width, height;
    return last_width && console_size(&width, &height) && (width != last_width || height != last_height);
}

static struct screen_event resize_event(void)
{
    int width, height;
    screen_size(&width, &height);
    screen_redraw(); /* consoles reflow their content in their own ways */
    return (struct screen_event){.kind = SCREEN_RESIZE};
}

void screen_redraw(void)
{
    paint_forget(&paint);
}

static struct console_cell console_cell_of(const struct cell *from)
{
    enum { BRIGHT = 8, WHITE = 15 };
    int basic = color ? theme->color[from->tint < TINT_COUNT ? from->tint : 0].basic : -1;
    if (from->flags & CELL_BOLD || (!color && (from->tint == TINT_BAD || from->tint == TINT_WARN)))
        basic = basic < 0 ? WHITE : basic | BRIGHT;
    unsigned glyph = paint.utf8 || from->glyph < 0x80 ? from->glyph : '?';
    return (struct console_cell){
        .glyph = from->flags & CELL_TAIL ? 0 : glyph, .color = basic, .reverse = from->flags & CELL_REVERSE};
}

/* Shows all cells: the console itself detects what changed. */
static void show_cells(const struct canvas *c)
{
    size_t count = (size_t)c->width * (size_t)c->height;
    struct console_cell *cells = calloc(count, sizeof *cells);
    if (!cells)
        return;
    for (size_t i = 0; i < count; i++)
        cells[i] = console_cell_of(&c->cells[i]);
    console_show(cells, c->width, c->height);
    free(cells);
}

void screen_show(const struct canvas *c)
{
    if (kind == CONSOLE_CELLS)
        show_cells(c);
    else if (!paint_frame(&paint, c, put_all))
        screen_redraw(); /* draw the next one in full */
}

void screen_copy(const char *text)
{
    if (kind == CONSOLE_SEQUENCES)
        paint_copy(text, put_all);
}

/* ---- input ---- */

bool screen_wait(const int *news, size_t count, int timeout_ms)
{
    return console_wait(news, count, timeout_ms);
}

/* A key beyond characters; 0: a character, or none. */
static int key_of(const struct console_event *e)
{
    static const int moves[] = {TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN, TOP_KEY_END,   TOP_KEY_HOME,
                                TOP_KEY_LEFT,    TOP_KEY_UP,        TOP_KEY_RIGHT, TOP_KEY_DOWN}; /* from KEY_PRIOR on */
    switch (e->key) {
    case KEY_BACK: return TOP_KEY_BACKSPACE;
    case KEY_TAB: return e->shift ? TOP_KEY_BACK_TAB : TOP_KEY_TAB;
    case KEY_RETURN: return TOP_KEY_ENTER;
    case KEY_ESCAPE: return TOP_KEY_ESCAPE;
    default: break;
    }
    if (e->key >= KEY_PRIOR && e->key <= KEY_DOWN && !e->unit)
        return moves[e->key - KEY_PRIOR];
    return e->key >= KEY_F1 && e->key <= KEY_F10 && !e->unit ? TOP_KEY_F1 + (int)(e->key - KEY_F1) : 0;
}

/* The character that a UTF-16 unit completes; 0: none yet. */
static int char_of(unsigned unit)
{
    enum { HIGH = 0xd800, LOW = 0xdc00, END = 0xe000, BEYOND = 0x10000, BITS = 10 };
    unsigned first = high;
    high = unit >= HIGH && unit < LOW ? unit : 0;
    if (high)
        return 0;
    if (unit >= LOW && unit < END)
        return first ? (int)(BEYOND + ((first - HIGH) << BITS) + (unit - LOW)) : 0;
    return unit == '\r' || unit == '\n' ? TOP_KEY_ENTER : (int)unit;
}

static struct screen_event mouse_event(const struct console_event *e)
{
    static bool held;
    bool was = held;
    held = e->pressed;
    enum screen_event_kind what = e->wheel > 0             ? SCREEN_WHEEL_UP
                                  : e->wheel < 0           ? SCREEN_WHEEL_DOWN
                                  : e->pressed && e->moved ? SCREEN_DRAG
                                  : e->pressed && !was     ? SCREEN_CLICK
                                                           : SCREEN_KEY;
    return (struct screen_event){what, 0, e->x, e->y};
}

struct screen_event screen_next(void)
{
    size_t pending = console_pending();
    pasting = pending >= PASTE_MIN || (pasting && pending);
    struct console_event e = console_next();
    switch (e.kind) {
    case CONSOLE_NOTHING: return is_resized() ? resize_event() : (struct screen_event){0};
    case CONSOLE_MOUSE: return mouse_event(&e);
    case CONSOLE_RESIZED: return resize_event();
    case CONSOLE_KEY: break;
    }
    if (e.unit == CTRL_C)
        ending = SIGINT;
    int key = key_of(&e);
    key = key ? key : char_of(e.unit);
    return (struct screen_event){SCREEN_KEY, .key = pasting || key == CTRL_C ? 0 : key}; /* don't run pasted text as commands */
}
