#include "jit/support_compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void trial_file(struct trial *t, const char *name, const char *text)
{
    t->files[t->request.file_count++] = (struct kb_compile_file){name, text, strlen(text)};
    if (t->request.file_count == 1)
        t->request.main = name;
}

void trial_kernel(struct trial *t, const char *name)
{
    t->kernels[t->request.kernel_count++] = name;
}

void trial_option(struct trial *t, const char *option)
{
    t->options[t->request.option_count++] = option;
}

void trial_include_dir(struct trial *t, const char *dir)
{
    t->include_dirs[t->request.include_dir_count++] = dir;
}

void trial_define(struct trial *t, const char *define)
{
    t->defines[t->request.define_count++] = define;
}

void trial_run(struct trial *t)
{
    t->request.files = t->files;
    t->request.kernels = t->kernels;
    t->request.options = t->options;
    t->request.include_dirs = t->include_dirs;
    t->request.defines = t->defines;
    if (!t->request.arch)
        t->request.arch = "sm_90";
    if (!t->request.compiler)
        t->request.compiler = "nvrtc";
    t->request.lineinfo = true;
    t->status = kb_compile(&t->request, &t->result, &t->error);
}

void trial_free(struct trial *t)
{
    if (t->status == 0)
        kb_compiled_free(&t->result);
    *t = (struct trial){0};
}

bool trial_has_error(const struct trial *t, const char *file, int line, const char *text)
{
    for (int i = 0; i < t->result.message_count; i++) {
        const struct kb_compile_message *m = &t->result.messages[i];
        if (!strcmp(m->severity, "error") && !strcmp(m->file, file) && m->line == line && strstr(m->text, text))
            return true;
    }
    return false;
}

void skip_without_nvrtc(void)
{
    if (!kb_toolkit_nvrtc(kb_toolkit_get()))
        skip();
}
