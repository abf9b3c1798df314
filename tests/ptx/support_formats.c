#include "support_formats.h"

#include <math.h>
#include <stdlib.h>

double format_value(unsigned bits, int e, int m, bool infinities)
{
    int bias = (1 << (e - 1)) - 1, exponent = (int)(bits >> m) & ((1 << e) - 1), fraction = (int)bits & ((1 << m) - 1);
    double magnitude;
    if (infinities && exponent == (1 << e) - 1)
        magnitude = fraction ? NAN : INFINITY;
    else if (!infinities && exponent == (1 << e) - 1 && fraction == (1 << m) - 1)
        magnitude = NAN;
    else
        magnitude = exponent ? ldexp(1 + ldexp(fraction, -m), exponent - bias) : ldexp(fraction, 1 - bias - m);
    return bits >> (e + m) & 1 ? -magnitude : magnitude;
}
unsigned nearest_bits(__float128 v, int e, int m, bool infinities, bool satfinite)
{
    unsigned sign = signbit((double)v) ? 1u << (e + m) : 0, top = ((1u << e) - 1) << m;
    unsigned largest = infinities ? top - 1 : top + (1u << m) - 2;
    if (v != v)
        return top | ((1u << m) - 1);
    __float128 a = v < 0 ? -v : v;
    unsigned low = 0, high = largest; // the last value not above a
    while (low < high) {
        unsigned middle = (low + high + 1) / 2;
        if (format_value(middle, e, m, infinities) <= a)
            low = middle;
        else
            high = middle - 1;
    }
    __float128 below = format_value(low, e, m, infinities);
    // Beyond the largest value the next step decides, as if the format went on.
    double above =
        low == largest ? 2 * below - format_value(low - 1, e, m, infinities) : format_value(low + 1, e, m, infinities);
    bool up = a - below > above - a || (a - below == above - a && low & 1);
    unsigned r = low + up;
    if (r > largest)
        r = satfinite || !infinities ? largest : top;
    if (a == (__float128)INFINITY)
        r = satfinite || !infinities ? largest : top;
    return sign | r;
}
