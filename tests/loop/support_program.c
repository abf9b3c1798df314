#include "support_program.h"
#include "base/file.h"
#include "base/memory.h"
#include "support_schema.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void program_write(const char *dir, const char *name, const char *text)
{
    char *path = kb_path_join(dir, name);
    assert_int_equal(kb_file_replace(path, text, strlen(text), NULL), 0);
    free(path);
}

struct kb_capture program_run(char *const *argv, int patience_ms, int exit_code)
{
    struct kb_capture ran;
    struct kb_error error = {0};
    if (kb_capture(argv, NULL, patience_ms, 64 << 20, &ran, &error))
        fail_msg("%s", kb_error_line(&error));
    assert_false(ran.timed_out);
    if (ran.exit_code != exit_code)
        fail_msg("exit code %d\n%s\n%s", ran.exit_code, ran.out.data ? ran.out.data : "",
                 ran.err.data ? ran.err.data : "");
    return ran;
}

char *program_text(char *const *argv, int patience_ms, int exit_code)
{
    struct kb_capture ran = program_run(argv, patience_ms, exit_code);
    char *text = kb_strdup(ran.out.data ? ran.out.data : "");
    kb_capture_free(&ran);
    return text;
}

cJSON *program_document(char *const *argv, int patience_ms, int exit_code)
{
    char *text = program_text(argv, patience_ms, exit_code);
    cJSON *document = schema_checked(text);
    free(text);
    return document;
}
