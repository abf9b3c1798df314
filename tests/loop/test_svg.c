// The roofline as SVG: well-formed, complete, and drawn of numbers only.
#include "base/json.h"
#include "base/memory.h"
#include "loop/svg.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A small checker of well-formed XML: one root, tags that close in order, quoted attributes of distinct names, known
// entities, no control characters.
struct xml {
    const char *p, *start;
    const char *names[64];
    size_t sizes[64];
    int depth, roots;
};

static void bad(const struct xml *x, const char *what)
{
    fail_msg("%s at byte %td: %.60s", what, x->p - x->start, x->p);
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || (p[n] && strchr("-_:.", p[n])))
        n++;
    return n;
}

static void check_character(struct xml *x)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    size_t i = 0;
    if ((unsigned char)*x->p < 0x20 && *x->p != '\n')
        bad(x, "a control character");
    if (*x->p++ != '&')
        return;
    x->p--;
    while (i < KB_COUNT(entities) && strncmp(x->p, entities[i], strlen(entities[i])) != 0)
        i++;
    if (i == KB_COUNT(entities))
        bad(x, "an unknown entity");
    x->p += strlen(entities[i]);
}

static void check_attributes(struct xml *x)
{
    const char *seen[16];
    size_t sizes[16];
    int count = 0;
    while (*x->p == ' ') {
        const char *name = ++x->p;
        size_t n = name_length(name);
        for (int i = 0; i < count; i++)
            if (sizes[i] == n && !strncmp(seen[i], name, n))
                bad(x, "an attribute twice");
        if (!n || strncmp(name + n, "=\"", 2) != 0 || count == 16)
            bad(x, "no attribute");
        seen[count] = name;
        sizes[count++] = n;
        for (x->p += n + 2; *x->p != '"';) {
            if (!*x->p || *x->p == '<')
                bad(x, "an open attribute");
            check_character(x);
        }
        x->p++;
    }
}

static void check_tag(struct xml *x)
{
    if (x->p[1] == '/') {
        size_t n = name_length(x->p + 2);
        if (!x->depth || x->sizes[x->depth - 1] != n || strncmp(x->names[x->depth - 1], x->p + 2, n) != 0 ||
            x->p[2 + n] != '>')
            bad(x, "a tag that closes nothing");
        x->depth--;
        x->p += n + 3;
        return;
    }
    const char *name = x->p + 1;
    size_t n = name_length(name);
    if (!n)
        bad(x, "a tag without a name");
    x->p += 1 + n;
    check_attributes(x);
    bool closed = *x->p == '/';
    x->p += closed;
    if (*x->p++ != '>')
        bad(x, "an open tag");
    x->roots += !x->depth;
    if (closed)
        return;
    x->names[x->depth] = name;
    x->sizes[x->depth++] = n;
}

static void check_xml(const char *text)
{
    struct xml x = {.p = text, .start = text};
    static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    assert_true(!strncmp(text, head, strlen(head)));
    for (x.p += strlen(head); *x.p;) {
        if (*x.p == '<')
            check_tag(&x);
        else if (x.depth)
            check_character(&x);
        else if (*x.p++ != '\n')
            bad(&x, "text outside");
    }
    assert_int_equal(x.depth, 0);
    assert_int_equal(x.roots, 1);
}

// Coordinates are numbers inside of the picture.
static void check_numbers(const char *text)
{
    static const char *const keys[] = {" x=\"", " y=\"", " x1=\"", " x2=\"", " y1=\"", " y2=\"", " cx=\"", " cy=\""};
    for (size_t i = 0; i < KB_COUNT(keys); i++) {
        for (const char *p = text; (p = strstr(p, keys[i]));) {
            char *end;
            p += strlen(keys[i]);
            double value = strtod(p, &end);
            if (end == p || *end != '"' || !(value >= 0) || !(value <= 2000))
                fail_msg("no coordinate: %s%.20s", keys[i], p);
        }
    }
    assert_null(strstr(text, "\"nan"));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, " nan"));
}

static void apply(struct kb_model *m, const char *text)
{
    char *copy = kb_strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '`' ? '"' : *c;
    cJSON *event = cJSON_Parse(copy);
    if (!event)
        fail_msg("not JSON: %s", copy);
    assert_int_equal(kb_model_apply(m, event), 0);
    cJSON_Delete(event);
    free(copy);
}

static void start(struct kb_model *m)
{
    kb_model_init(m);
    apply(m, "{`type`:`session`,`bench`:{`name`:`soft<max> & co`,`args`:[{`dtype`:`f32`}]},`headline`:0,"
             "`cases`:[{`index`:0,`label`:`4096 x 4096`,`timed`:true}],"
             "`variants`:[{`name`:`na<i>ve`,`source`:`a.cu`},{`name`:`t&ned \\`1\\``,`source`:`b.cu`},"
             "{`name`:`third\\n\\u001b[31m`,`source`:`c.cu`}]}");
}

