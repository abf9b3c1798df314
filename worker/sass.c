#include "worker/sass.h"
#include "worker/frames.h"
#include "worker/sass_listing.h"

#include "base/json.h"
#include "jit/sass_classes.h"

enum { TIMEOUT_MS = 60000, KERNELS_BYTES = 40 << 10 };

static void send_listing(int64_t job, const struct kb_sass_made *m)
{
    cJSON *head = kb_frame_head("sass", job);
    int left_out = 0;
    kb_json_set_text(head, "tool", m->tool);
    kb_json_set_text(head, "tool_version", m->version);
    kb_json_set_bool(head, "cached", m->cached);
    kb_worker_set_clean(head, "incomplete", m->incomplete, 1000);
    kb_worker_set_clean(head, "unreadable", m->unreadable, 1000);
    kb_worker_set_clean(head, "no_live", m->no_live, 1000);
    if (m->listing) {
        kb_json_set_text(head, "arch", m->listing->arch);
        kb_json_set_bool(head, "lines", m->listing->has_lines);
        kb_json_set(head, "kernels", kb_sass_summary(m->listing, KERNELS_BYTES, &left_out));
    } else {
        kb_json_set_text(head, "kernels", NULL);
        kb_worker_set_clean(head, "kernels_reason", m->unreadable, 1000);
    }
    if (left_out)
        kb_json_set_number(head, "kernels_left_out", left_out);
    kb_worker_send(head, m->text.data, m->text.size);
    kb_worker_done(job, m->unreadable ? "fail" : "pass", m->unreadable ? m->unreadable : m->incomplete, false);
}

void kb_sass_job(const struct kb_frame *f)
{
    struct kb_error e = {0};
    struct kb_sass_made made;
    int timeout_ms = (int)kb_json_int(f->head, "timeout_ms", TIMEOUT_MS);
    if (kb_sass_make(f->blob, f->blob_size, timeout_ms, &made, &e))
        kb_worker_done(kb_frame_job(f), made.absent ? "na" : "fail", kb_error_line(&e), false);
    else
        send_listing(kb_frame_job(f), &made);
    kb_sass_made_free(&made);
}
