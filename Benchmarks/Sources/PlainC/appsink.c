#include "common.h"

typedef struct {
    PCProbe *probe;
    bool all_luma;
    GstCaps *caps;  // the caps that `info` was made from; caps may change mid-stream
    GstVideoInfo info;
} Receiver;

static GstFlowReturn new_sample(GstAppSink *sink, gpointer data) {
    Receiver *receiver = data;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    if (sample == NULL) return GST_FLOW_EOS;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstCaps *caps = gst_sample_get_caps(sample);
    GstFlowReturn result = GST_FLOW_ERROR;
    if (caps != receiver->caps) {
        if (!gst_video_info_from_caps(&receiver->info, caps)) goto done;
        gst_caps_replace(&receiver->caps, caps);
    }
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &receiver->info, buffer, GST_MAP_READ | GST_VIDEO_FRAME_MAP_FLAG_NO_REF)) goto done;
    uint64_t read = pc_read_metadata(buffer, gst_sample_get_segment(sample));
    pc_probe_note(receiver->probe, read + pc_read_pixels(&frame, receiver->all_luma));
    gst_video_frame_unmap(&frame);
    result = GST_FLOW_OK;
done:
    gst_sample_unref(sample);
    return result;
}

int pc_run_appsink(const char *source, bool all_luma, PCProbe *probe) {
    g_autofree char *description = g_strdup_printf("%s ! appsink name=sink sync=false", source);
    GstElement *pipeline = pc_parse(description);
    if (pipeline == NULL) return 1;
    Receiver receiver = {.probe = probe, .all_luma = all_luma};
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstAppSinkCallbacks callbacks = {.new_sample = new_sample};
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, &receiver, NULL);
    int failed = pc_run(pipeline);
    gst_caps_replace(&receiver.caps, NULL);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
    return failed;
}

struct PCLive {
    GstElement *pipeline;
    PCLateness *lateness;
};

static GstFlowReturn live_sample(GstAppSink *sink, gpointer data) {
    PCLive *live = data;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    if (sample == NULL) return GST_FLOW_EOS;
    GstClockTime pts = GST_BUFFER_PTS(gst_sample_get_buffer(sample));
    pc_lateness_note(live->lateness, gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME, pts));
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

PCLive *pc_live_start(const char *source, PCLateness *lateness) {
    // A callback gets each frame at its time; it doesn't need the 20 ms that appsink reserves for rendering.
    g_autofree char *description = g_strdup_printf("%s ! appsink name=sink processing-deadline=0", source);
    GstElement *pipeline = pc_parse(description);
    if (pipeline == NULL) return NULL;
    PCLive *live = g_new0(PCLive, 1);
    live->pipeline = pipeline;
    live->lateness = lateness;
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstAppSinkCallbacks callbacks = {.new_sample = live_sample};
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, live, NULL);
    gst_object_unref(sink);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    return live;
}

uint64_t pc_live_base_time(PCLive *live) {
    gst_element_get_state(live->pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
    return gst_element_get_base_time(live->pipeline);
}

void pc_live_stop(PCLive *live) {
    gst_element_set_state(live->pipeline, GST_STATE_NULL);
    gst_object_unref(live->pipeline);
    g_free(live);
}
