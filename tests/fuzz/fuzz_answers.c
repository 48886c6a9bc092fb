/* SPDX-License-Identifier: Apache-2.0
 * What a daemon may answer, hostile or of another version. Any answer is read by its table: what was read can be written, and comes
 * back the same. The first byte chooses which.
 */
#include <stdint.h>
#include <string.h>

#include "answer_members.h"
#include "base/cleanup.h"
#include "format/capacity_forms.h"
#include "format/forecast_forms.h"
#include "format/health_forms.h"
#include "format/json/json.h"
#include "format/notifiers.h"
#include "insight/view/why.h"
#include "lease/lease.h"
#include "serve/api/assets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WRITTEN_MAX = 8 << 20, ANSWERS_MAX = 128 };

static struct {
    size_t count;
    struct answer list[ANSWERS_MAX];
} every;

static void add(const struct answer *a, void *user)
{
    (void)user;
    if (every.count < ANSWERS_MAX)
        deep_members(a, &every.list[every.count++]);
}

static void write_record(struct buf *out, const struct answer *a, const void *record)
{
    struct json_writer j = JSON_WRITER(out);
    answer_write(&j, a, record, NULL);
}

/* Numbers are rounded once: what was written is read and written to the same text. */
static void there_and_back(const struct answer *a, const json_t *json)
{
    AUTO_FREE char *record = calloc(1, a->size), *again = calloc(1, a->size);
    AUTO_BUF struct buf first = BUF(WRITTEN_MAX), second = BUF(WRITTEN_MAX);
    const char *wrong;
    answer_read(a, json, record, &wrong);
    write_record(&first, a, record);
    if (first.failed)
        abort();
    json_t *own = json_loadb(first.at, first.len, JSON_REJECT_DUPLICATES, NULL);
    if (!own)
        abort();
    answer_read(a, own, again, &wrong);
    write_record(&second, a, again);
    if (!str_equal(buf_view(&first), buf_view(&second)))
        abort();
    json_decref(own);
}

/* The readers that commands have. */
static void read_all(struct str text, const json_t *json)
{
    struct forecast_basis basis;
    struct health_basis health_basis;
    struct notifier_stats notifiers[4];
    struct lease lease;
    struct error err;
    AUTO_BUF struct buf texts = BUF(1 << 20);
    struct snapshot *s = snapshot_new(json_array_size(json_object_get(json, "gpus")) % 4);
    free(capacity_from_json(text));
    free(forecast_from_json(text, &basis));
    free(health_from_json(text, &health_basis, &texts));
    notifiers_from_json(text, notifiers, ARRAY_LEN(notifiers));
    lease_from_json(json, &lease, &err);
    if (s)
        why_free(why_from_json(json, s));
    snapshot_unref(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!every.count)
        answer_each_named(all_answers, all_answer_count, add, NULL);
    if (!size)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    json_t *json = json_loadb(text.at, text.len, 0, NULL);
    if (json)
        there_and_back(&every.list[data[0] % every.count], json);
    read_all(text, json);
    json_decref(json);
    return 0;
}
