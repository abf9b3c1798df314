// Frames: whole ones however they arrive, and streams that are broken for good.
#include "base/json.h"
#include "base/memory.h"
#include "bench/frame.h"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>

static struct kb_text three_frames(void)
{
    struct kb_text out = {0};
    cJSON *second = kb_frame_head("two", 42);
    kb_json_set_text(second, "log", "line\nline \xe2\x82\xac");
    kb_frame_encode(&out, kb_frame_head("one", 0), NULL, 0, NULL);
    kb_frame_encode(&out, second, "a\n\0{}\n", 6, NULL);
    kb_frame_encode(&out, kb_frame_head("three", -1), "x", 1, NULL);
    return out;
}

static void expect_three(struct kb_frame *frames)
{
    assert_string_equal(kb_frame_type(&frames[0]), "one");
    assert_null(frames[0].blob);
    assert_string_equal(kb_frame_type(&frames[1]), "two");
    assert_int_equal(kb_frame_job(&frames[1]), 42);
    assert_string_equal(kb_json_text(frames[1].head, "log", ""), "line\nline \xe2\x82\xac");
    assert_int_equal(frames[1].blob_size, 6);
    assert_memory_equal(frames[1].blob, "a\n\0{}\n\0", 7);
    assert_string_equal(kb_frame_type(&frames[2]), "three");
    assert_int_equal(kb_frame_job(&frames[2]), -1);
    assert_true(kb_json_int(frames[2].head, "seq", 0) == kb_json_int(frames[0].head, "seq", 0) + 1);
    for (int i = 0; i < 3; i++)
        kb_frame_free(&frames[i]);
}

// In pieces of every size, taking frames after each.
static void test_pieces(void **state)
{
    (void)state;
    struct kb_text stream = three_frames();
    for (size_t piece = 1; piece <= stream.size; piece++) {
        struct kb_frame_reader *r = kb_frame_reader_new();
        struct kb_frame frames[4] = {0};
        struct kb_error e;
        int count = 0;
        for (size_t at = 0; at < stream.size; at += piece) {
            char *exact = malloc(piece); // so that the sanitizer sees any read behind it
            size_t n = stream.size - at < piece ? stream.size - at : piece;
            memcpy(exact, stream.data + at, n);
            kb_frame_reader_feed(r, exact, n);
            free(exact);
            int got;
            while ((got = kb_frame_reader_next(r, &frames[count], &e)) == 1)
                count++;
            assert_int_equal(got, 0);
        }
        assert_int_equal(count, 3);
        expect_three(frames);
        kb_frame_reader_free(r);
    }
    kb_text_free(&stream);
}

static void test_many_frames_in_little_memory(void **state)
{
    (void)state;
    struct kb_frame_reader *r = kb_frame_reader_new();
    struct kb_text stream = three_frames();
    struct kb_error e;
    for (int i = 0; i < 3000; i++) {
        struct kb_frame f;
        kb_frame_reader_feed(r, stream.data, stream.size - 1); // the last byte comes with the next round
        int taken = 0;
        while (kb_frame_reader_next(r, &f, &e) == 1) {
            kb_frame_free(&f);
            taken++;
        }
        assert_int_equal(taken, 2);
        kb_frame_reader_feed(r, stream.data + stream.size - 1, 1);
        assert_int_equal(kb_frame_reader_next(r, &f, &e), 1);
        kb_frame_free(&f);
    }
    kb_text_free(&stream);
    kb_frame_reader_free(r);
}

static void test_large_blob(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20, PIECE = 65536 };
    struct kb_text stream = {0};
    char *blob = kb_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        blob[i] = (char)(i * 31 >> 3);
    kb_frame_encode(&stream, kb_frame_head("big", 1), blob, SIZE, NULL);
    kb_frame_encode(&stream, kb_frame_head("next", 1), NULL, 0, NULL);
    struct kb_frame_reader *r = kb_frame_reader_new();
    struct kb_frame f;
    struct kb_error e;
    int got = 0;
    for (size_t at = 0; at < stream.size; at += PIECE) {
        kb_frame_reader_feed(r, stream.data + at, stream.size - at < PIECE ? stream.size - at : PIECE);
        while (kb_frame_reader_next(r, &f, &e) == 1) {
            assert_string_equal(kb_frame_type(&f), got++ ? "next" : "big");
            if (f.blob)
                assert_memory_equal(f.blob, blob, SIZE);
            kb_frame_free(&f);
        }
    }
    assert_int_equal(got, 2);
    kb_frame_reader_free(r);
    kb_text_free(&stream);
    free(blob);
}

