/* SPDX-License-Identifier: Apache-2.0
 * Converts between POSIX modes and access control lists.
 */
#include "port/windows/rights_windows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <wchar.h>

#include <sddl.h>

enum { USER = 1000, OTHER_USERS = 100000, TEXT_SIZE = 512, TOKEN_SIZE = 512, HELD_SIZE = 16 * 1024 };

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool administrator;
static union {
    TOKEN_USER user;
    char bytes[TOKEN_SIZE];
} token;
static wchar_t user_text[192] = L"OW"; /* SDDL's "owner", until the user is known */

static void ask(void)
{
    BYTE sid[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof sid;
    BOOL member = FALSE;
    HANDLE own;
    wchar_t *text = NULL;
    if (CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, sid, &size) && CheckTokenMembership(NULL, sid, &member))
        administrator = member;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &own))
        return;
    if (!GetTokenInformation(own, TokenUser, &token, sizeof token, &size))
        token.user.User.Sid = NULL;
    CloseHandle(own);
    if (token.user.User.Sid && ConvertSidToStringSidW(token.user.User.Sid, &text)) {
        if (wcslen(text) < sizeof user_text / sizeof user_text[0])
            wcscpy(user_text, text);
        LocalFree(text);
    }
}

bool user_is_administrator(void)
{
    pthread_once(&asked, ask);
    return administrator;
}

uid_t user_number(void)
{
    return user_is_administrator() ? 0 : USER;
}

/* ---- mode to list ---- */

/* Files inherit from a private directory. An administrator's files exclude the same person without elevation. */
static void *descriptor_of(mode_t mode, bool folder)
{
    wchar_t text[TEXT_SIZE];
    const wchar_t *below = folder ? L"OICI" : L"";
    const wchar_t *reading = folder ? L"(A;;0x1200a9;;;AU)" : L"(A;;FR;;;AU)",
                  *writing = folder ? L"(A;;0x1200af;;;AU)" : L"(A;;FRFW;;;AU)";
    const wchar_t *who = user_is_administrator() ? L"BA" : user_text;
    PSECURITY_DESCRIPTOR made = NULL;
    _snwprintf(text, TEXT_SIZE, L"D:P(A;%ls;FA;;;%ls)(A;%ls;FA;;;SY)(A;%ls;FA;;;BA)%ls", below, who, below, below,
               mode & 2   ? writing
               : mode & 4 ? reading
                          : L"");
    text[TEXT_SIZE - 1] = L'\0';
    return ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &made, NULL) ? made : NULL;
}

SECURITY_ATTRIBUTES *rights_exactly(mode_t mode, bool folder)
{
    SECURITY_ATTRIBUTES *rights = malloc(sizeof *rights);
    if (rights)
        *rights = (SECURITY_ATTRIBUTES){.nLength = sizeof *rights, .lpSecurityDescriptor = descriptor_of(mode, folder)};
    return rights;
}

SECURITY_ATTRIBUTES *rights_new(mode_t mode, bool folder)
{
    return mode & 077 ? NULL : rights_exactly(mode, folder);
}

void rights_free(SECURITY_ATTRIBUTES *rights)
{
    DWORD error = GetLastError();
    if (rights)
        LocalFree(rights->lpSecurityDescriptor);
    free(rights);
    SetLastError(error);
}

int rights_set(const wchar_t *path, mode_t mode)
{
    DWORD attributes = GetFileAttributesW(path);
    if (attributes == INVALID_FILE_ATTRIBUTES)
        return fail_with(GetLastError());
    SECURITY_ATTRIBUTES *rights = rights_exactly(mode, attributes & FILE_ATTRIBUTE_DIRECTORY);
    bool set =
        rights && rights->lpSecurityDescriptor &&
        SetFileSecurityW(path, DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION, rights->lpSecurityDescriptor);
    rights_free(rights);
    return set ? 0 : fail_with(GetLastError());
}

/* ---- list to mode ---- */

/* The system, its administrators, and TrustedInstaller. */
static bool is_of_system(PSID sid)
{
    static const DWORD installer[] = {80, 956008885, 3418522649, 1831038044, 1853292631, 2271478464};
    bool same = *GetSidSubAuthorityCount(sid) == sizeof installer / sizeof installer[0];
    for (DWORD i = 0; same && i < sizeof installer / sizeof installer[0]; i++)
        same = *GetSidSubAuthority(sid, i) == installer[i];
    return same || IsWellKnownSid(sid, WinLocalSystemSid) || IsWellKnownSid(sid, WinBuiltinAdministratorsSid);
}

static bool is_own(PSID sid)
{
    pthread_once(&asked, ask);
    return token.user.User.Sid && EqualSid(sid, token.user.User.Sid);
}

static uid_t number_of(PSID owner)
{
    if (is_own(owner))
        return user_number();
    return is_of_system(owner) ? 0 : OTHER_USERS + (uid_t)*GetSidSubAuthority(owner, *GetSidSubAuthorityCount(owner) - 1U);
}

