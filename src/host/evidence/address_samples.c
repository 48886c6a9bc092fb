/* SPDX-License-Identifier: Apache-2.0
 * Evaluates address samples: groups object files, and words the result. Takes no samples.
 */
#include "host/evidence/address_samples.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* ---- texts ---- */

bool address_map_parse(struct str line, struct address_map *ret)
{
    struct str range, permissions, word, from;
    int64_t low, high, offset;
    if (!str_word(&line, &range) || !str_word(&line, &permissions) || permissions.len < 3 || permissions.at[2] != 'x' ||
        !str_cut(&range, '-', &from) || !str_to_cursor(from, &low) || !str_to_cursor(range, &high))
        return false;
    if (!str_word(&line, &word) || !str_to_cursor(word, &offset))
        return false;
    for (int i = 0; i < 2; i++) /* device, inode */
        if (!str_word(&line, &word))
            return false;
    *ret = (struct address_map){(uint64_t)low, (uint64_t)high, (uint64_t)offset, str_trim(line)};
    if (str_ends(ret->path, " (deleted)"))
        ret->path.len -= strlen(" (deleted)");
    return true;
}

struct str address_file_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    return slash ? (struct str){slash + 1, path.len - (size_t)(slash + 1 - path.at)} : path;
}

static bool starts_with_any(struct str s, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(s, names[i]))
            return true;
    return false;
}

enum address_group address_group_of(struct str path, bool program)
{
    static const char *const python[] = {"libpython", "python"};
    static const char *const driver[] = {"libcuda.so",  "[vdso]",          "libnvidia-ml", "libhsa-runtime64",
                                         "libamdhip64", "libze_intel_gpu", "libigdrcl",    "libcudadebugger"};
    static const char *const compiler[] = {"libnvrtc",       "libnvJitLink", "libnvptxcompiler", "libnvidia-ptxjitcompiler",
                                           "libnvidia-nvvm", "libnvvm",      "libtriton",        "libLLVM",
                                           "libamd_comgr",   "libhiprtc",    "libigc",           "libMLIR"};
    struct str name = address_file_name(path);
    if (!name.len || name.at[0] == '[')
        return str_is(name, "[vdso]") ? ADDRESS_DRIVER : ADDRESS_KERNEL;
    if (starts_with_any(name, python, ARRAY_LEN(python)) || str_contains(path, "/lib-dynload/"))
        return ADDRESS_PYTHON;
    if (starts_with_any(name, driver, ARRAY_LEN(driver)))
        return ADDRESS_DRIVER;
    if (starts_with_any(name, compiler, ARRAY_LEN(compiler)))
        return ADDRESS_COMPILER;
    return program ? ADDRESS_PROGRAM : ADDRESS_LIBRARIES;
}

const char *address_group_name(enum address_group group)
{
    static const char *const names[ADDRESS_GROUPS] = {"python", "driver", "compiler", "program", "libraries", "kernel_or_unknown"};
    return names[group];
}

/* ---- wording ---- */

/* The top object of a group, without suffixes: "libcuda". */
static void group_object(const struct address_samples *s, enum address_group group, char *to, size_t size)
{
    to[0] = '\0';
    for (size_t i = 0; i < ADDRESS_OBJECTS && !to[0]; i++) {
        struct str name = str_from(s->objects[i].name), stem;
        if (name.len && address_group_of(name, false) == group && str_cut(&name, '.', &stem))
            str_copy(to, size, stem);
    }
}

const char *address_samples_words(const struct address_samples *s, char out[ADDRESS_WORDS])
{
    enum { LEAST = 50, IDLE = 10, FUNCTION_LEAST = 100 };
    static const char *const forms[ADDRESS_GROUPS] = {"is Python code",    "waits in %s",
                                                      "compiles in %s",    "is the program's own",
                                                      "is in libraries%s", "is in the kernel or unknown code"};
    AUTO_BUF struct buf b = BUF(ADDRESS_WORDS - 1);
    if (s->state != READING_OK) {
        str_copy(out, ADDRESS_WORDS, str_from(s->why));
        return out;
    }
    if (s->cpu_permille < IDLE) {
        str_copy(out, ADDRESS_WORDS, STR("it used no CPU time"));
        return out;
    }
    bool done[ADDRESS_GROUPS] = {false};
    for (int n = 0; n < ADDRESS_GROUPS; n++) {
        int best = -1;
        for (int g = 0; g < ADDRESS_GROUPS; g++)
            if (!done[g] && s->permille[g] >= LEAST && (best < 0 || s->permille[g] > s->permille[best]))
                best = g;
        if (best < 0)
            break;
        done[best] = true;
        char object[ADDRESS_NAME_SIZE], what[2 * ADDRESS_NAME_SIZE];
        group_object(s, (enum address_group)best, object, sizeof object);
        snprintf(what, sizeof what, best == ADDRESS_LIBRARIES && object[0] ? " (%s)" : "%s", object);
        if ((best == ADDRESS_DRIVER || best == ADDRESS_COMPILER) && !object[0])
            snprintf(what, sizeof what, best == ADDRESS_DRIVER ? "the driver" : "a compiler");
        buf_printf(&b, "%s%d%% %s", n ? ", " : "", (int)((s->permille[best] + 5) / 10), n ? "" : "of its CPU time ");
        const char *mark = strstr(forms[best], "%s");
        buf_add(&b, forms[best], mark ? (size_t)(mark - forms[best]) : strlen(forms[best]));
        buf_text(&b, mark ? what : "");
    }
    for (size_t i = 0; i < 2 && s->functions[i].permille >= FUNCTION_LEAST; i++)
        buf_printf(&b, "%s%s() in %s %d%%", i ? ", " : "; functions: ", s->functions[i].name, s->functions[i].object,
                   (int)((s->functions[i].permille + 5) / 10));
    str_copy(out, ADDRESS_WORDS, buf_view(&b));
    return out;
}
