/* SPDX-License-Identifier: Apache-2.0
 * What a store that says "written" promises: after a power cut, after kill -9, on a full disk, with a damaged file.
 */
#include "fault_vfs.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "sql.h"
#include "store/service/service.h"

/* A child writes samples and tells after each how many are written; it ends, or is ended, in the middle. Returns the last number.
 */
static int64_t write_until_the_end(const char *name, int64_t begin_ms, int ends_after, bool power_cut)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        fault_holds_back = power_cut;
        struct sim_history h;
        sim_history_open(&h, "gpus=2,scenario=bursty");
        h.clock.today.ms = begin_ms;
        struct store *s = open_store(name);
        for (int64_t i = 1;; i++) {
            if (power_cut && i > ends_after) {
                /* In the middle of a transaction that was not committed. */
                _exit(0);
            }
            const struct snapshot *snapshot = sim_history_next(&h);
            write_one(s, snapshot);
            snapshot_unref(snapshot);
            if (write(ends[1], &i, sizeof i) != sizeof i)
                _exit(1);
        }
    }
    close(ends[1]);
    int64_t told = 0, number;
    while (read(ends[0], &number, sizeof number) == sizeof number) {
        told = number;
        if (!power_cut && told == ends_after)
            kill(child, SIGKILL);
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    return told;
}

static void assert_whole(const char *name, int64_t written)
{
    char text[64];
    sql_text(name, "PRAGMA integrity_check", text, sizeof text);
    assert_string_equal(text, "ok");
    int64_t rows = sql_i64(name, "SELECT COUNT(*) FROM samples");
    assert_true(rows >= 2 * written && rows <= 2 * (written + 1)); /* the one that was being written may be there, wholly */
    assert_int_equal(rows % 2, 0);
    /* What is summed up, and what is not yet, make everything together. */
    assert_int_equal(
        sql_i64(name, "SELECT COALESCE((SELECT SUM(samples) FROM minutes), 0) + (SELECT COUNT(*) FROM samples s WHERE EXISTS "
                      "(SELECT 1 FROM pending p WHERE p.series = 0 AND p.level = 1 AND p.subject = (s.id & 16383) AND "
                      "p.bucket = (s.id >> 14) / 60000))"),
        rows);
}

static void nothing_that_was_written_is_lost_when_the_power_fails(void **state)
{
    (void)state;
    int64_t written = 0, begin_ms = HISTORY_BEGIN.ms;
    for (int round = 0; round < 12; round++) {
        int64_t told = write_until_the_end("power.db", begin_ms, 5 + round * 7 % 23, true);
        assert_int_equal(told, 5 + round * 7 % 23);
        written += told;
        begin_ms += 86400000;
        assert_whole("power.db", written);
    }
}

static void nothing_that_was_written_is_lost_with_kill_9(void **state)
{
    (void)state;
    int64_t written = 0, begin_ms = HISTORY_BEGIN.ms;
    for (int round = 0; round < 12; round++) {
        int64_t told = write_until_the_end("kill.db", begin_ms, 5 + round * 11 % 29, false);
        written += told;
        begin_ms += 86400000;
        /* More than one may have been written between the last word and the end. */
        int64_t rows = sql_i64("kill.db", "SELECT COUNT(*) FROM samples") / 2;
        assert_true(rows >= written);
        written = rows;
        assert_whole("kill.db", written);
    }
}

struct heard {
    _Atomic int errors, infos;
    pthread_mutex_t lock; /* of `last` */
    char last[256];
};

static void hear(void *user, enum log_level level, const char *message)
{
    struct heard *heard = user;
    if (level >= LOG_ERROR)
        heard->errors++;
    else
        heard->infos++;
    pthread_mutex_lock(&heard->lock);
    snprintf(heard->last, sizeof heard->last, "%s", message);
    pthread_mutex_unlock(&heard->lock);
}

static bool heard_last(struct heard *heard, const char *words)
{
    pthread_mutex_lock(&heard->lock);
    bool found = strstr(heard->last, words) != NULL;
    pthread_mutex_unlock(&heard->lock);
    return found;
}

static struct store_service *start(const char *name, struct heard *heard)
{
    struct error err;
    static struct clock_manual clock; /* of the time of the samples, or they would be too old to be kept */
    clock_manual_init(&clock, HISTORY_BEGIN);
    const struct store_service_options options = {
        .clock = &clock.clock,
        .store = {.env = &test_env, .url = store_url(name), .host = "", .limits = store_default_limits},
        .say = hear,
        .user = heard};
    struct store_service *v = store_service_new(&options, &err);
    assert_non_null(v);
    return v;
}

