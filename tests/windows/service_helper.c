/* SPDX-License-Identifier: Apache-2.0
 * What Wine has no program for. `reload`: the order to read the configuration again, as `sc control whirr paramchange` gives it.
 * `limited LINE`: a program without the rights of an administrator; its exit status.
 */
#include <stdio.h>
#include <string.h>
#include <windows.h>

static int reload(void)
{
    SERVICE_STATUS now;
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
    SC_HANDLE service = OpenServiceW(manager, L"whirr", SERVICE_PAUSE_CONTINUE);
    return ControlService(service, SERVICE_CONTROL_PARAMCHANGE, &now) ? 0 : (int)GetLastError();
}

static int limited(char *line)
{
    BYTE administrators[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof administrators, code = 1;
    HANDLE own, less;
    STARTUPINFOA how = {.cb = sizeof how};
    PROCESS_INFORMATION made;
    CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, administrators, &size);
    SID_AND_ATTRIBUTES without = {administrators, 0};
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &own) ||
        !CreateRestrictedToken(own, 0, 1, &without, 0, NULL, 0, NULL, &less) ||
        !CreateProcessAsUserA(less, NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &how, &made))
        return (int)GetLastError();
    WaitForSingleObject(made.hProcess, INFINITE);
    GetExitCodeProcess(made.hProcess, &code);
    return (int)code;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "reload") == 0)
        return reload();
    return argc == 3 && strcmp(argv[1], "limited") == 0 ? limited(argv[2]) : 2;
}
