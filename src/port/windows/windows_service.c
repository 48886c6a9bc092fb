/* SPDX-License-Identifier: Apache-2.0
 * The service whirr: installed, started and removed for `whirr setup`, and run under the service control manager. Its stderr goes
 * to whirr.log in %ProgramData%\whirr; failures also go to the event log.
 */
#include "base/os/service.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

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

enum {
    WAIT_MS = 60000,
    PAUSE_MS = 50,
    RESTART_MS = 5000,
    RESTART_LATER_MS = 60000,
    FORGOTTEN_S = 86400,
    LINE_UNITS = WIDE_PATH + 16
};

struct access {
    SC_HANDLE manager, service;
};

static void access_close(struct access *a)
{
    if (a->service)
        CloseServiceHandle(a->service);
    if (a->manager)
        CloseServiceHandle(a->manager);
    *a = (struct access){0};
}

/* The system's error message, on one line. */
static int fail(struct error *err, const char *what)
{
    DWORD error = GetLastError();
    wchar_t wide[256] = L"";
    char text[512] = "";
    fail_with(error);
    int code = -errno;
    if (error == ERROR_ACCESS_DENIED)
        return error_set(err, -EACCES, "%s: run it in a terminal as administrator", what);
    if (error == ERROR_SERVICE_MARKED_FOR_DELETE)
        return error_set(err, -EBUSY, "%s: the old one is still being removed; close the Services window and try again", what);
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, error, 0, wide, 256, NULL);
    utf8_from(wide, text, sizeof text);
    text[strcspn(text, "\r\n")] = '\0';
    return error_set(err, code, "%s: %s (%lu)", what, text, error);
}

static int open_manager(struct access *a, struct error *err)
{
    a->manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE);
    return a->manager ? 0 : fail(err, "cannot reach the services of Windows");
}

/* ---- installing ---- */

/* Quoted, because a space would end the path; paths contain no quotes. */
static bool command_line(wchar_t line[LINE_UNITS])
{
    wchar_t program[WIDE_PATH];
    DWORD len = GetModuleFileNameW(NULL, program, WIDE_PATH);
    return len > 0 && len < WIDE_PATH && _snwprintf(line, LINE_UNITS, L"\"%ls\" serve", program) > 0;
}

/* Older systems ignore options they don't know. */
static void describe(SC_HANDLE service)
{
    static wchar_t text[] = L"Watches GPUs: page, API, metrics, history and alerts. Removed by: whirr setup --undo";
    /* Only the privileges it needs: to read other processes and counters. */
    static wchar_t rights[] = L"SeChangeNotifyPrivilege\0SeCreateGlobalPrivilege\0SeDebugPrivilege\0SeSystemProfilePrivilege\0";
    SC_ACTION again[] = {{SC_ACTION_RESTART, RESTART_MS}, {SC_ACTION_RESTART, RESTART_MS}, {SC_ACTION_RESTART, RESTART_LATER_MS}};
    SERVICE_DESCRIPTIONW description = {text};
    SERVICE_DELAYED_AUTO_START_INFO later = {TRUE};
    SERVICE_FAILURE_ACTIONSW failure = {.dwResetPeriod = FORGOTTEN_S, .cActions = 3, .lpsaActions = again};
    SERVICE_FAILURE_ACTIONS_FLAG also_by_itself = {TRUE};
    SERVICE_REQUIRED_PRIVILEGES_INFOW privileges = {rights};
    ChangeServiceConfig2W(service, SERVICE_CONFIG_DESCRIPTION, &description);
    ChangeServiceConfig2W(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &later);
    ChangeServiceConfig2W(service, SERVICE_CONFIG_FAILURE_ACTIONS, &failure);
    ChangeServiceConfig2W(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &also_by_itself);
    ChangeServiceConfig2W(service, SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &privileges);
}

/* The service has full privileges, and so would a user who can change the program. */
static int check_program(struct error *err)
{
    wchar_t wide[WIDE_PATH];
    char program[WIDE_PATH];
    DWORD len = GetModuleFileNameW(NULL, wide, WIDE_PATH);
    if (len == 0 || len >= WIDE_PATH || !utf8_from(wide, program, sizeof program))
        return error_set(err, -ENAMETOOLONG, "the path of this program is too long");
    if (rights_are_of_system(wide))
        return 0;
    return error_set(err, -EPERM,
                     "'%s' can be changed without the rights of an administrator, and a service has all of them: copy it into "
                     "'%%ProgramFiles%%', and run whirr setup there",
                     program);
}

int service_check_folder(struct error *err)
{
    const char *root = getenv("WHIRR_SYSTEM_ROOT");
    struct posix_stat info;
    wchar_t wide[WIDE_PATH];
    if (!root)
        return error_set(err, -ENOENT, "there is no place for the service's files: %%ProgramData%% is not set");
    if (posix_stat(root, &info) < 0)
        return errno == ENOENT ? 0 : error_set(err, -errno, "cannot look at '%s': %s", root, strerror(errno));
    if (info.st_uid == 0 && !(info.st_mode & 0022) && wide_path(root, wide) && rights_are_of_system(wide))
        return 0;
    return error_set(err, -EPERM, "%s '%s', and what it says there would be done with all rights; remove that directory first",
                     info.st_uid ? "another user owns" : "others can write", root);
}

