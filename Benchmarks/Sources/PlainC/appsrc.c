#include "common.h"

#define WIDTH 1280
#define HEIGHT 720
#define SIZE (WIDTH * HEIGHT * 3 / 2)

typedef struct {
    GstAppSrc *source;
    PCProbe *probe;
    guint8 *memory;
    gint released;
} Sender;

static void release(gpointer data) { g_atomic_int_inc(&((Sender *)data)->released); }

static gpointer send_all(gpointer data) {
    Sender *sender = data;
    for (uint64_t index = 0; index < sender->probe->expected; index++) {
        GstBuffer *buffer = gst_buffer_new_wrapped_full(0, sender->memory, SIZE, 0, SIZE, sender, release);
        GST_BUFFER_PTS(buffer) = index * GST_SECOND / 30;
        GST_BUFFER_DURATION(buffer) = GST_SECOND / 30;
        gst_buffer_add_reference_timestamp_meta(
            buffer, pc_unix_clock(), (GstClockTime)g_get_real_time() * 1000, GST_CLOCK_TIME_NONE);
        if (gst_app_src_push_buffer(sender->source, buffer) != GST_FLOW_OK) break;
        pc_probe_note(sender->probe, index);
    }
    gst_app_src_end_of_stream(sender->source);
    return NULL;
}

int pc_run_appsrc(PCProbe *probe) {
    GstElement *pipeline = pc_parse(
        "appsrc name=source is-live=true format=time block=true max-buffers=2 max-bytes=0 emit-signals=false "
        "caps=\"video/x-raw, format=I420, width=1280, height=720, framerate=30/1\" ! fakesink");
    if (pipeline == NULL) return 1;
    GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
    Sender sender = {.source = GST_APP_SRC(source), .probe = probe, .memory = g_malloc0(SIZE)};
    GThread *thread = g_thread_new("sender", send_all, &sender);
    int failed = pc_run(pipeline);
    g_thread_join(thread);
    gst_object_unref(source);
    gst_object_unref(pipeline);
    if (g_atomic_int_get(&sender.released) != (gint)probe->expected) {
        g_printerr("%d of %d frames were released\n", sender.released, (gint)probe->expected);
        failed = 1;
    }
    g_free(sender.memory);
    return failed;
}
