// Which lane gets which version next: a table of cases.
#include "base/memory.h"
#include "loop/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SLOTS = 3 };

struct row {
    const char *what;
    struct kb_schedule_slot slots[SLOTS];
    int focus, baseline; // by number, from 1; 0: none
    bool compiling, run_busy, verdicts_open, others;
    struct kb_schedule next; // by number, from 1; 0: none
};

static const struct row rows[] = {
    {.what = "nothing is asked for", .next = {.profile_may_work = true}},
    {.what = "the newest save compiles first",
     .slots = {{.saved_us = 1, .in_flight = true, .compile = true},
               {.saved_us = 3, .in_flight = true, .compile = true},
               {.saved_us = 2, .in_flight = true, .compile = true}},
     .next = {.compile = 2}},
    {.what = "saved at one time, the order of the bench counts",
     .slots = {{0}, {.saved_us = 2, .compile = true, .in_flight = true}, {.saved_us = 2, .compile = true}},
     .next = {.compile = 2}},
    {.what = "the focused variant goes before a newer save",
     .slots = {{.saved_us = 1, .in_flight = true, .compile = true},
               {.saved_us = 3, .in_flight = true, .compile = true}},
     .focus = 1,
     .next = {.compile = 1}},
    {.what = "the baseline goes before a newer save, but behind the focused variant",
     .slots = {{.saved_us = 1, .in_flight = true, .ladder = true},
               {.saved_us = 3, .in_flight = true, .ladder = true},
               {.saved_us = 2, .in_flight = true, .compile = true}},
     .focus = 3,
     .baseline = 1,
     .next = {.compile = 3, .run = 1}},
    {.what = "one version compiles at a time", .slots = {{.in_flight = true, .compile = true}}, .compiling = true},
    {.what = "the history's answer for the first in line is waited for",
     .slots = {{.saved_us = 1, .in_flight = true, .compile = true},
               {.saved_us = 2, .in_flight = true, .lookup = true}}},
    {.what = "but not for another",
     .slots = {{.saved_us = 2, .in_flight = true, .compile = true}, {.saved_us = 1, .in_flight = true, .lookup = true}},
     .next = {.compile = 1}},
    {.what = "first verdicts go before second timings",
     .slots = {{.saved_us = 1, .in_flight = true, .ladder = true}, {.saved_us = 2, .settle = true}},
     .focus = 2,
     .next = {.run = 1}},
    {.what = "of second timings the newest save's comes first",
     .slots = {{.saved_us = 1, .settle = true}, {.saved_us = 2, .settle = true}},
     .next = {.run = 2}},
    {.what = "a save goes before late rungs, but for listings",
     .slots = {{.in_flight = true, .compile = true}, {.races = true, .sass = true, .profile = 3}},
     .others = true,
     .next = {.compile = 1, .sass = 2}},
    {.what = "late rungs go in the order of the bench, whenever they were saved",
     .slots = {{.saved_us = 1, .races = true, .sass = true, .profile = 3},
               {.saved_us = 2, .races = true, .sass = true, .profile = 3}},
     .others = true,
     .next = {.races = 1, .sass = 1, .profile = 1, .profile_may_work = true}},
    {.what = "the focused variant's late rungs go first",
     .slots = {{.races = true, .sass = true, .profile = 3}, {.races = true, .sass = true, .profile = 3}},
     .focus = 2,
     .others = true,
     .next = {.races = 2, .sass = 2, .profile = 2, .profile_may_work = true}},
    {.what = "others are profiled only when there is time",
     .slots = {{.profile = 3}, {0}},
     .focus = 2,
     .next = {.profile_may_work = true}},
    {.what = "the focused one at once",
     .slots = {{0}, {.profile = 3}},
     .focus = 2,
     .next = {.profile = 2, .profile_may_work = true}},
    {.what = "profile never works beside run",
     .slots = {{.profile = 3}},
     .focus = 1,
     .run_busy = true,
     .next = {.profile = 1}},
    {.what = "nor when run is about to",
     .slots = {{.profile = 3}, {.settle = true}},
     .focus = 1,
     .next = {.profile = 1, .run = 2}},
    {.what = "races wait for all verdicts where the session ends by itself",
     .slots = {{.races = true, .sass = true}},
     .verdicts_open = true,
     .next = {.sass = 1, .profile_may_work = true}},
};

static void decides_each_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        const struct row *r = &rows[i];
        print_message("%s\n", r->what);
        struct kb_schedule next = kb_schedule(&(struct kb_schedule_state){
            .slots = r->slots,
            .count = SLOTS,
            .focus = r->focus - 1,
            .baseline = r->baseline - 1,
            .compiling = r->compiling,
            .run_idle = !r->run_busy,
            .verdicts_open = r->verdicts_open,
            .others = r->others,
        });
        assert_int_equal(next.compile + 1, r->next.compile);
        assert_int_equal(next.run + 1, r->next.run);
        assert_int_equal(next.races + 1, r->next.races);
        assert_int_equal(next.sass + 1, r->next.sass);
        assert_int_equal(next.profile + 1, r->next.profile);
        assert_int_equal(next.profile_may_work, r->next.profile_may_work);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(decides_each_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
