/* SPDX-License-Identifier: Apache-2.0
 * Installs, starts and removes the service, for `whirr setup`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/os/service.h"
#include "port/windows/rights_windows.h"

enum {
    WAIT_MS = 60000,
    PAUSE_MS = 50,
    RESTART_MS = 5000,
    RESTART_LATER_MS = 60000,
    FORGOTTEN_S = 86400,
    LINE_UNITS = WIDE_PATH + 16
};

static const wchar_t service_name[] = L"whirr";

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
