#include "common.h"
#include <stdio.h>

GstElement *pc_parse(const char *description) {
    GError *error = NULL;
    gst_init(NULL, NULL);
    GstElement *pipeline = gst_parse_launch_full(description, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    if (pipeline == NULL) {
        fprintf(stderr, "%s: %s\n", description, error->message);
        g_error_free(error);
    }
    return pipeline;
}

int pc_run(GstElement *pipeline) {
    int failed = 0;
    GstBus *bus = gst_element_get_bus(pipeline);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstMessage *message = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        GError *error = NULL;
        gst_message_parse_error(message, &error, NULL);
        fprintf(stderr, "%s\n", error->message);
        g_error_free(error);
        failed = 1;
    }
    gst_message_unref(message);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    return failed;
}

GstCaps *pc_unix_clock(void) {
    static GstCaps *caps = NULL;
    if (g_once_init_enter(&caps)) g_once_init_leave(&caps, gst_caps_new_empty_simple("timestamp/x-unix"));
    return caps;
}

typedef struct {
    GstMeta meta;
    gint32 degrees;
} RotationMeta;

static gboolean rotation_init(GstMeta *meta, gpointer parameters, GstBuffer *buffer) {
    ((RotationMeta *)meta)->degrees = 0;
    return TRUE;
}

// The program's own meta for rotation, which a program without MediaGraph would need.
static const GstMetaInfo *rotation_info(void) {
    static const GstMetaInfo *info = NULL;
    if (g_once_init_enter(&info)) {
        static const gchar *tags[] = {NULL};
        GType api = gst_meta_api_type_register("PlainRotationMetaAPI", tags);
        g_once_init_leave(
            &info, gst_meta_register(api, "PlainRotationMeta", sizeof(RotationMeta), rotation_init, NULL, NULL));
    }
    return info;
}

uint64_t pc_read_metadata(GstBuffer *buffer, GstSegment *segment) {
    GstClockTime running_time = gst_segment_to_running_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    GstReferenceTimestampMeta *capture = gst_buffer_get_reference_timestamp_meta(buffer, pc_unix_clock());
    RotationMeta *rotation = (RotationMeta *)gst_buffer_get_meta(buffer, rotation_info()->api);
    return running_time + (capture != NULL ? capture->timestamp : 0) + (rotation != NULL ? rotation->degrees : 0);
}

uint64_t pc_read_pixels(GstVideoFrame *frame, bool all_luma) {
    uint64_t sum = 0;
    if (!all_luma) {
        for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); plane++)
            sum += *(guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, plane);
        return sum;
    }
    const gint width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
    const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0);
    const guint8 *row = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);
    for (gint y = 0; y < height; y++, row += stride)
        for (gint x = 0; x < width; x++) sum += row[x];
    return sum;
}
