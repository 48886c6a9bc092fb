/* SPDX-License-Identifier: Apache-2.0
 * Talks to the service control manager. The service's stderr goes to whirr.log in %ProgramData%\whirr; failures also go to the
 * event log.
 */
#include "base/os/service.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "port/windows/rights_windows.h"

#include <tlhelp32.h>

enum { START_MS = 60000, STOP_MS = 60000, LOG_MAX = 8 << 20, LOG_PATH = 4096 };

static wchar_t service_name[] = L"whirr";

static struct {
    service_body *body;
    void *user;
    int status;
    bool logs;
    pthread_mutex_t lock; /* guards the fields below: several threads report */
    SERVICE_STATUS_HANDLE handle;
    SERVICE_STATUS now;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- states ---- */

static void report(DWORD state, DWORD wait_ms)
{
    pthread_mutex_lock(&self.lock);
    bool goes_back =
        self.now.dwCurrentState == SERVICE_STOPPED || (self.now.dwCurrentState == SERVICE_STOP_PENDING && state == SERVICE_RUNNING);
    if (self.handle && !goes_back) {
        self.now.dwCheckPoint = wait_ms ? self.now.dwCheckPoint + 1 : 0;
        self.now.dwCurrentState = state;
        self.now.dwWaitHint = wait_ms;
        self.now.dwControlsAccepted =
            state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN | SERVICE_ACCEPT_PARAMCHANGE : 0;
        SetServiceStatus(self.handle, &self.now);
    }
    pthread_mutex_unlock(&self.lock);
}

void service_is_ready(void)
{
    report(SERVICE_RUNNING, 0);
}

void service_is_stopping(void)
{
    report(SERVICE_STOP_PENDING, STOP_MS);
}

/* Like Ctrl+C for a daemon in a console, and SIGHUP to reload. */
static DWORD WINAPI on_control(DWORD control, DWORD type, void *data, void *user)
{
    (void)type, (void)data, (void)user;
    switch (control) {
    case SERVICE_CONTROL_STOP:
    case SERVICE_CONTROL_SHUTDOWN:
        service_is_stopping();
        signal_arrives(SIGTERM);
        return NO_ERROR;
    case SERVICE_CONTROL_PARAMCHANGE: signal_arrives(SIGHUP); return NO_ERROR;
    case SERVICE_CONTROL_INTERROGATE: return NO_ERROR;
    default: return ERROR_CALL_NOT_IMPLEMENTED;
    }
}

/* ---- its log ---- */

static void tell_event_log(const char *text)
{
    wchar_t wide[1024];
    const wchar_t *texts[] = {wide};
    HANDLE log = wide_from(text, wide, sizeof wide / sizeof wide[0]) ? RegisterEventSourceW(NULL, service_name) : NULL;
    if (!log)
        return;
    ReportEventW(log, EVENTLOG_ERROR_TYPE, 0, 1, NULL, 1, 0, texts, NULL);
    DeregisterEventSource(log);
}

static bool log_path(char path[LOG_PATH], const char *ending)
{
    const char *root = getenv("WHIRR_SYSTEM_ROOT");
    return root && snprintf(path, LOG_PATH, "%s/whirr.log%s", root, ending) < LOG_PATH;
}

/* A service has no stderr, and a missing stream can't be reopened: overwrite it with another. */
static void open_log(void)
{
    char path[LOG_PATH];
    int fd = log_path(path, "") ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    FILE *stream = self.logs || fd < 0 ? NULL : _fdopen(fd, "ab");
    if (stream) {
#ifdef _UCRT
#error "this C library hides what a stream is: open NUL as the standard error before main() instead"
#endif
        *stderr = *stream;
        setvbuf(stderr, NULL, _IONBF, 0);
        self.logs = true;
    } else if (fd >= 0) {
        _dup2(fd, _fileno(stderr));
        close(fd);
    }
    if (self.logs)
        SetStdHandle(STD_ERROR_HANDLE, (HANDLE)_get_osfhandle(_fileno(stderr)));
}

void service_tend(void)
{
    LARGE_INTEGER size;
    char path[LOG_PATH], old[LOG_PATH];
    if (!self.logs || !GetFileSizeEx((HANDLE)_get_osfhandle(_fileno(stderr)), &size) || size.QuadPart < LOG_MAX)
        return;
    if (log_path(path, "") && log_path(old, ".1") && rename(path, old) == 0)
        open_log();
}

/* ---- life cycle ---- */

static int run_body(void)
{
    struct error err = {0};
    const char *root = getenv("WHIRR_SYSTEM_ROOT");
    if (service_check_folder(&err) < 0) {
        tell_event_log(err.text);
        return EXIT_FAILED;
    }
    if (root && mkdir(root, 0700) < 0 && errno != EEXIST)
        tell_event_log("whirr cannot make its directory in ProgramData");
    open_log();
    int status = self.body(self.user);
    if (status != EXIT_FINE)
        tell_event_log("whirr ended with a failure; whirr.log in %ProgramData%\\whirr says why");
    return status;
}

static void WINAPI service_main(DWORD count, wchar_t **words)
{
    (void)count, (void)words;
    self.now = (SERVICE_STATUS){.dwServiceType = SERVICE_WIN32_OWN_PROCESS};
    self.handle = RegisterServiceCtrlHandlerExW(service_name, on_control, NULL);
    report(SERVICE_START_PENDING, START_MS);
    self.status = run_body();
    self.now.dwWin32ExitCode = self.status == EXIT_FINE ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
    self.now.dwServiceSpecificExitCode = (DWORD)self.status;
    report(SERVICE_STOPPED, 0);
}

/* Ask the manager only inside a service: elsewhere some systems take 10 s to refuse. */
static bool manager_started_this(void)
{
    PROCESSENTRY32W e = {.dwSize = sizeof e};
    DWORD parent = 0;
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (all == INVALID_HANDLE_VALUE)
        return true;
    for (BOOL more = Process32FirstW(all, &e); more && !parent; more = Process32NextW(all, &e))
        parent = e.th32ProcessID == GetCurrentProcessId() ? e.th32ParentProcessID : 0;
    bool is_manager = false;
    for (BOOL more = Process32FirstW(all, &e); more && !is_manager; more = Process32NextW(all, &e))
        is_manager = e.th32ProcessID == parent && _wcsicmp(e.szExeFile, L"services.exe") == 0;
    CloseHandle(all);
    return is_manager;
}

int service_run(service_body *body, void *user)
{
    const SERVICE_TABLE_ENTRYW table[] = {{service_name, service_main}, {NULL, NULL}};
    self.body = body;
    self.user = user;
    return manager_started_this() && StartServiceCtrlDispatcherW(table) ? self.status : body(user);
}
