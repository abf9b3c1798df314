// Numbers as the reports, the advice and the SVG write them: ASCII, three figures, "unknown" where there is none.
#ifndef KB_LOOP_QUANTITY_H
#define KB_LOOP_QUANTITY_H

struct kb_quantity {
    char s[40];
};
struct kb_quantity kb_quantity(double value, const char *unit); // "3.91 TB/s", "41.9 MFLOP", "10.1M sectors"
struct kb_quantity kb_percent(double share);                    // 0.912: "91%"; under 10%: "4.2%"
struct kb_quantity kb_plain(double value);                      // "%.3g", whole numbers whole

#endif
