#include "tolerance/operators_parts.h"

int operators_dropped, operators_other_tie;

const struct operator* operator_at(int index)
{
    static const struct operator*
        const lists[] = {operators_scalars, operators_rows, operators_products, operators_lines};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct operator* op = lists[i]; op->name; op++)
            if (index-- == 0)
                return op;
    return NULL;
}