/* Waits for what must come, however slow the machine is. */
static struct store_status wait_for(struct store_service *v, enum store_state state, uint64_t written)
{
    struct store_status status;
    if (EVENTUALLY((store_service_status(v, &status), status.state == state && status.written >= written)))
        return status;
    fail_msg("the store stayed %s with %llu written: %s", store_state_name(status.state), (unsigned long long)status.written,
             status.message);
    return status;
}

static void a_full_disk_is_said_once_and_survived(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct store_service *v = start("full.db", &heard);
    mailbox_put(store_service_inbox(v), sim_history_next(&h));
    wait_for(v, STORE_OK, 1);
    fault_disk_full = true;
    for (int i = 0; i < 5; i++)
        mailbox_put(store_service_inbox(v), sim_history_next(&h));
    struct store_status status = wait_for(v, STORE_FULL, 1);
    assert_string_equal(status.message, "the disk is full");
    for (int i = 0; i < 5; i++)
        mailbox_put(store_service_inbox(v), sim_history_next(&h));
    int refused = fault_refused;
    assert_true(EVENTUALLY(fault_refused > refused)); /* a second attempt, which is not told again */
    assert_int_equal(heard.errors, 1);
    fault_disk_full = false;
    status = wait_for(v, STORE_OK, 11);
    assert_int_equal(status.lost, 0);
    assert_int_equal(status.queued, 0);
    assert_int_equal(heard.errors, 1);
    assert_int_equal(heard.infos, 1);
    store_service_free(v, 10000);
    assert_int_equal(sql_i64("full.db", "SELECT COUNT(*) FROM samples"), 11);
    sim_history_close(&h);
}

static void a_damaged_file_is_moved_aside_at_the_start_and_later(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    char path[200];
    snprintf(path, sizeof path, "%s/damaged.db", store_folder);
    FILE *f = fopen(path, "w");
    fputs("this is not a database, and it is longer than the header of one, which is a hundred bytes long, so it is noticed", f);
    fclose(f);
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct store_service *v = start("damaged.db", &heard);
    mailbox_put(store_service_inbox(v), sim_history_next(&h));
    wait_for(v, STORE_OK, 1);
    assert_int_equal(heard.errors, 1);
    assert_true(heard_last(&heard, "moved to"));
    store_service_free(v, 10000);

    /* Pages in the middle become noise. */
    struct store *s = open_store("damaged.db");
    for (int i = 0; i < 400; i++) {
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
    }
    store_close(s);
    f = fopen(path, "r+");
    fseek(f, 8192, SEEK_SET);
    for (int i = 0; i < 8192 * 12; i++)
        fputc(i * 31 % 255, f);
    fclose(f);
    heard = (struct heard){0};
    v = start("damaged.db", &heard);
    mailbox_put(store_service_inbox(v), sim_history_next(&h));
    wait_for(v, STORE_OK, 1);
    assert_true(heard.errors >= 1);
    assert_int_equal(sql_i64("damaged.db", "SELECT COUNT(*) FROM samples"), 1);
    store_service_free(v, 10000);
    sim_history_close(&h);
}

/* A question about the size of the file; its answer goes into a mailbox. */
struct size_question {
    struct store_question question;
    struct mailbox *answers;
    int64_t used;
};

static int read_size(struct store_question *question, struct store *s, struct error *err)
{
    return store_used_bytes(s, &((struct size_question *)question)->used, err);
}

static void give_size(struct store_question *question, int rc, const struct error *err)
{
    struct size_question *q = (struct size_question *)question;
    int64_t *answer = malloc(sizeof *answer);
    (void)err;
    *answer = rc < 0 ? -1 : q->used;
    mailbox_put(q->answers, answer);
    free(q);
}

static void ask_size(struct store_service *v, struct mailbox *answers)
{
    struct size_question *q = calloc(1, sizeof *q);
    *q = (struct size_question){.question = {.read = read_size, .answered = give_size}, .answers = answers};
    assert_int_equal(store_service_ask(v, &q->question), 0);
}

