#include "tui/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct kb_short make(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct kb_short make(const char *format, ...)
{
    struct kb_short out;
    va_list list;
    va_start(list, format);
    vsnprintf(out.s, sizeof out.s, format, list);
    va_end(list);
    return out;
}

static struct kb_short unknown(void)
{
    return make("–");
}

// Three digits that matter, and never fewer than the integer part.
static int decimals(double x)
{
    x = fabs(x);
    return x < 9.995 ? 2 : x < 999.95 ? 1 : 0;
}

struct kb_short kb_show_us(double us)
{
    if (isnan(us))
        return unknown();
    return make("%.*f", us != 0 && fabs(us) < 0.1 ? 3 : decimals(us), us);
}

struct kb_short kb_show_time(double us)
{
    if (isnan(us))
        return unknown();
    if (us > 0 && us < 0.001)
        return make("%.2g ns", us * 1e3);
    if (us < 10e3)
        return make("%s us", kb_show_us(us).s);
    return us < 10e6 ? make("%.*f ms", decimals(us / 1e3), us / 1e3) : make("%.*f s", decimals(us / 1e6), us / 1e6);
}

struct kb_short kb_show_ms(double ms)
{
    if (isnan(ms))
        return unknown();
    if (ms < 10)
        return make("%.1f ms", ms);
    return ms < 1000 ? make("%.0f ms", ms) : make("%.1f s", ms / 1e3);
}

static struct kb_short scaled(double x, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    if (isnan(x))
        return unknown();
    if (isinf(x))
        return make("%s %s", x > 0 ? "inf" : "-inf", unit);
    int i = 0;
    while (i < 5 && fabs(x) >= 999.5) {
        x /= 1000;
        i++;
    }
    double size = fabs(x);
    if (size >= 1e6)
        return make("%.3g %s%s", x, prefixes[i], unit);
    int digits = i == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return make("%.*f %s%s", digits, x, prefixes[i], unit);
}

struct kb_short kb_show_bytes_rate(double bps)
{
    return scaled(bps, "B/s");
}

struct kb_short kb_show_flops_rate(double fps)
{
    return scaled(fps, "FLOP/s");
}

struct kb_short kb_show_flops(double flops)
{
    return scaled(flops, "FLOP");
}

struct kb_short kb_show_bytes(double bytes)
{
    return scaled(bytes, "B");
}

struct kb_short kb_show_percent(double share)
{
    if (isnan(share))
        return unknown();
    double p = share * 100;
    return fabs(p) < 9.95 && p != 0 ? make("%.1f%%", p) : make("%.0f%%", p);
}

struct kb_short kb_show_change(double ratio)
{
    if (isnan(ratio))
        return unknown();
    double p = (ratio - 1) * 100;
    return fabs(p) < 99.95 ? make("%+.1f%%", p) : make("%+.0f%%", p);
}

struct kb_short kb_show_error(double x)
{
    if (isnan(x))
        return unknown();
    if (x == 0 || isinf(x))
        return make("%s", x == 0 ? "0" : x > 0 ? "inf" : "-inf");
    if (fabs(x) >= 0.01 && fabs(x) < 10000)
        return make("%.3g", x);
    char text[32];
    snprintf(text, sizeof text, "%.1e", x);
    char *e = strchr(text, 'e');
    int exponent = 0;
    sscanf(e + 1, "%d", &exponent);
    if (e - text > 2 && e[-1] == '0') // 2.0e-07: 2e-7
        e -= 2;
    *e = 0;
    return make("%se%d", text, exponent);
}

struct kb_short kb_show_margin(double share)
{
    return isnan(share)                 ? unknown()
           : share > 0 && share < 0.005 ? make("<0.01")
                                        : make(share < 100 ? "%.2f" : "%.3g", share);
}

struct kb_short kb_show_count(double n)
{
    if (isnan(n))
        return unknown();
    if (fabs(n) >= 1e15)
        return make("%.3g", n);
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%.0f", fabs(n)), k = 0;
    struct kb_short out;
    if (n < 0)
        out.s[k++] = '-';
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out.s[k++] = ',';
        out.s[k++] = digits[i];
    }
    out.s[k] = 0;
    return out;
}

struct kb_short kb_show_age(int64_t ms)
{
    int64_t s = ms < 0 ? 0 : ms / 1000;
    if (s < 120)
        return make("%d s", (int)s);
    return s < 7200 ? make("%d min", (int)(s / 60)) : make("%d h", (int)(s / 3600));
}

struct kb_short kb_show_plain(double x)
{
    return isnan(x) ? unknown() : make("%.6g", x);
}
