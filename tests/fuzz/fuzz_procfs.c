/* SPDX-License-Identifier: Apache-2.0
 * What other processes put into /proc: names, command lines, cgroups; and /etc/passwd. The first byte chooses the reader.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/secret/mask.h"
#include "host/identity.h"
#include "host/linux/process_files.h"
#include "host/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void is_clean(const char *text)
{
    struct str rest = str_from(text);
    while (rest.len) {
        size_t n = str_utf8(rest);
        require(n > 0 && (unsigned char)rest.at[0] >= ' ');
        rest = (struct str){rest.at + n, rest.len - n};
    }
}

static void command_line(struct str text)
{
    struct str args[ARGUMENTS_MAX];
    size_t count = proc_arguments(text, args, ARGUMENTS_MAX);
    require(count <= ARGUMENTS_MAX);
    char shown[512], model[64];
    mask_arguments(args, count, shown, sizeof shown);
    model_name(args, count, model, sizeof model);
    is_clean(shown);
    is_clean(model);
}

/* Whatever stands around it, a key behind its name does not come through. */
static void a_secret_stays_secret(struct str text)
{
    static const char secret[] = "hf_s3cretS3cretS3cret";
    struct str args[3] = {{text.at, text.len}, STR("--api-key"), STR(secret)};
    char shown[4096];
    if (text.len > 1000 || memmem(text.at, text.len, secret, 8)) /* the fuzzer learns the word */
        return;
    mask_arguments(args + 1, 2, shown, sizeof shown);
    require(!strstr(shown, secret));
    mask_arguments(args, 3, shown, sizeof shown);
    require(!strstr(shown, secret));
    /* The same in a list, and in a sentence with a URL. */
    AUTO_BUF struct buf list = BUF(65536), sentence = BUF(65536), said = BUF(65536);
    mask_each(args, 3, &list);
    require(!list.at || !memmem(list.at, list.len, secret, sizeof secret - 1));
    buf_str(&sentence, text);
    buf_printf(&sentence, " http://bob:%s@host/?token=%s", secret, secret);
    mask_text(buf_view(&sentence), &said);
    require(!said.at || !memmem(said.at, said.len, secret, sizeof secret - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str text = {(const char *)data + 1, size - 1}, name;
    struct proc_stat stat;
    struct proc_status status;
    char container[96];
    switch (data[0] % 5) {
    case 0: command_line(text); break;
    case 1: a_secret_stays_secret(text); break;
    case 2:
        container_name(text, container, sizeof container);
        is_clean(container);
        break;
    case 3:
        if (proc_stat_parse(text, &stat))
            require(stat.comm.at >= text.at && stat.comm.at + stat.comm.len <= text.at + text.len && stat.cpu_ticks >= 0);
        break;
    default:
        proc_status_parse(text, &status);
        require(status.uid >= -1 && status.vm_rss_bytes >= -1);
        if (passwd_find(text, 1000, &name))
            require(name.len > 0);
    }
    return 0;
}
