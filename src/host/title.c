/* SPDX-License-Identifier: Apache-2.0
 * What people call a process: the script or module behind an interpreter, the game behind Wine, the application behind Electron.
 * A pure function of the command line and the working directory.
 */
#include "host/identity.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "host/procfs.h"

enum { COMMAND_MAX = 16384 + ARGUMENTS_MAX };

/* Generic names of scripts and directories: use the directory above. */
static const char *const empty_scripts[] = {"main.py",  "app.py",   "run.py",        "server.py",  "launch.py", "webui.py",
                                            "cli.py",   "start.py", "cli.js",        "main.js",    "index.js",  "server.js",
                                            "app.js",   "main.mjs", "index.mjs",     "app.asar",   "main.cjs",  "main.ts",
                                            "code.mjs", "bin.js",   "api_server.py", "__main__.py"};
static const char *const empty_folders[] = {"",          "src",   "bin",   "app",   "out", "dist", "lib",  "lib64", "resources",
                                            "scripts",   "usr",   "home",  "root",  "opt", "srv",  "tmp",  "data",  "work",
                                            "workspace", "share", "build", "local", ".",   "..",   "code", "server"};

/* They start another program: a script, or a module after -m. */
static const char *const launchers[] = {"torchrun",
                                        "torch.distributed.run",
                                        "torch.distributed.launch",
                                        "accelerate",
                                        "deepspeed",
                                        "accelerate.commands.launch",
                                        "debugpy",
                                        "horovodrun",
                                        "coverage",
                                        "viztracer"};

/* Modules and titles better known by another name. */
static const struct {
    const char *begin, *title;
} known[] = {
    {"vllm.", "vllm"},           {"VLLM::", "vllm"},
    {"sglang.", "sglang"},       {"sglang::", "sglang"},
    {"lmdeploy.", "lmdeploy"},   {"ipykernel", "Jupyter kernel"},
    {"mlc_llm.", "mlc_llm"},     {"fastchat.", "fastchat"},
    {"llama_cpp.", "llama_cpp"}, {"tensorrt_llm.", "tensorrt_llm"},
    {"aphrodite.", "aphrodite"}, {"comfy_cli", "ComfyUI"},
};

static struct str base_of(struct str path)
{
    while (path.len > 1 && (path.at[path.len - 1] == '/' || path.at[path.len - 1] == '\\'))
        path.len--;
    for (size_t i = path.len; i-- > 0;)
        if (path.at[i] == '/' || path.at[i] == '\\')
            return (struct str){path.at + i + 1, path.len - i - 1};
    return path;
}

/* The path without its last component; empty: nothing left. */
static struct str above(struct str path)
{
    struct str base = base_of(path);
    size_t len = (size_t)(base.at - path.at);
    while (len > 0 && (path.at[len - 1] == '/' || path.at[len - 1] == '\\'))
        len--;
    return (struct str){path.at, len};
}

static bool is_one_of(struct str s, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_any_case(s, list[i]))
            return true;
    return false;
}

static bool ends_any_case(struct str s, const char *suffix)
{
    size_t len = strlen(suffix);
    return s.len >= len && str_is_any_case((struct str){s.at + s.len - len, len}, suffix);
}

/* "/opt/ComfyUI/main.py" is ComfyUI, "/home/alice/llama/train.py" is train.py. */
static struct str name_of_script(struct str script, struct str directory)
{
    struct str base = base_of(script);
    if (!is_one_of(base, empty_scripts, ARRAY_LEN(empty_scripts)))
        return base;
    struct str up = script.len && script.at[0] == '/' ? above(script) : above(script).len ? above(script) : directory;
    for (; up.len; up = above(up)) {
        struct str name = base_of(up);
        if (is_one_of(name, empty_folders, ARRAY_LEN(empty_folders)))
            continue;
        struct str parent = base_of(above(up));
        return str_is(parent, "home") ? base : name; /* the user's home directory isn't a program name */
    }
    return base;
}

/* "/usr/lib/node_modules/@org/tool/bin/x.js" -> "@org/tool" */
static bool node_package(struct str script, struct str *ret)
{
    static const char mark[] = "node_modules/";
    const char *found = NULL;
    for (const char *at = script.at; (at = memmem(at, script.len - (size_t)(at - script.at), mark, sizeof mark - 1)); at++)
        found = at + sizeof mark - 1;
    if (!found)
        return false;
    struct str rest = {found, script.len - (size_t)(found - script.at)}, first, second;
    if (!str_cut(&rest, '/', &first) || first.len == 0 || first.at[0] == '.')
        return false;
    *ret = first;
    if (first.at[0] == '@' && str_cut(&rest, '/', &second))
        ret->len += 1 + second.len;
    return true;
}

