// .npy: headers as NumPy writes them, refusals in words, and no mutation of a file that reads out of bounds.
#include "verify/element.h"
#include "verify/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A version 1 file; its size into *size. Owned by the caller.
static char *file_of(const char *header, const void *data, size_t bytes, size_t *size)
{
    size_t length = strlen(header);
    char *file = malloc(10 + length + bytes);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (char)(length & 0xff);
    file[9] = (char)(length >> 8);
    memcpy(file + 10, header, length);
    if (bytes)
        memcpy(file + 10 + length, data, bytes);
    *size = 10 + length + bytes;
    return file;
}

static int parse(const char *header, const void *data, size_t bytes, struct kb_npy *a, struct kb_error *e)
{
    size_t size;
    char *file = file_of(header, data, bytes, &size);
    int status = kb_npy_parse(file, size, "x.npy", a, e);
    free(file);
    return status;
}

static void writes_what_it_reads(void **state)
{
    (void)state;
    static const int64_t shape[KB_MAX_DIMS] = {2, 3, 1, 1, 1, 123456789};
    static const enum kb_dtype types[] = {KB_F64, KB_F32, KB_F16, KB_I64, KB_I32, KB_I8, KB_U8};
    for (int ndim = 0; ndim <= 3; ndim++)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            size_t size, data = 6 * kb_dtype_bytes(types[i]);
            char *head = kb_npy_header(types[i], ndim, shape, &size);
            head = realloc(head, size + data);
            memset(head + size, 0, data);
            struct kb_npy a;
            struct kb_error e;
            assert_int_equal(size % 64, 0);
            assert_int_equal(kb_npy_parse(head, size + data, "x.npy", &a, &e), 0);
            assert_int_equal(a.dtype, types[i]);
            assert_int_equal(kb_npy_fits(&a, ndim, shape, "x.npy", &e), 0);
            free(head);
            assert_int_equal(kb_npy_type(types[i]), types[i]);
        }
    assert_int_equal(kb_npy_type(KB_BF16), KB_F32);
    assert_int_equal(kb_npy_type(KB_E4M3), KB_F32);
}

static void reads_what_numpy_writes(void **state)
{
    (void)state;
    float values[6] = {1, 2, 3, 4, 5, 6.5F};
    double wide[6];
    uint16_t half[6];
    size_t size;
    struct kb_npy a;
    struct kb_error e;
    char *file =
        file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n", values, sizeof values, &size);
    assert_int_equal(kb_npy_parse(file, size, "x.npy", &a, &e), 0);
    assert_int_equal(a.ndim, 2);
    assert_int_equal(a.shape[1], 3);
    assert_int_equal(a.elements, 6);
    assert_int_equal(kb_npy_convert(&a, KB_F64, wide, "x.npy", &e), 0);
    assert_true(wide[5] == 6.5);
    assert_int_equal(kb_npy_convert(&a, KB_F16, half, "x.npy", &e), 0);
    assert_int_equal(half[5], 0x4680);
    assert_int_equal(kb_npy_fits(&a, 2, (int64_t[]){2, 3}, "x.npy", &e), 0);
    assert_int_equal(kb_npy_fits(&a, 2, (int64_t[]){3, 2}, "x.npy", &e), -1);
    assert_string_equal(e.what, "the .npy array is 2 x 3, wanted 3 x 2");
    free(file);
}

