// What is read on the other thread: in order, whole or with a reason, and thrown away when nobody waits any more.
#include "base/json.h"
#include "base/memory.h"
#include "tui/code_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static const char sass[] = "//--------------------- .text.k --------------------------\n"
                           "\t.section\t.text.k,\"ax\",@progbits\n"
                           "k:\n"
                           "        /*0000*/                   FADD R1, R2, R3 ;\n";

static void ask(struct kb_code_reader *r, enum kb_code_form form, unsigned serial, const char *text)
{
    struct kb_code_read read = {.form = form, .serial = serial, .text = kb_strdup(text), .size = strlen(text)};
    kb_code_reader_ask(r, &read);
    assert_null(read.text);
}

static void take(struct kb_code_reader *r, struct kb_code_read *out)
{
    while (!kb_code_reader_take(r, out)) {
        struct pollfd fd = {kb_code_reader_fd(r), POLLIN, 0};
        assert_int_equal(poll(&fd, 1, 60000), 1);
    }
    assert_null(out->text);
    assert_int_equal((out->listing != NULL) + (out->samples != NULL) + (out->diff != NULL) + (out->reason != NULL), 1);
}

static void each_form_is_read_in_order(void **state)
{
    (void)state;
    struct kb_code_reader *r = kb_code_reader_new();
    struct kb_code_read read;
    double most;
    assert_false(kb_code_reader_take(r, &read));
    ask(r, KB_FORM_LISTING, 1, sass);
    ask(r, KB_FORM_SAMPLES, 2,
        "{\"kernels\":[{\"name\":\"k\",\"pcs\":[[32,5,\"memory\"],[16,7,\"issuing\"],[32,4,\"issuing\"]]},"
        "{\"name\":\"j\",\"pcs\":[[16,100,\"memory\"]]}]}");
    ask(r, KB_FORM_DIFF, 3, "{\"kind\":\"sass\"}");
    take(r, &read);
    assert_int_equal(read.serial, 1);
    assert_int_equal(read.listing->kernels[0].count, 1);
    kb_code_read_free(&read);
    take(r, &read);
    assert_int_equal(read.serial, 2);
    assert_true(kb_samples_at(read.samples, "k", 32, &most) == 9); // one place, two entries
    assert_true(most == 9);
    assert_true(kb_samples_at(read.samples, "k", 16, &most) == 7);
    assert_true(kb_samples_at(read.samples, "k", 48, &most) == 0);
    assert_true(kb_samples_at(read.samples, "j", 16, &most) == 100);
    assert_true(kb_samples_at(read.samples, "nobody", 16, &most) == 0 && most == 0);
    kb_code_read_free(&read);
    take(r, &read);
    assert_int_equal(read.serial, 3);
    assert_string_equal(kb_json_text(read.diff, "kind", ""), "sass");
    kb_code_read_free(&read);
    kb_code_reader_free(r);
}

static void what_cannot_be_read_has_a_reason(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "no listing at all\n", "[]", "{\"kernels\":", "{\"kernels\":[]}"};
    struct kb_code_reader *r = kb_code_reader_new();
    for (size_t i = 0; i < KB_COUNT(bad); i++)
        for (int form = KB_FORM_LISTING; form <= KB_FORM_DIFF; form++) {
            struct kb_code_read read;
            ask(r, (enum kb_code_form)form, 1, bad[i]);
            take(r, &read);
            bool object = form == KB_FORM_DIFF && i == 4; // a document, if an empty one
            assert_true(object ? read.diff != NULL : read.reason && *read.reason);
            kb_code_read_free(&read);
        }
    kb_code_reader_free(r);
}

static void it_may_go_while_it_reads(void **state)
{
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        struct kb_code_reader *r = kb_code_reader_new();
        for (int i = 0; i < 8; i++)
            ask(r, KB_FORM_LISTING, (unsigned)i, sass);
        struct kb_code_read read;
        if (turn % 2) {
            take(r, &read);
            kb_code_read_free(&read);
        }
        kb_code_reader_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_is_read_in_order),
        cmocka_unit_test(what_cannot_be_read_has_a_reason),
        cmocka_unit_test(it_may_go_while_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