static void expect_broken(const char *bytes, size_t n, const char *what)
{
    struct kb_frame_reader *r = kb_frame_reader_new();
    struct kb_frame f;
    struct kb_error e = {0};
    kb_frame_reader_feed(r, bytes, n);
    if (kb_frame_reader_next(r, &f, &e) != -1)
        fail_msg("accepted: %s", bytes);
    support_contains(e.what, what);
    struct kb_text good = three_frames(); // nothing heals it
    kb_frame_reader_feed(r, good.data, good.size);
    struct kb_error again = {0};
    assert_int_equal(kb_frame_reader_next(r, &f, &again), -1);
    assert_string_equal(again.what, e.what);
    assert_int_equal(kb_frame_reader_next(r, &f, NULL), -1);
    kb_text_free(&good);
    kb_frame_reader_free(r);
}

static void test_broken(void **state)
{
    (void)state;
    static const struct {
        const char *line, *what;
    } cases[] = {
        {"\n", "no JSON object"},
        {"hello\n", "no JSON object"},
        {"[]\n", "no JSON object"},
        {"{\"type\":\"x\"}\n", "no JSON object with a protocol version"},
        {"{\"kbench\":2,\"other\":\"x\"}\n", "another protocol version"},
        {"{\"kbench\":\"1\",\"type\":\"x\"}\n", "another protocol version"},
        {"{\"kbench\":1}\n", "no type"},
        {"{\"kbench\":1,\"type\":7}\n", "no type"},
        {"{\"kbench\":1,\"type\":\"x\",\"blob\":-1}\n", "no size"},
        {"{\"kbench\":1,\"type\":\"x\",\"blob\":1.5}\n", "no size"},
        {"{\"kbench\":1,\"type\":\"x\",\"blob\":\"1\"}\n", "no size"},
        {"{\"kbench\":1,\"type\":\"x\",\"blob\":536870913}\n", "too large"},
        {"{\"kbench\":1,\"type\":\"x\",\"blob\":1e300}\n", "too large"},
        {"{\"kbench\":1,\"type\":\"x\"\n", "no JSON object"},
        {"\x1b[31m{\"kbench\":1,\"type\":\"x\"}\n", "no JSON object"},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++)
        expect_broken(cases[i].line, strlen(cases[i].line), cases[i].what);
    expect_broken("{\"kbench\":1,\"type\":\"\0\"}\n", 24, "no JSON object");
}

static void test_long_lines(void **state)
{
    (void)state;
    size_t size = 1 << 20;
    char *line = kb_alloc(size + 1);
    memset(line, 'x', size);
    expect_broken(line, size, "longer than 64 KiB"); // does not wait for its end
    line[size - 1] = '\n';
    expect_broken(line, size, "longer than 64 KiB");
    free(line);
}

// The longest line that is allowed, and one byte more.
static void test_line_limit(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct kb_text line = {0};
        kb_text_add(&line, "{\"kbench\":1,\"type\":\"t\",\"pad\":\"");
        while (line.size < (size_t)(KB_FRAME_LINE_MAX - 2 + more))
            kb_text_add(&line, "x");
        kb_text_add(&line, "\"}\n");
        struct kb_frame_reader *r = kb_frame_reader_new();
        struct kb_frame f;
        struct kb_error e;
        kb_frame_reader_feed(r, line.data, line.size);
        assert_int_equal(kb_frame_reader_next(r, &f, &e), more ? -1 : 1);
        if (!more)
            kb_frame_free(&f);
        kb_frame_reader_free(r);
        kb_text_free(&line);
    }
}

static cJSON *padded(const char *type, size_t bytes)
{
    cJSON *head = kb_frame_head(type, 42);
    char *pad = kb_alloc(bytes + 1);
    memset(pad, 'x', bytes);
    kb_json_set_text(head, "pad", pad);
    free(pad);
    return head;
}

// Heads around what a line holds, and far beyond: they arrive whole, with their blob, whatever the pieces are.
static void test_long_heads(void **state)
{
    (void)state;
    static const size_t pads[] = {KB_FRAME_LINE_MAX - 200, KB_FRAME_LINE_MAX, KB_FRAME_LINE_MAX + 1, 1 << 20};
    static const size_t blobs[] = {0, 5, 100000};
    char *blob = kb_alloc(100000);
    memset(blob, 'b', 100000);
    for (size_t i = 0; i < KB_COUNT(pads) * KB_COUNT(blobs); i++) {
        size_t pad = pads[i / KB_COUNT(blobs)], size = blobs[i % KB_COUNT(blobs)];
        struct kb_text stream = {0};
        struct kb_frame_reader *r = kb_frame_reader_new();
        struct kb_frame f = {0};
        struct kb_error e;
        int got = 0;
        assert_int_equal(kb_frame_encode(&stream, padded("long", pad), blob, size, &e), 0);
        assert_int_equal(kb_frame_encode(&stream, kb_frame_head("next", 1), NULL, 0, &e), 0);
        size_t line = (size_t)((char *)memchr(stream.data, '\n', stream.size) - stream.data);
        assert_true(line <= KB_FRAME_LINE_MAX);
        for (size_t at = 0, piece = 4099; at < stream.size; at += piece) {
            kb_frame_reader_feed(r, stream.data + at, stream.size - at < piece ? stream.size - at : piece);
            while (kb_frame_reader_next(r, &f, &e) == 1) {
                assert_string_equal(kb_frame_type(&f), got ? "next" : "long");
                assert_int_equal(kb_frame_job(&f), got ? 1 : 42);
                assert_int_equal(strlen(kb_json_text(f.head, "pad", "")), got ? 0 : pad);
                assert_int_equal(f.blob_size, got++ ? 0 : size);
                if (f.blob)
                    assert_memory_equal(f.blob, blob, size);
                kb_frame_free(&f);
            }
        }
        assert_int_equal(got, 2);
        kb_frame_reader_free(r);
        kb_text_free(&stream);
    }
    free(blob);
}