static void roofs(struct kb_model *m)
{
    apply(m, "{`type`:`device`,`kind`:`cuda`,`name`:`NVIDIA H200`,`peak`:{`dram_bytes_per_s`:4.8e12,"
             "`l2_bytes_per_s`:33e12,`fp32_flops`:66.9e12,`f16_tensor_flops`:989e12}}");
    apply(m, "{`type`:`roofs`,`copy_bytes_per_s`:4.3e12,`footprint_copy_bytes_per_s`:3.8e12,`fp32_flops`:60e12}");
}

static void version(struct kb_model *m, const char *variant, int number, const char *time, const char *roofline)
{
    char *events[] = {
        kb_format("{`type`:`build`,`variant`:`%s`,`key`:`k%d`,`state`:`started`}", variant, number),
        kb_format("{`type`:`build`,`variant`:`%s`,`key`:`k%d`,`state`:`final`,`version`:%d}", variant, number, number),
        kb_format("{`type`:`rung`,`variant`:`%s`,`version`:%d,`rung`:`time`,`status`:`%s`,`reason`:%s}", variant,
                  number, strcmp(time, "null") ? "pass" : "na", strcmp(time, "null") ? "null" : "`the CPU & its time`"),
        kb_format("{`type`:`timing`,`variant`:`%s`,`version`:%d,`case`:0,`cold`:{`median_us`:%s},`roofline`:{%s}}",
                  variant, number, time, roofline),
        kb_format("{`type`:`done`,`variant`:`%s`,`version`:%d,`status`:`pass`}", variant, number)};
    for (size_t i = 0; i < KB_COUNT(events); i++) {
        apply(m, events[i]);
        free(events[i]);
    }
}

static char *draw(struct kb_model *m)
{
    struct kb_text out = {0};
    kb_svg_roofline(m, &out);
    kb_model_free(m);
    check_xml(out.data);
    check_numbers(out.data);
    return kb_text_take(&out);
}

static void has(const char *svg, const char *words)
{
    if (!strstr(svg, words))
        fail_msg("\"%s\" is not in:\n%s", words, svg);
}

static int count(const char *svg, const char *words)
{
    int n = 0;
    for (const char *p = svg; (p = strstr(p, words)); p += strlen(words))
        n++;
    return n;
}

static void names_are_there(const char *svg)
{
    has(svg, "na&lt;i&gt;ve");
    has(svg, "t&amp;ned &quot;1&quot;");
    has(svg, "third");
}

#define POINT "`intensity`:0.625,`attained_flops`:2.4e12,`attained_bytes_per_s`:3.9e12,`share`:0.82,`bound`:`memory`"

static void points_and_trails(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    roofs(&m);
    version(&m, "na<i>ve", 1, "310", "`intensity`:0.625,`attained_flops`:2.7e11,`attained_bytes_per_s`:4.3e11");
    version(&m, "t&ned \\`1\\`", 1, "40", "`intensity`:0.625,`attained_flops`:2e12,`attained_bytes_per_s`:3e12");
    version(&m, "t&ned \\`1\\`", 2, "34.1", POINT);
    char *svg = draw(&m);
    names_are_there(svg);
    has(svg, "soft&lt;max&gt; &amp; co, 4096 x 4096");
    has(svg, "NVIDIA H200");
    has(svg, "t&amp;ned &quot;1&quot; v2, 34.1 us, 82%</text>");
    has(svg, "no point (no version of it was built)");
    has(svg, "DRAM, a large copy measured: 4.30 TB/s");
    has(svg, "DRAM, the vendor&#39;s peak: 4.80 TB/s");
    has(svg, "a copy of this footprint, measured: 3.80 TB/s");
    assert_null(strstr(svg, "tensor")); // no argument has a type for them
    assert_int_equal(count(svg, "<polyline class=\"trail\""), 1);
    assert_int_equal(count(svg, "class=\"point\""), 2);
    free(svg);
}

// Labels at one point lie apart.
static void labels_do_not_overlap(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    roofs(&m);
    version(&m, "na<i>ve", 1, "34.1", POINT);
    version(&m, "t&ned \\`1\\`", 1, "34.2", POINT);
    version(&m, "third\\n\\u001b[31m", 1, "34.3", POINT);
    char *svg = draw(&m);
    double boxes[3][2];
    int n = 0;
    for (const char *p = svg; (p = strstr(p, "class=\"label\"")); p++) {
        const char *tag = p;
        while (*tag != '<')
            tag--;
        assert_true(n < 3);
        assert_int_equal(sscanf(tag, "<text x=\"%lf\" y=\"%lf\"", &boxes[n][0], &boxes[n][1]), 2);
        n++;
    }
    assert_int_equal(n, 3);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_true(fabs(boxes[i][1] - boxes[k][1]) >= 15 || fabs(boxes[i][0] - boxes[k][0]) >= 100);
    free(svg);
}

