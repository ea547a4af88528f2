#include "common.h"
#include <gst/audio/audio.h>

int pc_run_description(const char *description) {
    GstElement *pipeline = pc_parse(description);
    if (pipeline == NULL) return 1;
    int failed = pc_run(pipeline);
    gst_object_unref(pipeline);
    return failed;
}

typedef struct {
    PCVoice *voice;
    GstAppSrc *source;
    GThread *thread;
} Speaking;

struct PCSpeech {
    GstElement *pipeline;
    Speaking *users;
    int count;
};

static gpointer speak(gpointer data) {
    Speaking *user = data;
    gint16 samples[PC_BLOCK_FRAMES] = {0};
    for (uint64_t block = 0; pc_voice_wait(user->voice, block); block++) {
        samples[0] = pc_voice_send(user->voice, block);
        GstBuffer *buffer = gst_buffer_new_memdup(samples, sizeof samples);
        GST_BUFFER_DURATION(buffer) = GST_SECOND / 100;
        if (gst_app_src_push_buffer(user->source, buffer) != GST_FLOW_OK) break;
    }
    return NULL;
}

static GstFlowReturn hear(GstAppSink *sink, gpointer data) {
    GstSample *sample = gst_app_sink_pull_sample(sink);
    if (sample == NULL) return GST_FLOW_EOS;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstMapInfo map;
    GstFlowReturn result = GST_FLOW_ERROR;
    if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        pc_voice_heard(((Speaking *)data)->voice, *(gint16 *)map.data);
        gst_buffer_unmap(buffer, &map);
        result = GST_FLOW_OK;
    }
    gst_sample_unref(sample);
    return result;
}

PCSpeech *pc_speech_start(PCVoice *voices, int count) {
    g_autoptr(GString) description = g_string_new(NULL);
    for (int user = 0; user < count; user++)
        g_string_append_printf(
            description,
            "appsrc name=source%d is-live=true do-timestamp=true format=time caps=\"audio/x-raw, format=S16LE, "
            "rate=48000, channels=1, layout=interleaved\" ! appsink name=sink%d sync=false ",
            user, user);
    GstElement *pipeline = pc_parse(description->str);
    if (pipeline == NULL) return NULL;
    PCSpeech *speech = g_new0(PCSpeech, 1);
    *speech = (PCSpeech){.pipeline = pipeline, .users = g_new0(Speaking, count), .count = count};
    GstAppSinkCallbacks callbacks = {.new_sample = hear};
    for (int user = 0; user < count; user++) {
        g_autofree char *source = g_strdup_printf("source%d", user), *sink = g_strdup_printf("sink%d", user);
        GstElement *listener = gst_bin_get_by_name(GST_BIN(pipeline), sink);
        speech->users[user].voice = &voices[user];
        speech->users[user].source = GST_APP_SRC(gst_bin_get_by_name(GST_BIN(pipeline), source));
        gst_app_sink_set_callbacks(GST_APP_SINK(listener), &callbacks, &speech->users[user], NULL);
        gst_object_unref(listener);
    }
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    for (int user = 0; user < count; user++)
        speech->users[user].thread = g_thread_new("speak", speak, &speech->users[user]);
    return speech;
}

void pc_speech_stop(PCSpeech *speech) {
    for (int user = 0; user < speech->count; user++) g_thread_join(speech->users[user].thread);
    gst_element_set_state(speech->pipeline, GST_STATE_NULL);
    for (int user = 0; user < speech->count; user++) gst_object_unref(speech->users[user].source);
    gst_object_unref(speech->pipeline);
    g_free(speech->users);
    g_free(speech);
}

typedef struct {
    GMutex lock;  // one block at a time, of any user
    uint64_t sum, mixed, one_way;
} Ear;

typedef struct {
    Ear *ear;
    GstAppSrc *source;  // NULL for the mix
    uint64_t blocks;
    GstAudioInfo info;
    GstSegment segment;
} Stream;

