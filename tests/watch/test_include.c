#include "base/memory.h"
#include "base/text.h"
#include "support_watch.h"
#include "watch/include.h"

#include <stdlib.h>
#include <string.h>

// The includes as "q:name a:name m:NAME", then the defines as "NAME=body", "NAME(params)=body".
static char *scanned(const char *text)
{
    static const char forms[] = {'q', 'a', 'm'};
    struct kb_include_list list = {0};
    struct kb_text out = {0};
    kb_include_scan(text, strlen(text), &list);
    for (size_t i = 0; i < list.include_count; i++)
        kb_text_addf(&out, "%s%c:%s%s", out.size ? " " : "", forms[list.includes[i].form], list.includes[i].name,
                     list.includes[i].next ? "+" : "");
    for (size_t i = 0; i < list.define_count; i++)
        kb_text_addf(&out, "%s%s%s%s%s=%s", out.size ? " " : "", list.defines[i].name,
                     list.defines[i].params ? "(" : "", list.defines[i].params ? list.defines[i].params : "",
                     list.defines[i].params ? ")" : "", list.defines[i].body);
    kb_include_list_free(&list);
    return kb_text_take(&out);
}

static void check(const char *text, const char *wanted)
{
    char *got = scanned(text);
    assert_string_equal(got, wanted);
    free(got);
}

static void spellings(void **state)
{
    (void)state;
    check("#include \"a.h\"\n#include <b/c.h>\n", "q:a.h a:b/c.h");
    check("  #  include\t\"a.h\" // why\r\n", "q:a.h");
    check("%: include <a>\n", "a:a");
    check("/* x */ # /* y */ include /* z */ \"a.h\"", "q:a.h");
    check("#inc\\\nlude \"a\\\r\n.h\"\n", "q:a.h");
    check("\xef\xbb\xbf#include \"a.h\"\n", "q:a.h");
    check("#include_next <a.h>\n", "a:a.h+");
    check("#include <a//b.h>\n#include \"c//d.h\"\n", "a:a//b.h q:c//d.h");
    check("#include \"a b.h\"\n#include \"\xc3\xa9.h\"\n", "q:a b.h q:\xc3\xa9.h");
}

static void not_includes(void **state)
{
    (void)state;
    check("// #include \"a.h\"\n/*\n#include \"b.h\"\n*/\n", "");
    check("// goes on \\\n#include \"a.h\"\n", "");
    check("const char *s = \"\\\n#include \\\"a.h\\\"\";\n", "");
    check("const char *s = R\"x(\n#include \"a.h\"\n)\" )x\";\n#include \"b.h\"\n", "q:b.h");
    check("int include; include \"a.h\"\n#includes \"b.h\"\n#include\n#include \"\n#include \"\"\n#include <a\n", "");
    check("x = a # include \"a.h\"\n", "");
}

static void quotes_that_do_not_open(void **state)
{
    (void)state;
    check("#error don't\n#include \"a.h\"\n", "q:a.h");
    check("int x = 1'000'000;\n#include \"a.h\"\n", "q:a.h");
    check("char c = '\"';\n#include \"a.h\"\n", "q:a.h");
    check("char c = '\\'', d = '/*';\n#include \"a.h\"\n", "q:a.h");
    check("auto s = u8\"/*\";\n#include \"a.h\"\n", "q:a.h");
    check("auto s = R\"never closed(\n#include \"a.h\"\n", "");
}

static void macros(void **state)
{
    (void)state;
    check("#define H \"a.h\"\n#define G <g.h>\n#define I H\n#include I\n#define F(x) \"n.h\"\n",
          "m:I H=\"a.h\" G=<g.h> I=H F(x)=\"n.h\"");
    check("#define EMPTY\n#define N 4\n#include EMPTY\n", "m:EMPTY N=4");
    check("#define S( x, ... ) #x\n#include S(a, (b)) // c\n", "m:S(a, (b)) S(x,...)=#x");
    check("#if __has_include(S(a)) && X\n#endif\n", "m:S(a)");
}

static void has_include(void **state)
{
    (void)state;
    check("#if __has_include(\"a.h\") && __has_include( <b.h> )\n#elif defined(X)\n#endif\n", "q:a.h a:b.h");
    check("#if 0 < 1 // <\n#endif\n#include \"a.h\"\n", "q:a.h");
}

// Every prefix and every single changed byte of a hard text ends, and stays inside its bounds (the sanitizers watch).
static void damaged_texts(void **state)
{
    (void)state;
    static const char text[] =
        "#inc\\\nlude <a//b>\n#define X R\"d(\"\n)d\" 'c' 1'0\n/* * /*/ #if __has_include(\"q\")";
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = kb_alloc(n + 1);
        memcpy(copy, text, n);
        struct kb_include_list list = {0};
        kb_include_scan(copy, n, &list);
        kb_include_list_free(&list);
        for (size_t i = 0; n == sizeof text - 1 && i < n; i++) {
            for (const char *c = "\\\n\"'<>/*R(\0"; c[0] || c[1]; c++) {
                char old = copy[i];
                copy[i] = *c;
                kb_include_scan(copy, n, &list);
                kb_include_list_free(&list);
                copy[i] = old;
            }
        }
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings), cmocka_unit_test(not_includes), cmocka_unit_test(quotes_that_do_not_open),
        cmocka_unit_test(macros),    cmocka_unit_test(has_include),  cmocka_unit_test(damaged_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
