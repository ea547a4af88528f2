#include "common.h"
#include <gst/base/gstbasetransform.h>

// An in-place filter that inverts all of luma, or the first byte of each plane.
typedef struct {
    GstBaseTransform parent;
    GstVideoInfo info;
    PCProbe *probe;
    bool all_luma;
} PlainTransform;

typedef struct {
    GstBaseTransformClass parent_class;
} PlainTransformClass;

G_DEFINE_TYPE(PlainTransform, plain_transform, GST_TYPE_BASE_TRANSFORM)

#define CAPS "video/x-raw, format={ I420, NV12, NV21, Y42B, BGRA, RGBA, ARGB, ABGR, RGB, BGR, A420 }"
static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(CAPS));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(CAPS));

static gboolean set_caps(GstBaseTransform *transform, GstCaps *input, GstCaps *output) {
    return gst_video_info_from_caps(&((PlainTransform *)transform)->info, input);
}

static GstFlowReturn transform_ip(GstBaseTransform *transform, GstBuffer *buffer) {
    PlainTransform *self = (PlainTransform *)transform;
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &self->info, buffer, GST_MAP_READWRITE | GST_VIDEO_FRAME_MAP_FLAG_NO_REF))
        return GST_FLOW_ERROR;
    uint64_t read = pc_read_metadata(buffer, &transform->segment);
    if (self->all_luma) {
        // Copied to locals: the compiler must assume that a written byte may be part of `frame`, and then doesn't
        // vectorise.
        const gint width = GST_VIDEO_FRAME_WIDTH(&frame), height = GST_VIDEO_FRAME_HEIGHT(&frame);
        const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
        guint8 *row = GST_VIDEO_FRAME_PLANE_DATA(&frame, 0);
        for (gint y = 0; y < height; y++, row += stride)
            for (gint x = 0; x < width; x++) row[x] = 255 - row[x];
    } else {
        for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(&frame); plane++) {
            guint8 *first = GST_VIDEO_FRAME_PLANE_DATA(&frame, plane);
            *first = 255 - *first;
        }
    }
    pc_probe_note(self->probe, read);
    gst_video_frame_unmap(&frame);
    return GST_FLOW_OK;
}

static void plain_transform_class_init(PlainTransformClass *klass) {
    GstElementClass *element = (GstElementClass *)klass;
    GstBaseTransformClass *transform = (GstBaseTransformClass *)klass;
    gst_element_class_set_static_metadata(element, "Plain C", "Filter/Effect/Video", "Inverts luma", "MediaGraph");
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &src_template);
    transform->set_caps = set_caps;
    transform->transform_ip = transform_ip;
}

static void plain_transform_init(PlainTransform *self) { gst_base_transform_set_in_place(&self->parent, TRUE); }

int pc_run_transform(const char *source, bool all_luma, PCProbe *probe) {
    gst_init(NULL, NULL);
    gst_element_register(NULL, "plaintransform", GST_RANK_NONE, plain_transform_get_type());
    g_autofree char *description = g_strdup_printf("%s ! plaintransform name=transform ! fakesink", source);
    GstElement *pipeline = pc_parse(description);
    if (pipeline == NULL) return 1;
    GstElement *transform = gst_bin_get_by_name(GST_BIN(pipeline), "transform");
    ((PlainTransform *)transform)->probe = probe;
    ((PlainTransform *)transform)->all_luma = all_luma;
    int failed = pc_run(pipeline);
    gst_object_unref(transform);
    gst_object_unref(pipeline);
    return failed;
}

// A filter in pass-through that maps each frame for reading, and writes nothing.
typedef struct {
    GstBaseTransform parent;
    GstVideoInfo info;
    uint64_t read;
} PlainObserver;
typedef struct {
    GstBaseTransformClass parent_class;
} PlainObserverClass;
G_DEFINE_TYPE(PlainObserver, plain_observer, GST_TYPE_BASE_TRANSFORM)

static gboolean observer_set_caps(GstBaseTransform *transform, GstCaps *input, GstCaps *output) {
    return gst_video_info_from_caps(&((PlainObserver *)transform)->info, input);
}

static GstFlowReturn observe(GstBaseTransform *transform, GstBuffer *buffer) {
    PlainObserver *self = (PlainObserver *)transform;
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &self->info, buffer, GST_MAP_READ | GST_VIDEO_FRAME_MAP_FLAG_NO_REF))
        return GST_FLOW_ERROR;
    self->read += pc_read_metadata(buffer, &transform->segment);
    gst_video_frame_unmap(&frame);
    return GST_FLOW_OK;
}

static void plain_observer_class_init(PlainObserverClass *klass) {
    GstElementClass *element = (GstElementClass *)klass;
    GstBaseTransformClass *transform = (GstBaseTransformClass *)klass;
    gst_element_class_set_static_metadata(element, "Plain C", "Filter/Analyzer/Video", "Reads frames", "MediaGraph");
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &src_template);
    transform->set_caps = observer_set_caps;
    transform->transform_ip = observe;
    transform->transform_ip_on_passthrough = TRUE;
}

static void plain_observer_init(PlainObserver *self) { gst_base_transform_set_passthrough(&self->parent, TRUE); }

static int run_filter(const char *source, const char *filter, PCProbe *probe) {
    g_autofree char *description = g_strdup_printf("%s ! %s ! fakesink name=sink", source, filter);
    GstElement *pipeline = pc_parse(description);
    if (pipeline == NULL) return 1;
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus *bus = gst_element_get_bus(pipeline);
    gst_message_unref(gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    GstStructure *stats = NULL;
    g_object_get(sink, "stats", &stats, NULL);
    gst_structure_get_uint64(stats, "rendered", &probe->frames);
    gst_structure_free(stats);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
    return 0;
}

int pc_run_passthrough(const char *source, PCProbe *probe) { return run_filter(source, "identity", probe); }

int pc_run_observer(const char *source, PCProbe *probe) {
    gst_init(NULL, NULL);
    gst_element_register(NULL, "plainobserver", GST_RANK_NONE, plain_observer_get_type());
    return run_filter(source, "plainobserver", probe);
}