static void shapes_and_types(void **state)
{
    (void)state;
    struct kb_npy a;
    struct kb_error e;
    int64_t big = INT64_MAX;
    assert_int_equal(parse("{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", &big, 8, &a, &e), 0);
    assert_int_equal(a.elements, 1);
    assert_int_equal(a.ndim, 0);
    assert_int_equal(parse("{'descr': '|u1', 'fortran_order': False, 'shape': (8,), }\n", &big, 8, &a, &e), 0);
    assert_int_equal(a.elements, 8);
    assert_int_equal(parse("{'shape': (0, 5), 'fortran_order': False, 'descr': '<f8'}\n", NULL, 0, &a, &e), 0);
    assert_int_equal(a.elements, 0);
    assert_int_equal(parse("{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }\n", &big, 8, &a, &e), 0);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *header, *says;
    } wrong[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "type '>f4' is not accepted"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "type '<c8' is not accepted"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", "Fortran order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "cut off"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }", "overflows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1), }", "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2), }", "malformed"},
        {"{'descr': '<f4', 'fortran_order': Fals, 'shape': (2,), }", "malformed"},
        {"{'descr': '<f4', 'shape': (2,), }", "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", "malformed"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "malformed"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kb_npy a;
        struct kb_error e;
        assert_int_equal(parse(wrong[i].header, "12345678", 8, &a, &e), -1);
        if (!strstr(e.what, wrong[i].says))
            fail_msg("%s: %s", wrong[i].header, e.what);
    }
    struct kb_npy a;
    struct kb_error e;
    assert_int_equal(kb_npy_parse("\x93NUMPX\x01\x00\x00\x00", 10, "x", &a, &e), -1);
    assert_int_equal(kb_npy_parse("\x93NUMPY\x09\x00\x00\x00", 10, "x", &a, &e), -1);
    assert_int_equal(kb_npy_parse("\x93NUMPY\x02\x00\xff\xff", 10, "x", &a, &e), -1);
    assert_int_equal(kb_npy_parse("", 0, "x", &a, &e), -1);
}

static void long_integers_keep_their_digits(void **state)
{
    (void)state;
    int64_t values[2] = {INT64_MAX, 3}, same[2];
    double wide[2];
    size_t size;
    struct kb_npy a;
    struct kb_error e;
    char *file = file_of("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", values, 16, &size);
    assert_int_equal(kb_npy_parse(file, size, "x.npy", &a, &e), 0);
    assert_int_equal(kb_npy_convert(&a, KB_I64, same, "x.npy", &e), 0);
    assert_memory_equal(same, values, 16);
    assert_int_equal(kb_npy_convert(&a, KB_F64, wide, "x.npy", &e), -1);
    free(file);
}

// The copy has exactly the file's size, so that the sanitizer sees the first byte read beyond it.
static void mutations_stay_in_bounds(void **state)
{
    (void)state;
    float values[6] = {1, 2, 3, 4, 5, 6};
    size_t size;
    char *file = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", values, sizeof values, &size);
    int accepted = 0;
    for (uint64_t round = 0; round < 20000; round++) {
        size_t n = round % 3 ? size : (size_t)(kbe_random(1, round) % (size + 1));
        char *copy = malloc(n + 1);
        char *exact = realloc(copy, n ? n : 1);
        memcpy(exact, file, n);
        for (int k = 0; k < 1 + (int)(round % 4) && n; k++) {
            uint64_t r = kbe_random(2 + (uint64_t)k, round);
            size_t at = (size_t)(r % (n < 80 || r & 1 ? n : 80));
            exact[at] = r & 0x100 ? (char)(r >> 16) : "0123456789(),'{}<f4 "[(r >> 16) % 20];
        }
        struct kb_npy a;
        struct kb_error e;
        if (!kb_npy_parse(exact, n, "x.npy", &a, &e)) {
            accepted++;
            double *out = malloc((size_t)a.elements * 8 + 1);
            assert_true((size_t)a.elements <= n);
            kb_npy_convert(&a, KB_F64, out, "x.npy", &e);
            free(out);
        }
        free(exact);
    }
    assert_true(accepted > 100); // the mutations are not all hopeless
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(reads_what_numpy_writes),
        cmocka_unit_test(shapes_and_types),
        cmocka_unit_test(refusals),
        cmocka_unit_test(long_integers_keep_their_digits),
        cmocka_unit_test(mutations_stay_in_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