/* Wine reports /tmp (sticky bit) like a world-writable directory, and its user owns everything there. */
static bool is_wine(void)
{
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version");
}

/* Excludes a person who is elevated only at this moment. */
static bool is_always_of_system(PSID sid)
{
    return is_of_system(sid) || (is_wine() && is_own(sid));
}

/* Access of everyone but the owner (NULL: of the owner, too), the system and administrators. Inherit-only entries don't apply to
 * the file itself. */
static ACCESS_MASK rights_of_others(ACL *list, PSID owner)
{
    ACCESS_MASK all = list ? 0 : GENERIC_ALL; /* no list grants everything */
    void *entry;
    for (DWORD i = 0; list && i < list->AceCount; i++) {
        if (!GetAce(list, i, &entry))
            continue;
        ACCESS_ALLOWED_ACE *one = entry;
        PSID sid = &one->SidStart;
        bool is_other = owner ? !EqualSid(sid, owner) && !is_own(sid) && !is_of_system(sid) : !is_always_of_system(sid);
        if (one->Header.AceType == ACCESS_ALLOWED_ACE_TYPE && !(one->Header.AceFlags & INHERIT_ONLY_ACE) && is_other &&
            !IsWellKnownSid(sid, WinCreatorOwnerSid) && !IsWellKnownSid(sid, WinCreatorOwnerRightsSid))
            all |= one->Mask;
    }
    return all;
}

#define RIGHTS_TAKING (FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL)
#define RIGHTS_WRITING (FILE_WRITE_DATA | FILE_APPEND_DATA | GENERIC_WRITE | RIGHTS_TAKING)

static bool is_of_system_alone(const wchar_t *path, ACCESS_MASK unwanted)
{
    _Alignas(SECURITY_DESCRIPTOR) char held[HELD_SIZE];
    DWORD size = 0;
    PSID owner = NULL;
    ACL *list = NULL;
    BOOL there = FALSE, usual;
    return GetFileSecurityW(path, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, (PSECURITY_DESCRIPTOR)held, sizeof held,
                            &size) &&
           GetSecurityDescriptorOwner(held, &owner, &usual) && owner && is_always_of_system(owner) &&
           GetSecurityDescriptorDacl(held, &there, &list, &usual) && !(rights_of_others(there ? list : NULL, NULL) & unwanted);
}

bool rights_are_of_system(const wchar_t *path)
{
    wchar_t at[WIDE_PATH];
    if (wcslen(path) >= WIDE_PATH)
        return false;
    wcscpy(at, path);
    /* Others must not add files to the directory itself, or beside the file; in the directories above they may, as long as they
     * can't replace part of the path. */
    int closed = GetFileAttributesW(path) & FILE_ATTRIBUTE_DIRECTORY ? 1 : 2;
    for (int depth = 0;; depth++) {
        if (!is_of_system_alone(at, depth < closed ? RIGHTS_WRITING : is_wine() ? 0 : RIGHTS_TAKING))
            return false;
        wchar_t *slash = wcsrchr(at, L'\\');
        if (!slash || slash[1] == L'\0' || slash == at)
            return true;
        slash[at + 2 == slash ? 1 : 0] = L'\0'; /* "C:\" is a directory, "C:" isn't */
    }
}

int rights_give_to_system(const wchar_t *path)
{
    BYTE sid[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof sid;
    SECURITY_DESCRIPTOR owner;
    bool given = CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, sid, &size) &&
                 InitializeSecurityDescriptor(&owner, SECURITY_DESCRIPTOR_REVISION) &&
                 SetSecurityDescriptorOwner(&owner, sid, FALSE) && SetFileSecurityW(path, OWNER_SECURITY_INFORMATION, &owner);
    return given ? 0 : fail_with(GetLastError());
}

void rights_read(HANDLE file, struct posix_stat *ret)
{
    const SECURITY_INFORMATION wanted = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    _Alignas(SECURITY_DESCRIPTOR) char held[HELD_SIZE];
    DWORD size = 0;
    PSID owner = NULL;
    ACL *list = NULL;
    BOOL there = FALSE, usual;
    bool folder = S_ISDIR(ret->st_mode);
    if (!GetKernelObjectSecurity(file, wanted, held, sizeof held, &size) || !GetSecurityDescriptorOwner(held, &owner, &usual) ||
        !GetSecurityDescriptorDacl(held, &there, &list, &usual) || !owner)
        return; /* a file system without owners, or a file that hides them */
    ACCESS_MASK others = rights_of_others(there ? list : NULL, owner);
    ret->st_uid = ret->st_gid = number_of(owner);
    if (others & (FILE_READ_DATA | GENERIC_READ | GENERIC_ALL))
        ret->st_mode |= folder ? 0055 : 0044;
    if (others & RIGHTS_WRITING)
        ret->st_mode |= 0022U | (folder && (!(others & RIGHTS_TAKING) || is_wine()) ? S_ISVTX : 0U);
}
