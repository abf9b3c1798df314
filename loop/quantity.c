#include "loop/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct kb_quantity kb_quantity(double value, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    struct kb_quantity q = {"unknown"};
    int i = 0;
    if (!isfinite(value))
        return q;
    while (fabs(value) >= 999.5 && i < 6) {
        value /= 1000;
        i++;
    }
    int digits = fabs(value) >= 99.95 || (i == 0 && value == floor(value)) ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    bool word = !*unit || (*unit >= 'a' && *unit <= 'z'); // "10.1M sectors" beside "3.91 TB/s"
    snprintf(q.s, sizeof q.s, "%.*f%s%s%s", digits, value, word ? prefixes[i] : " ",
             word ? (*unit ? " " : "") : prefixes[i], unit);
    return q;
}

struct kb_quantity kb_percent(double share)
{
    struct kb_quantity q = {"unknown"};
    if (isfinite(share))
        snprintf(q.s, sizeof q.s, "%.*f%%", fabs(share) < 0.0995 && share != 0 ? 1 : 0, 100 * share);
    return q;
}

struct kb_quantity kb_plain(double value)
{
    struct kb_quantity q = {"unknown"};
    if (isfinite(value))
        snprintf(q.s, sizeof q.s, fabs(value) < 1e9 && (value == floor(value) || fabs(value) >= 1000) ? "%.0f" : "%.3g",
                 value);
    return q;
}