int service_create(struct error *err)
{
    struct access a = {0};
    wchar_t line[LINE_UNITS], folder[WIDE_PATH];
    const char *root = getenv("WHIRR_SYSTEM_ROOT");
    int rc = check_program(err);
    if (rc == 0)
        rc = service_check_folder(err);
    if (rc == 0)
        rc = open_manager(&a, err);
    if (rc < 0)
        return rc;
    if ((posix_mkdir(root, 0700) < 0 && errno != EEXIST) || chmod(root, 0755) < 0)
        rc = error_set(err, -errno, "cannot make '%s': %s", root, strerror(errno));
    else if (!command_line(line))
        rc = error_set(err, -ENAMETOOLONG, "the path of this program is too long");
    if (rc == 0) {
        if (wide_path(root, folder))
            rights_give_to_system(folder); /* a policy may have made a person its owner; if this fails, the service reports it */
        a.service = CreateServiceW(a.manager, service_name, L"whirr GPU monitor", SERVICE_ALL_ACCESS, SERVICE_WIN32_OWN_PROCESS,
                                   SERVICE_AUTO_START, SERVICE_ERROR_NORMAL, line, NULL, NULL, NULL, NULL, NULL);
        if (!a.service && GetLastError() == ERROR_SERVICE_EXISTS) {
            a.service = OpenServiceW(a.manager, service_name, SERVICE_ALL_ACCESS);
            if (a.service && !ChangeServiceConfigW(a.service, SERVICE_NO_CHANGE, SERVICE_AUTO_START, SERVICE_NO_CHANGE, line, NULL,
                                                   NULL, NULL, NULL, NULL, NULL))
                rc = fail(err, "cannot change the service whirr");
        }
        if (!a.service)
            rc = fail(err, "cannot make the service whirr");
        else if (rc == 0)
            describe(a.service);
    }
    access_close(&a);
    return rc;
}

/* ---- starting and stopping ---- */

static int open_service(struct access *a, struct error *err)
{
    int rc = open_manager(a, err);
    if (rc < 0)
        return rc;
    a->service = OpenServiceW(a->manager, service_name, SERVICE_ALL_ACCESS);
    if (a->service)
        return 0;
    if (GetLastError() == ERROR_SERVICE_DOES_NOT_EXIST)
        return error_set(err, -ENOENT, "there is no service whirr");
    return fail(err, "cannot open the service whirr");
}

/* Waits for this state or for stopped; false: timeout. */
static bool wait_for_state(SC_HANDLE service, DWORD wanted, SERVICE_STATUS *now)
{
    ULONGLONG until = GetTickCount64() + WAIT_MS;
    while (QueryServiceStatus(service, now)) {
        if (now->dwCurrentState == wanted || now->dwCurrentState == SERVICE_STOPPED)
            return true;
        if (GetTickCount64() >= until)
            return false;
        Sleep(PAUSE_MS);
    }
    return false;
}

static int stop(SC_HANDLE service, struct error *err)
{
    SERVICE_STATUS now = {0};
    wait_for_state(service, SERVICE_RUNNING, &now); /* a starting service accepts no controls */
    if (now.dwCurrentState == SERVICE_RUNNING && !ControlService(service, SERVICE_CONTROL_STOP, &now) &&
        GetLastError() != ERROR_SERVICE_NOT_ACTIVE)
        return fail(err, "cannot stop the service whirr");
    return wait_for_state(service, SERVICE_STOPPED, &now) ? 0 : error_set(err, -ETIMEDOUT, "the service whirr does not stop");
}

/* Retries while the service database is locked by another change. */
static bool start(SC_HANDLE service)
{
    ULONGLONG until = GetTickCount64() + WAIT_MS;
    for (;;) {
        if (StartServiceW(service, 0, NULL) || GetLastError() == ERROR_SERVICE_ALREADY_RUNNING)
            return true;
        if (GetLastError() != ERROR_SERVICE_DATABASE_LOCKED || GetTickCount64() >= until)
            return false;
        Sleep(PAUSE_MS);
    }
}

int service_start(struct error *err)
{
    struct access a = {0};
    SERVICE_STATUS now = {0};
    int rc = open_service(&a, err);
    if (rc == 0)
        rc = stop(a.service, err);
    if (rc == 0 && !start(a.service))
        rc = fail(err, "cannot start the service whirr");
    if (rc == 0 && !wait_for_state(a.service, SERVICE_RUNNING, &now))
        rc = error_set(err, -ETIMEDOUT, "the service whirr does not answer");
    if (rc == 0 && now.dwCurrentState != SERVICE_RUNNING)
        rc = error_set(err, -EIO, "the service whirr ended at once; %s/whirr.log says why", getenv("WHIRR_SYSTEM_ROOT"));
    access_close(&a);
    return rc;
}

int service_remove(struct error *err)
{
    struct access a = {0};
    int rc = open_service(&a, err);
    if (rc == 0)
        rc = stop(a.service, err);
    if (rc == 0 && !DeleteService(a.service))
        rc = fail(err, "cannot remove the service whirr");
    access_close(&a);
    return rc;
}
