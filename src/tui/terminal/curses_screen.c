/* SPDX-License-Identifier: Apache-2.0
 * Curses, signals, and the few sequences that curses does not know.
 */
#include "tui/terminal/screen.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tui/terminal/curses_library.h"
#include "tui/terminal/paint.h"
#include "tui/top.h"

#ifdef BUTTON5_PRESSED
#define WHEEL_DOWN BUTTON5_PRESSED
#else
#define WHEEL_DOWN 0 /* ncurses 5 knows only four mouse buttons */
#endif
enum { PASTE_BEGIN = KEY_MAX + 1, PASTE_END, ESCAPE_MS = 25, PASTE_PAUSE_MS = 500 };

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
/* Also report the mouse while a button is held: curses requests that only if terminfo has it. */
#define DRAGS_ON "\033[?1002h"
#define DRAGS_OFF "\033[?1002l"
/* Mouse off, normal pasting, plain text, cursor, main screen: for a crash, after which curses can't be trusted. */
#define RESTORE "\033[?1000l\033[?1002l\033[?1006l" PASTE_OFF "\033[0m\033[?25h\033[?1049l\r\n"

static struct termios saved;
static volatile sig_atomic_t is_open, ending, stopping, resized;
static bool color, pasting, drags;
static struct mono pasted_at; /* the last piece of the current paste */
static struct paint paint;

static void put_all(struct str text)
{
    while (text.len) {
        ssize_t written = write(STDOUT_FILENO, text.at, text.len);
        if (written < 0 && errno != EINTR)
            return; /* the terminal is gone; the next key read reports it */
        if (written > 0)
            text = (struct str){text.at + written, text.len - (size_t)written};
    }
}

static void put_sequence(const char *text)
{
    put_all(str_from(text));
}

/* ---- signals ---- */

static void on_crash(int number)
{
    if (is_open) {
        put_sequence(RESTORE);
        tcsetattr(STDIN_FILENO, TCSANOW, &saved);
    }
    raise(number); /* the handler was reset, so this ends the process as usual */
}

static void on_end(int number)
{
    ending = number;
}

static void on_stop(int number)
{
    (void)number;
    stopping = 1;
}

static void on_resize(int number)
{
    (void)number;
    resized = 1;
}

static void catch_signal(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void catch_signals(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS}, ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
        catch_signal(crashes[i], on_crash, (int)(SA_RESETHAND | SA_NODEFER));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        catch_signal(ends[i], on_end, 0);
    catch_signal(SIGTSTP, on_stop, 0);
    catch_signal(SIGWINCH, on_resize, 0);
}

int screen_signal(void)
{
    return ending;
}

bool screen_wants_stop(void)
{
    return stopping;
}

/* ---- colors ---- */

void screen_theme(const char *name)
{
    paint_theme(&paint, name, color);
    screen_redraw();
}

/* ---- open and close ---- */

int screen_load(struct error *err)
{
    return curses_load(err);
}

static void define_keys(void)
{
    /* Terminals send these whatever TERM says; an unknown sequence would arrive as Esc and letters. */
    static const struct {
        const char *sequence;
        int key;
    } more[] = {
        {"\033[200~", PASTE_BEGIN}, {"\033[201~", PASTE_END}, {"\033[A", KEY_UP},    {"\033OA", KEY_UP},     {"\033[B", KEY_DOWN},
        {"\033OB", KEY_DOWN},       {"\033[C", KEY_RIGHT},    {"\033OC", KEY_RIGHT}, {"\033[D", KEY_LEFT},   {"\033OD", KEY_LEFT},
        {"\033[H", KEY_HOME},       {"\033OH", KEY_HOME},     {"\033[1~", KEY_HOME}, {"\033[7~", KEY_HOME},  {"\033[F", KEY_END},
        {"\033OF", KEY_END},        {"\033[4~", KEY_END},     {"\033[8~", KEY_END},  {"\033[5~", KEY_PPAGE}, {"\033[6~", KEY_NPAGE},
        {"\033[Z", KEY_BTAB},
    };
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        define_key(more[i].sequence, more[i].key);
    if (set_escdelay)
        set_escdelay(ESCAPE_MS);
}

static SCREEN *open_terminal(bool direct)
{
    SCREEN *screen = direct ? newterm("xterm-direct", stdout, stdin) : NULL; /* terminfo may lack it */
    return screen ? screen : newterm(NULL, stdout, stdin);
}

static void take_terminal(void)
{
    put_sequence(PASTE_ON);
    if (drags)
        put_sequence(DRAGS_ON);
}

int screen_open(bool wants_utf8, bool wants_color, bool direct, const char *theme, bool mouse)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &saved) < 0)
        return -ENOTTY;
    setlocale(LC_CTYPE, "");
    if (wants_utf8 && MB_CUR_MAX == 1) /* the terminal's locale is not installed: use the one that always exists */
        setlocale(LC_CTYPE, "C.UTF-8");
    if (use_tioctl) { /* COLUMNS is stale if the shell's window was resized since */
        use_env(FALSE);
        use_tioctl(TRUE);
    }
    if (!open_terminal(direct))
        return -ENOTTY;
    catch_signals(); /* after curses, whose own handlers would leave the mouse on */
    is_open = 1;
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    define_keys();
    if (mouse) {
        mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | WHEEL_DOWN | REPORT_MOUSE_POSITION, NULL);
        mouseinterval(0);
        drags = true;
    }
    color = wants_color && has_colors() && start_color() == OK;
    struct termios now;
    paint.utf8 = wants_utf8 && MB_CUR_MAX > 1;
    paint.line_feeds = tcgetattr(STDOUT_FILENO, &now) == 0 && (!(now.c_oflag & OPOST) || !(now.c_oflag & ONLCR));
    screen_theme(theme);
    take_terminal();
    return 0;
}