static GstPadProbeReturn listen(GstPad *pad, GstPadProbeInfo *probe, gpointer data) {
    Stream *stream = data;
    if (GST_PAD_PROBE_INFO_TYPE(probe) & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
        GstEvent *event = GST_PAD_PROBE_INFO_EVENT(probe);
        if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) gst_event_copy_segment(event, &stream->segment);
        return GST_PAD_PROBE_OK;
    }
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(probe);
    GstAudioBuffer audio;
    g_mutex_lock(&stream->ear->lock);
    if (gst_audio_buffer_map(&audio, &stream->info, buffer, GST_MAP_READ)) {
        stream->ear->sum += *(guint16 *)audio.planes[0]
            + gst_segment_to_running_time(&stream->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
        *(stream->source != NULL ? &stream->ear->one_way : &stream->ear->mixed) += 1;
        gst_audio_buffer_unmap(&audio);
    }
    g_mutex_unlock(&stream->ear->lock);
    return GST_PAD_PROBE_OK;
}

static void listen_at(GstElement *element, const char *name, Stream *stream) {
    GstPad *pad = gst_element_get_static_pad(element, name);
    gst_audio_info_set_format(&stream->info, GST_AUDIO_FORMAT_S16, 48000, 1, NULL);
    gst_segment_init(&stream->segment, GST_FORMAT_TIME);
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, listen, stream, NULL);
    gst_object_unref(pad);
}

static gpointer talk(gpointer data) {
    Stream *stream = data;
    gint16 samples[PC_BLOCK_FRAMES];
    for (int index = 0; index < PC_BLOCK_FRAMES; index++) samples[index] = index % 48 * 100;
    for (uint64_t block = 0; block < stream->blocks; block++) {
        GstBuffer *buffer = gst_buffer_new_memdup(samples, sizeof samples);
        GST_BUFFER_PTS(buffer) = block * PC_BLOCK_TIME;
        GST_BUFFER_DURATION(buffer) = PC_BLOCK_TIME;
        if (gst_app_src_push_buffer(stream->source, buffer) != GST_FLOW_OK) break;
    }
    gst_app_src_end_of_stream(stream->source);
    return NULL;
}

int pc_run_talk(const char *mix, int users, uint64_t blocks) {
    g_autoptr(GString) description = g_string_new(mix);
    for (int user = 0; user < users; user++)
        g_string_append_printf(
            description,
            "  appsrc name=source%d format=time block=true max-bytes=0 max-time=200000000 emit-signals=false "
            "caps=\"audio/x-raw, format=S16LE, rate=48000, channels=1, layout=interleaved\" ! mix.",
            user);
    GstElement *pipeline = pc_parse(description->str);
    if (pipeline == NULL) return 1;
    Ear ear = {.sum = 0};
    g_autofree Stream *streams = g_new0(Stream, users + 1);
    g_autofree GThread **threads = g_new0(GThread *, users);
    for (int user = 0; user <= users; user++) streams[user] = (Stream){.ear = &ear, .blocks = blocks};
    GstElement *end = gst_bin_get_by_name(GST_BIN(pipeline), "end");
    listen_at(end, "sink", &streams[users]);
    for (int user = 0; user < users; user++) {
        g_autofree char *name = g_strdup_printf("source%d", user);
        GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline), name);
        listen_at(source, "src", &streams[user]);
        streams[user].source = GST_APP_SRC(source);
        threads[user] = g_thread_new("talk", talk, &streams[user]);
    }
    int failed = pc_run(pipeline);
    for (int user = 0; user < users; user++) {
        g_thread_join(threads[user]);
        gst_object_unref(streams[user].source);
    }
    gst_object_unref(end);
    gst_object_unref(pipeline);
    if (ear.one_way != users * blocks || ear.mixed < blocks) {
        g_printerr(
            "expected %" G_GUINT64_FORMAT " blocks of users and %" G_GUINT64_FORMAT " of the mix, got %" G_GUINT64_FORMAT
            " and %" G_GUINT64_FORMAT "\n",
            users * blocks, blocks, ear.one_way, ear.mixed);
        failed = 1;
    }
    return failed;
}
