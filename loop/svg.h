// The roofline as a picture for slides and reports: self-contained SVG, light background. Pure.
#ifndef KB_LOOP_SVG_H
#define KB_LOOP_SVG_H
#include "base/text.h"
#include "loop/model.h"

// Appends the whole document: roofs measured (solid) and the vendor's (dotted), a plain copy of the same footprint
// (dashed), and on the headline case each variant's current version with the trail of those before it. Wrong and
// impossible versions have no point; a version that can't be timed here stands as a hollow sign where its roof is. What
// has no point is named under the plot with its reason, so that every variant occurs. Axes come from the roofs and
// widen only for points outside.
void kb_svg_roofline(const struct kb_model *, struct kb_text *out);

#endif