/* Restores the terminal for other programs. */
static void give_terminal_back(void)
{
    AUTO_BUF struct buf out = BUF(256);
    paint_plain(&paint, &out);
    put_all(buf_view(&out));
    put_sequence(PASTE_OFF);
    if (drags)
        put_sequence(DRAGS_OFF);
    endwin();
}

void screen_close(void)
{
    if (!is_open)
        return;
    give_terminal_back();
    tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
    is_open = 0;
    paint_done(&paint);
}

void screen_stop(void)
{
    stopping = 0;
    give_terminal_back();
    raise(SIGSTOP);
    take_terminal();
    resized = 1; /* the window may have changed while another program was in the foreground */
    screen_redraw();
}

/* ---- drawing ---- */

void screen_size(int *width, int *height)
{
    getmaxyx(stdscr, *height, *width);
}

/* Curses keeps an empty screen; drawing that takes the terminal back after a stop. */
void screen_redraw(void)
{
    paint_forget(&paint);
    clearok(curscr, TRUE);
    refresh();
}

void screen_show(const struct canvas *c)
{
    if (!paint_frame(&paint, c, put_all))
        screen_redraw(); /* draw the next one in full */
}

/* ---- input ---- */

static int key_of(wint_t code)
{
    switch (code) {
    case KEY_UP: return TOP_KEY_UP;
    case KEY_DOWN: return TOP_KEY_DOWN;
    case KEY_LEFT: return TOP_KEY_LEFT;
    case KEY_RIGHT: return TOP_KEY_RIGHT;
    case KEY_PPAGE: return TOP_KEY_PAGE_UP;
    case KEY_NPAGE: return TOP_KEY_PAGE_DOWN;
    case KEY_HOME: return TOP_KEY_HOME;
    case KEY_END: return TOP_KEY_END;
    case KEY_BACKSPACE: return TOP_KEY_BACKSPACE;
    case KEY_ENTER: return TOP_KEY_ENTER;
    case KEY_BTAB: return TOP_KEY_BACK_TAB;
    default: return code >= KEY_F(1) && code <= KEY_F(10) ? TOP_KEY_F1 + (int)(code - KEY_F(1)) : 0;
    }
}

static int char_of(wint_t code)
{
    switch (code) {
    case '\r':
    case '\n': return TOP_KEY_ENTER;
    case '\t': return TOP_KEY_TAB;
    case 27: return TOP_KEY_ESCAPE;
    case 127:
    case 8: return TOP_KEY_BACKSPACE;
    default: return (int)code;
    }
}

static struct screen_event mouse_event(void)
{
    MEVENT m;
    if (getmouse(&m) != OK)
        return (struct screen_event){SCREEN_KEY, .key = 0};
    enum screen_event_kind kind = m.bstate & BUTTON4_PRESSED                       ? SCREEN_WHEEL_UP
                                  : m.bstate & WHEEL_DOWN                          ? SCREEN_WHEEL_DOWN
                                  : m.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED) ? SCREEN_CLICK
                                  : m.bstate & REPORT_MOUSE_POSITION               ? SCREEN_DRAG
                                                                                   : SCREEN_KEY;
    return (struct screen_event){kind, 0, m.x, m.y};
}

static struct screen_event resize_event(void)
{
    struct winsize size;
    resized = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row)
        resize_term(size.ws_row, size.ws_col); /* resizeterm() would report itself as a key, forever */
    screen_redraw();                           /* terminals reflow their content in their own ways */
    return (struct screen_event){.kind = SCREEN_RESIZE};
}

bool screen_wait(const int *news, size_t count, int timeout_ms)
{
    struct pollfd fds[1 + SCREEN_NEWS_MAX] = {{STDIN_FILENO, POLLIN, 0}};
    for (size_t i = 0; i < count; i++)
        fds[1 + i] = (struct pollfd){news[i], POLLIN, 0};
    (void)poll(fds, 1 + count, timeout_ms);
    return !(fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

struct screen_event screen_next(void)
{
    wint_t code;
    if (resized)
        return resize_event();
    int kind = get_wch(&code);
    if (kind == ERR)
        return (struct screen_event){0};
    /* A paste without an end must not swallow keys forever. */
    struct mono now = clock_mono(&clock_system);
    if (pasting && mono_since_ms(now, pasted_at) >= PASTE_PAUSE_MS)
        pasting = false;
    pasted_at = now;
    if (kind == KEY_CODE_YES) {
        if (code == PASTE_BEGIN || code == PASTE_END) {
            pasting = code == PASTE_BEGIN;
            return (struct screen_event){SCREEN_KEY, .key = 0};
        }
        if (code == KEY_MOUSE)
            return mouse_event();
        return (struct screen_event){SCREEN_KEY, .key = pasting ? 0 : key_of(code)};
    }
    return (struct screen_event){SCREEN_KEY, .key = pasting ? 0 : char_of(code)}; /* don't run pasted text as commands */
}

void screen_copy(const char *text)
{
    paint_copy(text, put_all);
}
