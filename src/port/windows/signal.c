/* SPDX-License-Identifier: Apache-2.0
 * Signals, as far as a console has them: Ctrl+C and the end of the session reach the handlers of SIGINT and SIGTERM, in a system
 * thread. signal() replaces the C library's.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "port/windows/internal.h"

enum { SIGNALS_MAX = 32 };

static void (*volatile handlers[SIGNALS_MAX])(int);
static _Atomic unsigned blocked, pending; /* signals that a thread waits for instead of handling */
static _Atomic unsigned handled;
static HANDLE came; /* set when one arrived */

bool signal_arrives(int number)
{
    void (*handler)(int) = handlers[number];
    if (blocked >> number & 1U) {
        pending |= 1U << number;
        SetEvent(came);
        return true;
    }
    if (handler == SIG_DFL)
        return false;
    if (handler != SIG_IGN)
        handler(number);
    handled++;
    return true;
}

/* Services run in session 0 and are notified when any session ends. */
static bool is_in_session_of_services(void)
{
    DWORD session;
    return ProcessIdToSessionId(GetCurrentProcessId(), &session) && session == 0;
}

/* Unhandled events end the program. When the window or session closes, returning ends it: sleep to use all the time that Windows
 * grants. */
static BOOL WINAPI on_event(DWORD event)
{
    enum { TO_END_MS = 30000 };
    if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT)
        return signal_arrives(SIGINT);
    if (event == CTRL_LOGOFF_EVENT && is_in_session_of_services())
        return TRUE;
    bool taken = signal_arrives(SIGTERM);
    if (taken)
        Sleep(TO_END_MS);
    return taken;
}

unsigned signals_handled(void)
{
    return handled;
}

void (*signal(int number, void (*handler)(int)))(int)
{
    if (number < 1 || number >= SIGNALS_MAX) {
        errno = EINVAL;
        return SIG_ERR;
    }
    void (*before)(int) = handlers[number];
    handlers[number] = handler;
    if (number == SIGINT || number == SIGTERM)
        SetConsoleCtrlHandler(on_event, TRUE); /* registering twice is harmless: the first TRUE ends the chain */
    return before;
}

int sigaction(int number, const struct sigaction *now, struct sigaction *before)
{
    if (number < 1 || number >= SIGNALS_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (before)
        *before = (struct sigaction){.sa_handler = handlers[number]};
    if (now)
        signal(number, now->sa_handler);
    return 0;
}

int sigemptyset(sigset_t *set)
{
    *set = 0;
    return 0;
}

int sigfillset(sigset_t *set)
{
    *set = ~0U;
    return 0;
}

int sigaddset(sigset_t *set, int number)
{
    *set |= 1U << number;
    return 0;
}

int sigdelset(sigset_t *set, int number)
{
    *set &= ~(1U << number);
    return 0;
}

int sigismember(const sigset_t *set, int number)
{
    return *set >> number & 1U;
}

/* Applies to all threads: signals arrive in a system thread. */
int posix_sigmask(int how, const sigset_t *now, sigset_t *before)
{
    if (before)
        *before = blocked;
    if (!now)
        return 0;
    if (!came) {
        came = CreateEventW(NULL, FALSE, FALSE, NULL);
        SetConsoleCtrlHandler(on_event, TRUE);
    }
    if (how == SIG_BLOCK)
        blocked |= *now;
    else if (how == SIG_UNBLOCK)
        blocked &= ~*now;
    else
        blocked = *now;
    return 0;
}

static int take_pending(const sigset_t *set)
{
    for (int number = 1; number < SIGNALS_MAX; number++) {
        unsigned bit = 1U << number;
        if ((*set & bit) && (atomic_fetch_and(&pending, ~bit) & bit))
            return number;
    }
    return 0;
}

int sigtimedwait(const sigset_t *set, void *info, const struct timespec *timeout)
{
    ULONGLONG until = timeout ? GetTickCount64() + (ULONGLONG)timeout->tv_sec * 1000 + (ULONGLONG)timeout->tv_nsec / 1000000 : 0;
    (void)info;
    for (;;) {
        int number = take_pending(set);
        ULONGLONG now = GetTickCount64();
        if (number)
            return number;
        if (timeout && now >= until) {
            errno = EAGAIN;
            return -1;
        }
        if (came)
            WaitForSingleObject(came, timeout ? (DWORD)(until - now) : INFINITE);
        else
            Sleep(timeout ? (DWORD)(until - now) : 100);
    }
}

int sigwaitinfo(const sigset_t *set, void *info)
{
    return sigtimedwait(set, info, NULL);
}
