#include "tui/code.h"

const char *kb_code_kind_name(enum kb_code_kind kind)
{
    static const char *const names[KB_CODE_KINDS] = {"machine code", "PTX", "source"};
    return names[kind];
}