static void questions_are_answered_beside_the_writer(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct store_service *v = start("ask.db", &heard);
    struct store_event event = {.at = HISTORY_BEGIN, .gpu_index = -1, .kind = "daemon", .severity = "info", .text = "started"};
    store_service_event(v, &event);
    mailbox_put(store_service_inbox(v), sim_history_next(&h));
    wait_for(v, STORE_OK, 1);
    struct mailbox *answers = mailbox_new(4, free);
    ask_size(v, answers);
    int64_t *answer = mailbox_take(answers, 30000);
    assert_non_null(answer);
    assert_true(*answer > 0);
    free(answer);
    /* What came last is written before the end. */
    mailbox_put(store_service_inbox(v), sim_history_next(&h));
    store_service_event(v, &event);
    store_service_free(v, 30000);
    assert_int_equal(sql_i64("ask.db", "SELECT COUNT(*) FROM samples"), 2);
    assert_int_equal(sql_i64("ask.db", "SELECT COUNT(*) FROM events"), 2);
    mailbox_free(answers);
    sim_history_close(&h);
}

static int thread_count(void)
{
    int count = 0;
    char line[256];
    AUTO_FCLOSE FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "Threads: %d", &count);
    return count;
}

static void an_unused_reader_ends_and_the_next_question_is_answered(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct store_service *v = start("idle.db", &heard);
    mailbox_put(store_service_inbox(v), sim_history_next(&h));
    wait_for(v, STORE_OK, 1);
    int without = thread_count();
    struct mailbox *answers = mailbox_new(4, free);
    for (int i = 0; i < 2; i++) {
        ask_size(v, answers);
        AUTO_FREE int64_t *answer = mailbox_take(answers, 30000);
        assert_true(answer && *answer > 0);
        assert_int_equal(thread_count(), without + 1);
        assert_true(EVENTUALLY(thread_count() == without));
    }
    store_service_free(v, 30000);
    mailbox_free(answers);
    sim_history_close(&h);
}

static void a_removed_file_is_made_anew(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct store_service *v = start("removed.db", &heard);
    char path[200];
    snprintf(path, sizeof path, "%s/removed.db", store_folder);
    for (int i = 0; i < 3; i++)
        mailbox_put(store_service_inbox(v), sim_history_next(&h));
    wait_for(v, STORE_OK, 3);
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 2; i++)
        mailbox_put(store_service_inbox(v), sim_history_next(&h));
    struct store_status status = wait_for(v, STORE_OK, 5);
    assert_int_equal(status.lost, 0);
    assert_non_null(strstr(status.message, "was removed while whirr was running"));
    assert_int_equal(heard.errors, 1);
    assert_true(heard_last(&heard, "was removed or replaced"));
    struct mailbox *answers = mailbox_new(4, free);
    ask_size(v, answers);
    AUTO_FREE int64_t *answer = mailbox_take(answers, 30000);
    assert_true(answer && *answer > 0); /* readers look at the new one, too */
    store_service_free(v, 30000);
    assert_int_equal(sql_i64("removed.db", "SELECT COUNT(*) FROM samples"), 2);
    mailbox_free(answers);
    sim_history_close(&h);
}

static void more_samples_than_fit_push_out_the_oldest(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    fault_disk_full = true;
    struct store_service *v = start("many.db", &heard);
    struct pollfd inbox = {.fd = mailbox_fd(store_service_inbox(v)), .events = POLLIN};
    for (int i = 0; i < 300; i++) {
        mailbox_put(store_service_inbox(v), sim_history_next(&h));
        assert_true(EVENTUALLY(poll(&inbox, 1, 0) == 0)); /* taken: it is the queue behind it that overflows */
    }
    fault_disk_full = false;
    struct store_status status = wait_for(v, STORE_OK, 100);
    assert_true(EVENTUALLY((store_service_status(v, &status), !status.queued && status.written + status.lost >= 300)));
    assert_int_equal(status.written + status.lost, 300);
    assert_true(status.lost >= 60);
    store_service_free(v, 10000);
    assert_int_equal(sql_i64("many.db", "SELECT MAX(id >> 14) FROM samples"), HISTORY_BEGIN.ms + 299 * 5000);
    sim_history_close(&h);
}

int main(void)
{
    make_store_folder();
    fault_vfs_install();
    const struct CMUnitTest tests[] = {
        TEST(nothing_that_was_written_is_lost_when_the_power_fails),
        TEST(nothing_that_was_written_is_lost_with_kill_9),
        TEST(a_full_disk_is_said_once_and_survived),
        TEST(a_damaged_file_is_moved_aside_at_the_start_and_later),
        TEST(questions_are_answered_beside_the_writer),
        TEST(an_unused_reader_ends_and_the_next_question_is_answered),
        TEST(a_removed_file_is_made_anew),
        TEST(more_samples_than_fit_push_out_the_oldest),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