static void odd_values(void **state)
{
    (void)state;
    static const char *const rooflines[] = {
        "",
        "`intensity`:null,`attained_flops`:null,`attained_bytes_per_s`:3e12",
        "`intensity`:0,`attained_flops`:0,`attained_bytes_per_s`:3e12,`share`:0",
        "`intensity`:1e300,`attained_flops`:1e300,`attained_bytes_per_s`:1e300,`share`:1e300",
        "`intensity`:1e999,`attained_flops`:1e12,`attained_bytes_per_s`:-1e999",
        "`intensity`:1e-11,`attained_flops`:1e-11,`attained_bytes_per_s`:1,`share`:-3",
        "`intensity`:1e29,`attained_flops`:1e29,`share`:0.5",
        "`intensity`:-1,`attained_flops`:-1",
        "`intensity`:0.5,`attained_flops`:1e12,`impossible`:true",
    };
    static const char *const devices[] = {
        NULL, "{`type`:`device`,`kind`:`none`,`name`:null,`peak`:{`dram_bytes_per_s`:0,`fp32_flops`:1e999}}",
        "{`type`:`device`,`kind`:`cpu`,`name`:`x`,`peak`:{`dram_bytes_per_s`:1e-9,`fp32_flops`:1e29}}",
        "{`type`:`device`,`kind`:`cpu`,`name`:`x`,`peak`:{`fp32_flops`:1e12}}",
        "{`type`:`device`,`kind`:`cpu`,`name`:`x`,`peak`:{`dram_bytes_per_s`:1e12}}"};
    for (size_t i = 0; i < KB_COUNT(rooflines); i++) {
        for (size_t d = 0; d < KB_COUNT(devices) + 1; d++) {
            struct kb_model m;
            start(&m);
            if (d == KB_COUNT(devices))
                roofs(&m);
            else if (devices[d])
                apply(&m, devices[d]);
            version(&m, "na<i>ve", 1, "34.1", rooflines[i]);
            version(&m, "t&ned \\`1\\`", 1, "34.1", POINT);
            char *svg = draw(&m);
            names_are_there(svg);
            free(svg);
        }
    }
}

static void without_a_gpu(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    roofs(&m);
    version(&m, "na<i>ve", 1, "null", "`intensity`:0.625,`attained_flops`:null,`attained_bytes_per_s`:null");
    version(&m, "t&ned \\`1\\`", 1, "null", "");
    char *svg = draw(&m);
    has(svg, "class=\"modelled\"");
    has(svg, "na&lt;i&gt;ve v1, floor, modelled");
    has(svg, "t&amp;ned &quot;1&quot;: no point (the CPU &amp; its time)");
    assert_int_equal(count(svg, "class=\"point\""), 0);
    free(svg);
}

// What the hardware counted moves the point, and the picture says where its numbers come from.
static void counters_place_the_point(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    roofs(&m);
    version(&m, "na<i>ve", 1, "100", POINT ",`source`:`declared`");
    version(&m, "t&ned \\`1\\`", 1, "100", POINT ",`source`:`declared`");
    apply(&m, "{`type`:`counters`,`variant`:`t&ned \\`1\\``,`version`:1,`case`:0,`stage`:`all`,`metrics`:{"
              "`dram_bytes`:2e8,`flops_f32`:1e8,`flops_f64`:0,`flops_f16`:0,`flops_tensor`:0},`peaks`:{"
              "`dram_bytes_per_s`:4e12}}");
    char *svg = draw(&m);
    has(svg, "NVIDIA H200; bytes and FLOPs: declared, hardware counters</text>");
    has(svg, "t&amp;ned &quot;1&quot; v1, 100 us, 50%</text>");
    has(svg, "na&lt;i&gt;ve v1, 100 us, 82%</text>");
    free(svg);
}

static void wrong_versions_have_no_point(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    roofs(&m);
    version(&m, "na<i>ve", 1, "34.1", POINT);
    apply(&m, "{`type`:`done`,`variant`:`na<i>ve`,`version`:1,`status`:`fail`,`rung`:`verify`}");
    version(&m, "t&ned \\`1\\`", 1, "1", POINT ",`impossible`:true");
    char *svg = draw(&m);
    assert_int_equal(count(svg, "class=\"point\""), 0);
    has(svg, "na&lt;i&gt;ve: no point (wrong: it has no speed)");
    has(svg, "no point (its time is impossible)");
    free(svg);
}

static void an_empty_session(void **state)
{
    (void)state;
    struct kb_model m;
    kb_model_init(&m);
    char *svg = draw(&m);
    has(svg, "no roofs");
    free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_and_trails),
        cmocka_unit_test(labels_do_not_overlap),
        cmocka_unit_test(odd_values),
        cmocka_unit_test(without_a_gpu),
        cmocka_unit_test(an_empty_session),
        cmocka_unit_test(counters_place_the_point),
        cmocka_unit_test(wrong_versions_have_no_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