// What no frame holds is refused before anything of it is written.
static void test_too_large(void **state)
{
    (void)state;
    struct kb_text stream = {0};
    struct kb_error e = {0};
    assert_int_equal(kb_frame_encode(&stream, padded("prepare", KB_FRAME_HEAD_MAX), NULL, 0, &e), -1);
    support_contains(e.what, "takes 16.0 MiB, and one message between the program and its workers holds 16 MiB");
    assert_string_equal(e.on, "prepare");
    const struct kb_frame_part much[] = {{"", KB_FRAME_BLOB_MAX}, {"", 1}}; // sizes are looked at before bytes
    assert_int_equal(kb_frame_encode_parts(&stream, kb_frame_head("check", 1), much, 2, &e), -1);
    support_contains(e.what, "holds 512 MiB");
    assert_int_equal(stream.size, 0);
    kb_text_free(&stream);
}

static void test_broken_long_heads(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *what;
    } cases[] = {
        {"{\"kbench\":1,\"type\":\"x\",\"head\":9,\"blob\":8}\n12345678", "longer than its blob"},
        {"{\"kbench\":1,\"type\":\"x\",\"head\":-1,\"blob\":8}\n12345678", "no size"},
        {"{\"kbench\":1,\"type\":\"x\",\"head\":8,\"blob\":8}\n12345678", "not the one of its line"},
        {"{\"kbench\":1,\"type\":\"x\",\"head\":16777217,\"blob\":16777217}\n", "too large"},
        {"{\"kbench\":1,\"type\":\"x\",\"job\":1,\"head\":23,\"blob\":23}\n{\"kbench\":1,\"type\":\"x\"}",
         "not the one of its line"}, // another job
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++)
        expect_broken(cases[i].bytes, strlen(cases[i].bytes), cases[i].what);
}

static void test_nothing_and_half(void **state)
{
    (void)state;
    struct kb_frame_reader *r = kb_frame_reader_new();
    struct kb_frame f = {0};
    struct kb_error e;
    assert_int_equal(kb_frame_reader_next(r, &f, &e), 0);
    kb_frame_reader_feed(r, NULL, 0);
    assert_int_equal(kb_frame_reader_next(r, &f, &e), 0);
    static const char half[] = "{\"kbench\":1,\"type\":\"t\",\"blob\":5}\nabc";
    kb_frame_reader_feed(r, half, strlen(half));
    assert_int_equal(kb_frame_reader_next(r, &f, &e), 0);
    kb_frame_reader_free(r); // with its head in hand
    kb_frame_reader_free(NULL);
    assert_string_equal(kb_frame_type(&f), "");
    assert_int_equal(kb_frame_job(&f), 0);
    kb_frame_free(&f);
}

static void test_random_bytes(void **state)
{
    (void)state;
    uint32_t random = 7;
    struct kb_text stream = three_frames();
    for (int round = 0; round < 3000; round++) {
        struct kb_frame_reader *r = kb_frame_reader_new();
        struct kb_frame f;
        struct kb_error e;
        char *copy = malloc(stream.size);
        memcpy(copy, stream.data, stream.size);
        for (int change = 0; change < 3; change++) {
            random = random * 1664525 + 1013904223;
            copy[(random >> 8) % stream.size] = (char)random;
        }
        kb_frame_reader_feed(r, copy, stream.size);
        while (kb_frame_reader_next(r, &f, &e) == 1)
            kb_frame_free(&f);
        free(copy);
        kb_frame_reader_free(r);
    }
    kb_text_free(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_many_frames_in_little_memory),
        cmocka_unit_test(test_large_blob),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_line_limit),
        cmocka_unit_test(test_nothing_and_half),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_long_heads),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_broken_long_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
