/* SPDX-License-Identifier: Apache-2.0 */
#include "format/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "model/finding_code.h"
#include "source/replay/codec.h"
#include "source/replay/reader.h"
#include "test.h"

#include "same_snapshot.h"
#include "sim_snapshot.h"

static char path[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(path, "/tmp/whirr-record-XXXXXX");
    if (!mkdtemp(path))
        return -1;
    strcat(path, "/recording");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    *strrchr(path, '/') = '\0';
    return rmdir(path);
}

static struct recorder *recorder(void)
{
    struct error err = {0};
    struct recorder *r = recorder_open(path, &err);
    if (!r)
        fail_msg("%s", err.text);
    return r;
}

static void add(struct recorder *r, const struct snapshot *s)
{
    struct error err = {0};
    if (recorder_add(r, s, &err) < 0)
        fail_msg("%s", err.text);
}

static struct replay_reader *reader(void)
{
    struct error err = {0};
    struct replay_reader *r;
    if (replay_reader_open(path, &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static const struct snapshot *next(struct replay_reader *r)
{
    struct error err = {0};
    const struct snapshot *s = NULL;
    int rc = replay_reader_next(r, &s, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    return rc ? s : NULL;
}

/* Records `count` samples of a simulated machine, `interval_s` apart; kept where the caller wants to compare. */
static void record_sim(const char *params, size_t count, double interval_s, struct snapshot **keep)
{
    struct sim_machine m;
    sim_machine_start(&m, params);
    struct recorder *r = recorder();
    for (size_t i = 0; i < count; i++) {
        struct snapshot *s = sim_machine_sample(&m, GROUP_ALL);
        add(r, s);
        if (keep)
            keep[i] = s;
        else
            snapshot_unref(s);
        clock_manual_advance_ms(&m.clock, (int64_t)(interval_s * 1000));
    }
    assert_int_equal(recorder_close(r, NULL), 0);
    sim_machine_stop(&m);
}

static size_t count_samples(struct replay_reader_facts *facts)
{
    struct replay_reader *r = reader();
    size_t count = 0;
    for (const struct snapshot *s; (s = next(r)); snapshot_unref(s))
        count++;
    if (facts)
        *facts = replay_reader_facts(r);
    replay_reader_close(r);
    return count;
}

static void every_scenario_comes_back_as_it_was(void **state)
{
    (void)state;
    const struct sim_scenario *all;
    size_t scenarios = sim_scenarios(&all);
    for (size_t i = 0; i < scenarios; i++) {
        enum { COUNT = 40 };
        struct snapshot *written[COUNT];
        char params[64];
        snprintf(params, sizeof params, "scenario=%s,gpus=5,start=0", all[i].name);
        record_sim(params, COUNT, 7.3, written);
        struct replay_reader *r = reader();
        for (size_t k = 0; k < COUNT; k++) {
            const struct snapshot *s = next(r);
            assert_non_null(s);
            assert_same_snapshot(s, written[k]);
            snapshot_unref(s);
            snapshot_unref(written[k]);
        }
        assert_null(next(r));
        assert_int_equal(replay_reader_facts(r).damaged, 0);
        assert_false(replay_reader_facts(r).torn);
        replay_reader_close(r);
        unlink(path);
    }
}

/* Numbers of all sizes, every state, lists that grow and shrink. */
static uint64_t chance = 88172645463325252ULL;

static uint64_t roll(uint64_t sides)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance % sides;
}

static struct reading any_reading(void)
{
    static const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX / 2, INT64_MIN / 2};
    enum reading_state reason = (enum reading_state)roll(READING_PENDING + 1);
    if (reason != READING_OK)
        return reading_absent(reason);
    return reading_ok(roll(4) == 0 ? edges[roll(ARRAY_LEN(edges))] : (int64_t)(roll(UINT64_MAX) >> roll(64)));
}

static void any_text(char *text, size_t size)
{
    size_t len = roll(3) == 0 ? size - 1 : roll(size);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(' ' + roll(90));
    text[len] = '\0';
}

static void any_process(struct process *p)
{
    p->type = (enum process_type)(1 + roll(3));
    p->visible = roll(2);
    p->instance = -1;
    p->start_key = (int64_t)roll(5);
    p->started_at.ms = (int64_t)roll(1ULL << 42);
    p->power_basis = (enum power_basis)roll(4);
    any_text(p->name, sizeof p->name);
    any_text(p->user, sizeof p->user);
    any_text(p->command, sizeof p->command);
    any_text(p->container, sizeof p->container);
    any_text(p->model, sizeof p->model);
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        p->metric[i] = any_reading();
    p->limit.code = (enum limit)roll(LIMIT_COUNT);
    p->limit.second = (enum limit)roll(LIMIT_COUNT);
    p->limit.share_permille = (int64_t)roll(1001);
    if (roll(2))
        return;
    struct host_evidence *h = process_evidence(p);
    for (size_t i = 0; i < EVIDENCE_COUNT; i++)
        h->metric[i] = any_reading();
    any_text(h->busiest_child, sizeof h->busiest_child);
    any_text(h->peer, sizeof h->peer);
    any_text(h->collective, sizeof h->collective);
}

static void any_gpu(struct gpu *g, int index)
{
    g->index = index;
    g->simulated = roll(2);
    g->state = (enum gpu_state)roll(4);
    any_text(g->id.uuid, sizeof g->id.uuid);
    any_text(g->id.name, sizeof g->id.name);
    any_text(g->source, sizeof g->source);
    any_text(g->error_message, sizeof g->error_message);
    any_text(g->profile, sizeof g->profile);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        g->metric[i] = any_reading();
    for (size_t i = 0; i < PROPERTY_COUNT; i++) {
        g->property[i].state = (enum reading_state)roll(READING_PENDING + 1);
        any_text(g->property[i].value, sizeof g->property[i].value);
    }
    g->processes_state = (enum reading_state)roll(READING_PENDING + 1);
    g->processes_hidden = roll(9);
    for (uint64_t i = roll(9); i > 0; i--)
        any_process(gpu_add_process(g, (int32_t)roll(12)));
}

static struct snapshot *any_snapshot(void)
{
    struct snapshot *s = snapshot_new(roll(6));
    s->sequence = roll(UINT64_MAX);
    s->groups = (unsigned)roll(GROUP_ALL + 1);
    s->taken_at.ms = (int64_t)roll(1ULL << 43);
    s->taken.ns = (int64_t)roll(1ULL << 62);
    s->interval_s = (double)roll(1000) / 7;
    if (roll(2)) /* most often, only its readings change */
        any_text(s->host.name, sizeof s->host.name);
    s->host.cpu_permille = any_reading();
    s->host.disk_write_bytes_per_s = any_reading();
    any_text(s->driver.error_message, sizeof s->driver.error_message);
    s->source_count = roll(SOURCES_MAX + 1);
    for (size_t i = 0; i < s->source_count; i++) {
        any_text(s->sources[i].name, sizeof s->sources[i].name);
        if ((s->sources[i].names_driver = roll(4) == 0))
            snprintf(s->sources[i].name, sizeof s->sources[i].name, "nvml");
        s->sources[i].state = (enum source_state)roll(SOURCE_ASLEEP + 1);
        s->sources[i].errors_total = roll(UINT64_MAX);
        s->sources[i].consecutive_errors = (uint32_t)roll(UINT32_MAX);
        any_text(s->sources[i].message, sizeof s->sources[i].message);
    }
    s->event_count = roll(EVENTS_MAX + 1);
    for (size_t i = 0; i < s->event_count; i++) {
        s->events[i] = (struct event){.kind = (enum event_kind)roll(EVENT_OTHER + 1), .code = (int64_t)roll(UINT64_MAX)};
        s->events[i].gpu_index = (int)roll(s->gpu_count + 1) - 1;
        s->events[i].at.ms = (int64_t)roll(1ULL << 43);
        any_text(s->events[i].text, sizeof s->events[i].text);
    }
    for (size_t i = 0; i < s->gpu_count; i++) {
        any_gpu(&s->gpus[i], (int)i);
        for (uint64_t k = roll(4); k > 0; k--) {
            struct gpu *instance = gpu_add_instance(&s->gpus[i]);
            any_gpu(instance, instance->index);
        }
        for (size_t k = 0; k < s->gpus[i].process_count; k++)
            s->gpus[i].processes[k].instance = (int32_t)roll(s->gpus[i].instance_count + 1) - 1;
    }
    return s;
}

static void any_snapshot_comes_back_as_it_was(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    struct snapshot *written[COUNT];
    struct recorder *r = recorder();
    for (size_t i = 0; i < COUNT; i++)
        add(r, written[i] = any_snapshot());
    assert_int_equal(recorder_samples(r), COUNT);
    recorder_close(r, NULL);
    struct replay_reader *back = reader();
    for (size_t i = 0; i < COUNT; i++) {
        const struct snapshot *s = next(back);
        assert_non_null(s);
        assert_same_snapshot(s, written[i]);
        snapshot_unref(s);
        snapshot_unref(written[i]);
    }
    replay_reader_close(back);
}

static off_t file_size(void)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void an_idle_card_costs_less_than_200_bytes_a_sample(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    record_sim("scenario=idle,model=h200", COUNT, 1, NULL);
    double idle = (double)file_size() / COUNT;
    unlink(path);
    record_sim("scenario=training,gpus=8,model=h200", COUNT, 1, NULL);
    double busy = (double)file_size() / COUNT / 8;
    print_message("bytes per GPU and sample: %.1f idle, %.1f training\n", idle, busy);
    assert_true(idle < 200);
    assert_true(busy < 200);
}

static void a_recording_torn_anywhere_is_read_up_to_there(void **state)
{
    (void)state;
    record_sim("scenario=mixed", 6, 1, NULL);
    off_t size = file_size();
    size_t last = SIZE_MAX;
    for (off_t cut = size - 1; cut > 40; cut -= 1 + cut / 200) {
        assert_int_equal(truncate(path, cut), 0);
        size_t count = count_samples(NULL);
        assert_true(count <= 5 && (last == SIZE_MAX || count <= last));
        last = count;
    }
    assert_int_equal(last, 0);
}

static void recording_goes_on_behind_a_torn_end(void **state)
{
    (void)state;
    struct replay_reader_facts facts;
    record_sim("scenario=mixed", 5, 1, NULL);
    assert_int_equal(truncate(path, file_size() - 3), 0);
    assert_int_equal(count_samples(&facts), 4);
    assert_true(facts.torn);
    record_sim("scenario=training,gpus=2", 3, 1, NULL);
    assert_int_equal(count_samples(&facts), 7);
    assert_false(facts.torn);
    assert_int_equal(facts.damaged, 0);
}

static void a_damaged_byte_costs_samples_up_to_the_next_whole_one(void **state)
{
    enum { NEAR = 100 };
    (void)state;
    record_sim("scenario=mixed", 1500, 1, NULL);
    int fd = open(path, O_RDWR);
    off_t size = file_size();
    struct replay_reader_facts facts;
    size_t tried = 0;
    /* Some places, and all around one of them: lengths and checksums, too. */
    for (off_t i = 0; i < NEAR; i++) {
        off_t at = i < 4 ? size / 3 + i * (size / 7) : size / 2 + i;
        char byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        struct replay_reader *r = reader();
        struct error err = {0};
        const struct snapshot *s;
        size_t count = 0;
        while (replay_reader_next(r, &s, &err) == 1) {
            count++;
            snapshot_unref(s);
        }
        facts = replay_reader_facts(r);
        replay_reader_close(r);
        assert_true(count >= 400 && count < 1500);
        assert_true(facts.damaged > 0 || err.text[0]);
        if (!err.text[0]) /* the next whole snapshot is at most 600 away */
            assert_true(count >= 1500 - 601);
        tried += !err.text[0];
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    assert_true(tried > 0);
    assert_int_equal(count_samples(NULL), 1500);
}

static void a_reader_sees_what_is_written_later(void **state)
{
    (void)state;
    record_sim("scenario=idle", 2, 1, NULL);
    struct replay_reader *r = reader();
    snapshot_unref(next(r));
    snapshot_unref(next(r));
    assert_null(next(r));
    record_sim("scenario=idle", 1, 1, NULL);
    const struct snapshot *s = next(r);
    assert_non_null(s);
    snapshot_unref(s);
    replay_reader_close(r);
}

static void a_reader_waits_for_the_rest_of_a_frame(void **state)
{
    (void)state;
    record_sim("scenario=mixed", 3, 1, NULL);
    off_t size = file_size();
    char tail[5];
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, tail, sizeof tail, size - 5), 5);
    assert_int_equal(ftruncate(fd, size - 5), 0);
    struct replay_reader *r = reader();
    snapshot_unref(next(r));
    snapshot_unref(next(r));
    assert_null(next(r));
    assert_true(replay_reader_facts(r).torn);
    assert_int_equal(pwrite(fd, tail, sizeof tail, size - 5), 5);
    close(fd);
    const struct snapshot *s = next(r);
    assert_non_null(s);
    snapshot_unref(s);
    assert_int_equal(replay_reader_facts(r).damaged, 0);
    replay_reader_close(r);
}

static void more_processes_than_a_recording_holds_are_counted(void **state)
{
    (void)state;
    enum { CARDS = 20 };
    struct snapshot *s = snapshot_new(CARDS);
    for (size_t i = 0; i < CARDS; i++) {
        s->gpus[i].index = (int)i;
        for (int k = 0; k < GPU_PROCESSES_MAX; k++)
            gpu_add_process(&s->gpus[i], 1000 + k);
    }
    struct recorder *r = recorder();
    add(r, s);
    add(r, s);
    recorder_close(r, NULL);
    struct replay_reader *back = reader();
    for (int n = 0; n < 2; n++) {
        const struct snapshot *read = next(back);
        assert_non_null(read);
        size_t kept = 0, left_out = 0;
        for (size_t i = 0; i < CARDS; i++) {
            kept += read->gpus[i].process_count;
            left_out += read->gpus[i].processes_left_out;
        }
        assert_int_equal(kept, 16384);
        assert_int_equal(kept + left_out, CARDS * GPU_PROCESSES_MAX);
        snapshot_unref(read);
    }
    assert_int_equal(s->gpus[CARDS - 1].process_count, GPU_PROCESSES_MAX); /* the snapshot is shared: it stays as it is */
    replay_reader_close(back);
    snapshot_unref(s);
}

static void a_full_disk_leaves_a_whole_recording(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=mixed");
    struct recorder *r = recorder();
    struct snapshot *s = sim_machine_sample(&m, GROUP_ALL);
    add(r, s);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit = {(rlim_t)recorder_bytes(r) + 5, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    limit.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct error err = {0};
    clock_manual_advance_ms(&m.clock, 1000);
    struct snapshot *later = sim_machine_sample(&m, GROUP_ALL);
    int rc = recorder_add(r, later, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(rc < 0);
    assert_non_null(strstr(err.text, "cannot write"));
    struct replay_reader_facts facts;
    assert_int_equal(count_samples(&facts), 1);
    assert_false(facts.torn);
    add(r, later); /* there is room again */
    recorder_close(r, NULL);
    assert_int_equal(count_samples(NULL), 2);
    snapshot_unref(s);
    snapshot_unref(later);
    sim_machine_stop(&m);
}

static void write_file(const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
}

static void other_files_are_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {{"my precious notes, nothing else", "not a recording"},
                 {"\x1f\x8b\x08 something packed .....", "unpack it first"},
                 {"whirr-recording 2\nwhatever", "newer version"},
                 {"x", "not a recording"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct replay_reader *r;
        write_file(cases[i].text, strlen(cases[i].text));
        assert_null(recorder_open(path, &err));
        assert_non_null(strstr(err.text, cases[i].says));
        assert_int_equal(file_size(), strlen(cases[i].text));
        assert_int_equal(replay_reader_open(path, &r, &err), -EINVAL);
    }
}

/* Replaces the first occurrence of a name by one of the same length. */
static void rename_column(struct buf *schema, const char *from, const char *to)
{
    char *at = memmem(schema->at, schema->len, from, strlen(from));
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
}

static void unknown_columns_and_frames_are_left_out(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=training,gpus=1");
    struct snapshot *s = sim_machine_sample(&m, GROUP_ALL);
    AUTO_BUF struct buf schema = BUF(1 << 16), key = BUF(1 << 20), file = BUF(1 << 20);
    schema_write(&schema);
    rename_column(&schema, "clock_video_khz", "clock_phase_khz"); /* a later version calls it so */
    rename_column(&schema, "temp_mdegc", "temp_other");
    snapshot_encode(&key, s, NULL);
    buf_text(&file, RECORDING_MAGIC);
    frame_build(&file, FRAME_SCHEMA, buf_view(&schema));
    frame_build(&file, 'Z', STR("of a later version"));
    frame_build(&file, FRAME_KEY, buf_view(&key));

    struct replay_reader *r;
    assert_int_equal(replay_reader_open_memory(file.at, file.len, &r, NULL), 0);
    const struct snapshot *read = next(r);
    assert_non_null(read);
    const struct gpu *g = &read->gpus[0];
    assert_int_equal(g->clock_video_khz.state, READING_UNREAD);
    assert_int_equal(g->temp_mdegc.state, READING_UNREAD);
    assert_same_reading(g->power_mw, s->gpus[0].power_mw, "power");
    assert_same_reading(g->ecc_corrected, s->gpus[0].ecc_corrected, "ecc");
    assert_same_reading(g->clock_memory_khz, s->gpus[0].clock_memory_khz, "memory clock");
    snapshot_unref(read);
    replay_reader_close(r);
    snapshot_unref(s);
    sim_machine_stop(&m);
}

/* As a daemon sends it to the commands of its host. */
static void what_was_found_comes_back_as_it_was(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(2);
    s->taken_at.ms = INT64_C(1790000000000);
    s->verdict = verdict_new(2, 2);
    s->verdict->count = 2;
    s->verdict->findings[0] = (struct finding){.code = FINDING_HEAT_LIMIT,
                                               .severity = SEVERITY_CRITICAL,
                                               .muted = true,
                                               .is_effect = true,
                                               .root = FINDING_FAN_STOPPED,
                                               .confidence = 0.97,
                                               .gpu_index = 1,
                                               .pid = 77,
                                               .since.ms = s->taken_at.ms - 60000,
                                               .share_minute_permille = reading_ok(1000),
                                               .share_ten_permille = reading_ok(0),
                                               .power_mw = 412500,
                                               .headline = "GPU 1 is throttling (93 °C)"};
    s->verdict->findings[1] = (struct finding){.code = FINDING_LOST,
                                               .tense = TENSE_WAS,
                                               .confidence = 1,
                                               .gpu_index = -1,
                                               .since.ms = s->taken_at.ms - 9000,
                                               .until.ms = s->taken_at.ms - 5000};
    s->verdict->gpus[1] = (struct gpu_looked){.gpu_index = 1, .looked = 5, .missing = "fans", .health_level = reading_ok(2)};
    AUTO_BUF struct buf schema = BUF(1 << 16), key = BUF(1 << 20), file = BUF(1 << 20);
    schema_write(&schema);
    snapshot_encode(&key, s, NULL);
    buf_text(&file, RECORDING_MAGIC);
    frame_build(&file, FRAME_SCHEMA, buf_view(&schema));
    frame_build(&file, FRAME_KEY, buf_view(&key));
    struct replay_reader *r;
    assert_int_equal(replay_reader_open_memory(file.at, file.len, &r, NULL), 0);
    const struct snapshot *read = next(r);
    assert_non_null(read);
    assert_non_null(read->verdict);
    assert_int_equal(read->verdict->count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct finding *a = &read->verdict->findings[i], *b = &s->verdict->findings[i];
        assert_int_equal(a->code, b->code);
        assert_int_equal(a->severity, b->severity);
        assert_int_equal(a->muted, b->muted);
        assert_int_equal(a->is_effect, b->is_effect);
        assert_int_equal(a->root, b->root);
        assert_true(a->confidence == b->confidence);
        assert_int_equal(a->gpu_index, b->gpu_index);
        assert_int_equal(a->pid, b->pid);
        assert_int_equal(a->tense, b->tense);
        assert_int_equal(a->since.ms, b->since.ms);
        assert_int_equal(a->until.ms, b->until.ms);
        assert_same_reading(a->share_minute_permille, b->share_minute_permille, "share of a minute");
        assert_same_reading(a->share_ten_permille, b->share_ten_permille, "share of ten minutes");
        assert_int_equal(a->power_mw, b->power_mw);
        assert_string_equal(a->headline, b->headline);
        const struct gpu_looked *l = &read->verdict->gpus[i], *m = &s->verdict->gpus[i];
        assert_int_equal(l->gpu_index, m->gpu_index);
        assert_int_equal(l->looked, m->looked);
        assert_string_equal(l->missing, m->missing);
        assert_same_reading(l->health_level, m->health_level, "health");
    }
    snapshot_unref(read);
    replay_reader_close(r);
    snapshot_unref(s);
}

static void columns_that_changed_places_are_found(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=training,gpus=1");
    struct snapshot *s = sim_machine_sample(&m, GROUP_ALL);
    AUTO_BUF struct buf schema = BUF(1 << 16), key = BUF(1 << 20), file = BUF(1 << 20);
    schema_write(&schema);
    rename_column(&schema, "pcie_width", "xxxxxxxxxx");
    rename_column(&schema, "temp_mdegc", "pcie_width");
    rename_column(&schema, "xxxxxxxxxx", "temp_mdegc");
    snapshot_encode(&key, s, NULL);
    buf_text(&file, RECORDING_MAGIC);
    frame_build(&file, FRAME_SCHEMA, buf_view(&schema));
    frame_build(&file, FRAME_KEY, buf_view(&key));
    struct replay_reader *r;
    assert_int_equal(replay_reader_open_memory(file.at, file.len, &r, NULL), 0);
    const struct snapshot *read = next(r);
    assert_non_null(read);
    assert_same_reading(read->gpus[0].temp_mdegc, s->gpus[0].pcie_width, "written as width");
    assert_same_reading(read->gpus[0].pcie_width, s->gpus[0].temp_mdegc, "written as temperature");
    assert_same_reading(read->gpus[0].power_mw, s->gpus[0].power_mw, "power");
    snapshot_unref(read);
    replay_reader_close(r);
    snapshot_unref(s);
    sim_machine_stop(&m);
}

static void a_recording_is_for_its_owner(void **state)
{
    (void)state;
    record_sim("scenario=idle", 1, 1, NULL);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
}

#define RECORDING_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDING_TEST(every_scenario_comes_back_as_it_was),
        RECORDING_TEST(any_snapshot_comes_back_as_it_was),
        RECORDING_TEST(an_idle_card_costs_less_than_200_bytes_a_sample),
        RECORDING_TEST(a_recording_torn_anywhere_is_read_up_to_there),
        RECORDING_TEST(recording_goes_on_behind_a_torn_end),
        RECORDING_TEST(a_damaged_byte_costs_samples_up_to_the_next_whole_one),
        RECORDING_TEST(a_reader_sees_what_is_written_later),
        RECORDING_TEST(a_reader_waits_for_the_rest_of_a_frame),
        RECORDING_TEST(more_processes_than_a_recording_holds_are_counted),
        RECORDING_TEST(a_full_disk_leaves_a_whole_recording),
        RECORDING_TEST(other_files_are_left_alone),
        RECORDING_TEST(unknown_columns_and_frames_are_left_out),
        RECORDING_TEST(what_was_found_comes_back_as_it_was),
        RECORDING_TEST(columns_that_changed_places_are_found),
        RECORDING_TEST(a_recording_is_for_its_owner),
    };
    return RUN_TESTS(tests);
}
