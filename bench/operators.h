// Known operators to start a bench from: bench.json, the reference in double, and a first kernel, as in
// bench/operators/NAME/.
#ifndef KB_BENCH_OPERATORS_H
#define KB_BENCH_OPERATORS_H

struct kb_operator {
    const char *name;
    const char *bench, *reference, *naive; // the contents of the three files
};
const struct kb_operator *kb_operator_find(const char *name); // NULL: there is none of this name
const struct kb_operator *kb_operator_at(int index);          // NULL behind the last

#endif