/* The Windows program that Wine or Proton runs: "Z:\games\Elden Ring\eldenring.exe" -> "eldenring". */
static bool by_windows_program(const struct str *args, size_t count, struct str *ret)
{
    static const char *const tails[] = {"-Win64-Shipping", "-WinGDK-Shipping", "-Win32-Shipping"};
    static const char *const helpers[] = {"steam.exe", "start.exe", "explorer.exe", "cmd.exe", "wineboot.exe", "iexplore.exe"};
    struct str helper = {0};
    for (size_t i = 0; i < count; i++) {
        if (!ends_any_case(args[i], ".exe"))
            continue;
        struct str name = base_of(args[i]);
        bool starts_another = is_one_of(name, helpers, ARRAY_LEN(helpers));
        name.len -= 4;
        for (size_t k = 0; k < ARRAY_LEN(tails); k++)
            if (ends_any_case(name, tails[k]) && name.len > strlen(tails[k]))
                name.len -= strlen(tails[k]);
        *ret = name;
        if (!starts_another)
            return name.len > 0;
        helper = name;
    }
    *ret = helper;
    return helper.len > 0;
}

static bool option_of(const struct str *args, size_t count, const char *option, struct str *ret)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(args[i], option) && args[i].len > strlen(option)) {
            *ret = (struct str){args[i].at + strlen(option), args[i].len - strlen(option)};
            return true;
        }
    return false;
}

/* Electron from the distribution, or a helper started through /proc/self/exe. */
static bool by_electron(const struct str *args, size_t count, struct str *ret)
{
    struct str data;
    for (size_t i = 1; i < count; i++)
        if (args[i].len && args[i].at[0] != '-') {
            *ret = name_of_script(args[i], (struct str){0});
            return ret->len > 0;
        }
    if (!option_of(args, count, "--user-data-dir=", &data))
        return false;
    *ret = base_of(data);
    return ret->len > 0;
}

static bool is_launcher(struct str program)
{
    return is_one_of(base_of(program), launchers, ARRAY_LEN(launchers));
}

/* The script or module given to a launcher. */
static size_t launched_at(const struct str *args, size_t count, size_t at)
{
    for (size_t i = at + 1; i < count; i++)
        if (str_ends(args[i], ".py") || (i > at + 1 && (str_is(args[i - 1], "-m") || str_is(args[i - 1], "--module"))))
            return i;
    return at;
}

/* A number or a dash is no name: the rest of "/dev/fd/3", a shell's <(...). */
static bool has_letter(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (isalpha((unsigned char)name.at[i]) || (unsigned char)name.at[i] >= 0x80)
            return true;
    return false;
}

static void title_put(char *to, size_t size, struct str name)
{
    if (!has_letter(name))
        return;
    for (size_t k = 0; k < ARRAY_LEN(known); k++)
        if (str_starts(name, known[k].begin))
            name = str_from(known[k].title);
    str_copy_clean(to, size, name);
}

static bool is_interpreter(struct str program)
{
    static const char *const whole[] = {"node", "nodejs", "bun", "deno"};
    return str_starts(program, "python") || str_starts(program, "pypy") || is_one_of(program, whole, ARRAY_LEN(whole));
}

static void by_script(const struct str *args, size_t count, struct str directory, char *to, size_t size)
{
    size_t at = command_program_at(args, count);
    if (at < count && is_launcher(args[at]))
        at = launched_at(args, count, at);
    struct str package;
    if (at == 0 || at >= count || args[at].len == 0 || args[at].at[0] == '-')
        return; /* interactive, or a program passed as text */
    if (str_starts(args[at], "/dev/") || str_starts(args[at], "/proc/"))
        return; /* from a pipe or a descriptor: a number, or "stdin" */
    if (str_starts(args[at - 1], "-") && str_ends(args[at - 1], "c") && memchr(args[at].at, ' ', args[at].len))
        return; /* the text after a shell's -c isn't a path */
    if (str_is(args[at - 1], "-m") || str_is(args[at - 1], "--module"))
        title_put(to, size, args[at]);
    else if (node_package(args[at], &package))
        title_put(to, size, package);
    else
        title_put(to, size, name_of_script(args[at], directory));
}

void command_title(const struct str *args, size_t count, struct str directory, char *to, size_t size)
{
    to[0] = '\0';
    if (count == 0)
        return;
    struct str program = base_of(args[0]), name;
    bool wine = str_starts(program, "wine") || str_contains(args[0], "\\") || ends_any_case(program, ".exe");
    bool proton = false;
    for (size_t i = 0; i < count && i < 4; i++)
        proton = proton || str_is(base_of(args[i]), "proton");
    if ((wine || proton) && by_windows_program(args, count, &name))
        title_put(to, size, name);
    else if (str_starts(program, "electron") || str_is(program, "exe")) {
        if (by_electron(args, count, &name))
            title_put(to, size, name);
    } else if (is_interpreter(program) || is_launcher(args[0]) || command_program_at(args, count) > 0)
        by_script(args, count, directory, to, size);
    else if (str_starts(program, "VLLM::") || str_starts(program, "sglang::"))
        title_put(to, size, program);
}

void process_find_title(struct process *p)
{
    struct str args[32];
    size_t count = proc_arguments(str_from(p->command), args, ARRAY_LEN(args));
    command_title(args, count, (struct str){0}, p->title, sizeof p->title);
}

void command_join(const struct str *args, size_t count, char *to, size_t size)
{
    AUTO_BUF struct buf text = BUF(COMMAND_MAX);
    for (size_t a = 0; a < count; a++) {
        if (a)
            buf_char(&text, ' ');
        buf_str(&text, args[a]);
    }
    str_copy_clean(to, size, buf_view(&text));
}
