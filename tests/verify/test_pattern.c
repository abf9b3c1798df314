// The order in which wrong elements lie, in words: each phrase, and none for errors at random.
#include "verify/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef bool (*rule)(int64_t matrix, int64_t row, int64_t column, int64_t flat);

static void expect_of(int ndim, const int64_t *shape, rule is_wrong, const char *words)
{
    int64_t columns = shape[ndim - 1], rows = ndim > 1 ? shape[ndim - 2] : 1, total = rows * columns;
    total *= ndim > 2 ? shape[0] : 1;
    unsigned char *wrong = calloc((size_t)total, 1);
    char out[KB_PATTERN_ROOM];
    assert_non_null(wrong);
    for (int64_t i = 0; i < total; i++)
        wrong[i] = is_wrong(i / columns / rows, i / columns % rows, i % columns, i);
    kb_pattern_words(wrong, ndim, shape, out);
    assert_string_equal(out, words);
    free(wrong);
}

#define EXPECT(name, condition, words, ...)                                                                            \
    static bool name(int64_t matrix, int64_t row, int64_t column, int64_t flat)                                        \
    {                                                                                                                  \
        (void)matrix, (void)row, (void)column, (void)flat;                                                             \
        return condition;                                                                                              \
    }                                                                                                                  \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        static const int64_t shape[] = {__VA_ARGS__};                                                                  \
        (void)state;                                                                                                   \
        expect_of(sizeof shape / sizeof *shape, shape, name, words);                                                   \
    }

static bool by_chance(int64_t i, int64_t of) // one of so many
{
    uint64_t x = (uint64_t)i + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % (uint64_t)of == 0;
}

EXPECT(none, false, "", 64, 64)
EXPECT(every_one, true, "all of them", 64, 64)
EXPECT(one, row == 3 && column == 7, "one element, [3, 7]", 64, 64)
EXPECT(one_last, row == 63 && column == 63, "one element, the last", 64, 64)
EXPECT(only_one, true, "", 1)
EXPECT(tail_columns, column >= 1020, "columns >= 1020, the last cols % 4 of a row", 8, 1023)
EXPECT(no_remainder, column >= 1020, "columns >= 1020 of every row", 8, 1024)
EXPECT(tail_elements, column >= 768, "elements >= 768, the last n % 256", 1000)
EXPECT(first_columns, column < 5, "columns < 5 of every row", 8, 64)
EXPECT(tile_columns, column >= 96 && column < 128, "columns 96 to 127 of every row", 8, 512)
EXPECT(second_rows, row % 2 == 0, "every second row", 64, 64)
EXPECT(odd_rows, row % 2 == 1, "every second row from 1 on", 64, 64)
EXPECT(some_rows, row >= 32 && row < 64, "rows 32 to 63", 128, 64)
EXPECT(last_row, row == 127, "the last row", 128, 64)
EXPECT(first_row, row == 0, "the first row", 128, 64)
EXPECT(one_row, row == 5, "row 5", 128, 64)
EXPECT(fourth_columns, column % 4 == 0, "every 4th column", 8, 64)
EXPECT(third_columns, column % 3 == 2, "every 3rd column from 2 on", 8, 64)
EXPECT(part_of_vectors, column % 8 > 3, "columns 4 to 7 of every 8", 8, 64)
EXPECT(tile, row >= 32 && column < 16, "rows >= 32, columns < 16", 64, 64)
EXPECT(upper, column > row, "the upper right of the diagonal", 64, 64)
EXPECT(lower, column < row, "the lower left of the diagonal", 64, 64)
EXPECT(upper_too, column >= row, "the diagonal and the upper right", 64, 64)
EXPECT(diagonal, column == row, "the diagonal", 64, 64)
EXPECT(zeros_above, column > row && !by_chance(flat, 3), "only in the upper right of the diagonal", 64, 64)
EXPECT(zeros_in_rows, row >= 48 && by_chance(flat, 2), "only in rows >= 48", 64, 64)
EXPECT(zeros_in_columns, column % 4 == 0 && by_chance(flat, 2), "only in every 4th column", 64, 64)
EXPECT(zeros_in_last, row == 63 && by_chance(flat, 2), "only in the last row", 64, 64)
EXPECT(from_on, flat >= 1280, "all from [31, 9] on", 37, 41)
EXPECT(up_to, flat <= 100, "all up to [2, 18]", 37, 41)
EXPECT(between, flat >= 100 && flat <= 200, "all from [2, 18] to [4, 36]", 37, 41)
EXPECT(flat_step, flat % 32 == 0, "every 32nd element", 37, 41)
EXPECT(last_matrix, matrix == 2, "the last matrix", 3, 8, 8)
EXPECT(row_of_matrix, matrix == 1 && row == 7, "the last row, matrix 1", 3, 8, 8)
EXPECT(row_of_each, row == 7, "the last row", 3, 8, 8)
EXPECT(in_matrix, matrix == 7 && by_chance(flat, 3), "only in the last matrix", 8, 16, 16)
EXPECT(few_at_random, by_chance(flat, 256), "", 64, 64)
EXPECT(some_at_random, by_chance(flat, 16), "", 64, 64)
EXPECT(many_at_random, by_chance(flat, 2), "", 64, 64)
EXPECT(most_at_random, !by_chance(flat, 16), "", 64, 64)
EXPECT(elements_at_random, by_chance(flat, 7), "", 4096)
EXPECT(matrices_at_random, by_chance(flat, 7), "", 4, 32, 32)
EXPECT(rows_at_random, by_chance(row, 3), "", 64, 8)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_every_one),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_one_last),
        cmocka_unit_test(test_only_one),
        cmocka_unit_test(test_tail_columns),
        cmocka_unit_test(test_no_remainder),
        cmocka_unit_test(test_tail_elements),
        cmocka_unit_test(test_first_columns),
        cmocka_unit_test(test_tile_columns),
        cmocka_unit_test(test_second_rows),
        cmocka_unit_test(test_odd_rows),
        cmocka_unit_test(test_some_rows),
        cmocka_unit_test(test_last_row),
        cmocka_unit_test(test_first_row),
        cmocka_unit_test(test_one_row),
        cmocka_unit_test(test_fourth_columns),
        cmocka_unit_test(test_third_columns),
        cmocka_unit_test(test_part_of_vectors),
        cmocka_unit_test(test_tile),
        cmocka_unit_test(test_upper),
        cmocka_unit_test(test_lower),
        cmocka_unit_test(test_upper_too),
        cmocka_unit_test(test_diagonal),
        cmocka_unit_test(test_zeros_above),
        cmocka_unit_test(test_zeros_in_rows),
        cmocka_unit_test(test_zeros_in_columns),
        cmocka_unit_test(test_zeros_in_last),
        cmocka_unit_test(test_from_on),
        cmocka_unit_test(test_up_to),
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_flat_step),
        cmocka_unit_test(test_last_matrix),
        cmocka_unit_test(test_row_of_matrix),
        cmocka_unit_test(test_row_of_each),
        cmocka_unit_test(test_in_matrix),
        cmocka_unit_test(test_few_at_random),
        cmocka_unit_test(test_some_at_random),
        cmocka_unit_test(test_many_at_random),
        cmocka_unit_test(test_most_at_random),
        cmocka_unit_test(test_elements_at_random),
        cmocka_unit_test(test_matrices_at_random),
        cmocka_unit_test(test_rows_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
