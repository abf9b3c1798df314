// Numbers as people read them. Unknown (NAN) gives "–"; whoever shows it keeps the reason in reach.
#ifndef KB_TUI_FORMAT_H
#define KB_TUI_FORMAT_H
#include <stdint.h>

struct kb_short {
    char s[48];
};
struct kb_short kb_show_us(double us);          // "36.8", digits only: three or four that matter
struct kb_short kb_show_time(double us);        // "36.8 us", "12.4 ms", "1.20 s"
struct kb_short kb_show_ms(double ms);          // "3.1 ms", "412 ms", "2.4 s"
struct kb_short kb_show_bytes_rate(double bps); // "3.91 TB/s"
struct kb_short kb_show_flops_rate(double fps); // "51.2 TFLOP/s"
struct kb_short kb_show_flops(double flops);    // "83.9 MFLOP"
struct kb_short kb_show_bytes(double bytes);    // "134 MB" (decimal, as rates are)
struct kb_short kb_show_percent(double share);  // 0.912: "91%"; under 10%: "4.2%"
struct kb_short kb_show_change(double ratio);   // time ratio 0.927: "-7.3%"
struct kb_short kb_show_error(double x);        // "2e-7", "0", "0.031", "inf"
struct kb_short kb_show_margin(double share);   // of a bound: "0.21", "<0.01"
struct kb_short kb_show_count(double n);        // "4,194,304"
struct kb_short kb_show_age(int64_t ms);        // "12 s", "3 min", "2 h"
struct kb_short kb_show_plain(double x);        // "%.6g"

#endif
