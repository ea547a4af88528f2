#pragma once
#include <gst/audio/audio.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdint.h>

// How copies of MediaGraph in one process talk to each other.
//
// The executable, the plugin file and a handler library are linked each with a copy of MediaGraph of its own, and Swift
// types of one copy are strangers to another. So a node takes its handler, and a handler library registers what it has,
// through these C structures; frames cross as GStreamer's own.
//
// Rules: `abi_version` is the first field of everything that one copy makes and another reads. Strings that are passed
// out in an MGError are g_malloc'ed and freed with g_free by the one who asked. A `context` belongs to its structure:
// `destroy` (or `release`) is called once, when nothing will be called with it any more. A function with an MGError answers
// 0, and fills it, when it fails, but for `process`, `frame` and `end`, which answer MG_FAILED.

#define MEDIAGRAPH_ABI_VERSION 6u

typedef struct {
    int32_t code;  // MediaGraphError.Code; 0: none
    char *subject, *expected, *actual;
} MGError;

// One video frame, valid for the length of the call it is passed to.
typedef struct {
    GstVideoFrame *mapped;
    GstBuffer *buffer;
    GstCaps *caps;
    uint64_t running_time;    // nanoseconds, or GST_CLOCK_TIME_NONE
    uint64_t presentation_timestamp;  // nanoseconds in the segment, or GST_CLOCK_TIME_NONE
    uint64_t capture_time;    // Unix nanoseconds; 0 when unknown
    int32_t rotation;         // degrees clockwise, after the flip
    int32_t flip;             // Flip: of the frame as it lies
    int32_t mirror;           // Flip: the part of `flip` that the mirror mode asks for; the rest makes it upright
    int32_t kind;             // MG_RAW: `mapped` is set; MG_NATIVE: it is NULL; MG_ENCODED: it is, and `data` is set
    GstEvent *stream_start;   // of the stream that it belongs to, or NULL
    const uint8_t *data;      // of an access unit
    int64_t length;
    uint64_t decode_timestamp, duration;  // nanoseconds, or GST_CLOCK_TIME_NONE
    const GstSegment *segment;  // of the timestamps, or NULL
} MGVideoFrame;

static const int32_t MG_RAW = 0, MG_NATIVE = 1, MG_ENCODED = 2;

// MG_STOP: the handler decided that the stream must end, and `error` says why. MG_FAILED: it failed at this frame.
static const int32_t MG_PASS = 0, MG_DROP = 1, MG_STOP = 2, MG_GONE = 3, MG_FAILED = -1;

// A pre-processor's handler. `process` runs on the streaming thread, one frame at a time.
typedef struct {
    uint32_t abi_version;
    void *context;
    int32_t (*process)(void *context, const MGVideoFrame *frame, MGError *error);
    void (*destroy)(void *context);
    char formats[256];  // names of the formats it takes, separated by commas, best first; empty: all
    char name[64];
} MGVideoProcessor;

// One block of audio, 16-bit and interleaved, valid for the length of the call it is passed to.
typedef struct {
    GstAudioBuffer *mapped;  // for writing too where `is_edited`
    GstBuffer *buffer;
    GstCaps *caps;
    uint64_t running_time;            // nanoseconds, or GST_CLOCK_TIME_NONE
    uint64_t presentation_timestamp;  // nanoseconds in the segment, or GST_CLOCK_TIME_NONE
    uint64_t capture_time;            // Unix nanoseconds; 0 when unknown
    int32_t is_gap;                   // silence that stands for sound that never came
    int32_t is_edited;                // a processor has it: it goes on changing
    GstEvent *stream_start;           // of the stream that it belongs to, or NULL
    uint64_t stream_time;             // the position in the medium in nanoseconds, or GST_CLOCK_TIME_NONE
} MGAudioFrame;

// An editor of audio. `process` runs on the streaming thread, one block at a time.
typedef struct {
    uint32_t abi_version;
    void *context;
    int32_t (*process)(void *context, const MGAudioFrame *frame, MGError *error);
    void (*destroy)(void *context);
    char name[64];
} MGAudioProcessor;

// What a frame observer wants to see.
typedef struct {
    char format[16];  // a format's name in caps
    int32_t applies_rotation, applies_mirror;
} MGFramePreference;

// A frame observer's handler. All calls come one at a time.
typedef struct {
    uint32_t abi_version;
    void *context;
    int32_t edits;  // 1: its frames may be written to
    // Once, before anything else, with the node, which it may hold weakly.
    void (*registered)(void *context, GstElement *node);
    // Before the first frame, and after the node's `observer_changed` before the next.
    void (*preference)(void *context, MGFramePreference *preference);
    int32_t (*frame)(void *context, const MGVideoFrame *frame, MGError *error);
    void (*destroy)(void *context);
    char name[64];
} MGFrameObserver;

static const int32_t MG_BLOCK = 0, MG_DROP_OLDEST = 1, MG_DROP_NEWEST = 2;

// A pipe's handler. Calls come one at a time, in stream order, but for `interrupt`.
typedef struct {
    uint32_t abi_version;
    void *context;
    // Before anything else of a run. `policy` and `max_frames` are for one that queues by itself.
    void (*start)(void *context, int32_t policy, int32_t max_frames);
    // Any thread: a `frame` that waits returns at once, and none waits until `resume`.
    void (*interrupt)(void *context);
    void (*resume)(void *context);
    // MG_PASS, MG_FAILED, MG_DROP from one that queues by itself: this frame or an older one was lost; or MG_GONE from a
    // delegate that is no more: it will not be called again.
    int32_t (*frame)(void *context, const MGVideoFrame *frame, MGError *error);
    void (*status)(void *context, int32_t on);
    int32_t (*end)(void *context, MGError *error);  // end of stream: nothing follows until the next start
    // After `end`: what is to be told of the stream, g_malloc'ed, or NULL. NULL itself: nothing ever.
    char *(*remark)(void *context);
    void (*destroy)(void *context);
    char formats[256];
    char name[64];
    int32_t memory_mode;  // 0: whatever the pipe says; 1: stack; 2: heap
    int32_t queues;       // 1: it queues by itself, so the pipe calls it on the streaming thread
    // A delegate's: what it is told apart by, and whether it is still there (NULL: always). Any thread.
    const void *identity;
    int32_t (*is_alive)(void *context);
} MGVideoConsumer;

static const int32_t MG_MIXED = 0, MG_ONE_WAY = 1, MG_SHARED = 2;

// Which of a speaker's streams a block is of.
typedef struct {
    int32_t kind;
    uint64_t number;          // the same for all blocks of one stream, and never for another's
    const char *user, *room;  // of a one-way stream; `room` may be NULL
} MGAudioStream;

// A speaker's handler. Calls come one at a time, in each stream's order, but for `interrupt`.
typedef struct {
    uint32_t abi_version;
    void *context;
    // Once, before anything else, with the node, which it may hold weakly.
    void (*registered)(void *context, GstElement *node);
    // Before anything else of a run. `policy` and `max_frames` are for one that queues by itself.
    void (*start)(void *context, int32_t policy, int32_t max_frames);
    // Any thread: a `frame` that waits returns at once, and none waits until `resume`.
    void (*interrupt)(void *context);
    void (*resume)(void *context);
    // MG_PASS, MG_FAILED, or MG_DROP from one that queues by itself: this block or an older one was lost.
    int32_t (*frame)(void *context, const MGAudioStream *stream, const MGAudioFrame *frame, MGError *error);
    void (*status)(void *context, const MGAudioStream *stream, int32_t on);
    int32_t (*end)(void *context, MGError *error);  // end of all streams: nothing follows until the next start
    void (*destroy)(void *context);
    char name[64];
    int32_t memory_mode;  // 0: whatever the speaker says; 1: stack; 2: heap
    int32_t queues;       // 1: it queues by itself, so the speaker calls it on the streaming threads
} MGAudioConsumer;

typedef struct {
    int32_t width, height, rate_numerator, rate_denominator;
} MGVideoCapability;

// A frame on its way into a video source node.
typedef struct {
    const void *data;
    int64_t length;
    int32_t width, height;
    int32_t rotation;  // degrees clockwise
    GstVideoFormat format;
    GstVideoColorRange range;  // 16_235; any other counts as 0_255
    int32_t rate_numerator, rate_denominator;      // 0/1: variable
    int32_t aspect_numerator, aspect_denominator;  // of a pixel
    uint64_t timestamp;  // running time in nanoseconds, or GST_CLOCK_TIME_NONE: taken on arrival
    // Set: `data` is handed over and must stay as it is until this runs, once, on any thread. NULL: it is copied.
    void (*release)(void *release_context);
    void *release_context;
    // Set: a buffer from `acquire`, handed over; `data`, `length` and `release` are not looked at.
    GstBuffer *buffer;
} MGOutgoingFrame;

static const int32_t MG_REFUSED = 0, MG_ACCEPTED = 1, MG_WAITING = 2, MG_CANCELLED = 3;

// What a sender asks of its node besides sending. Any thread.
typedef struct {
    void *context;
    void (*end)(void *context);
    void (*fail)(void *context, const MGError *error);  // takes the error's strings over
    int32_t (*wait)(void *context, uint64_t running_time);  // 0: sending has been stopped
    uint64_t (*running_time)(void *context);
    int32_t (*pace)(void *context);  // Pace
    int64_t (*level)(void *context);  // what waits: frames of video, nanoseconds of sound
    void (*cancel)(void *context, uint64_t ticket);
    uint64_t (*stop_timeout)(void *context);  // nanoseconds
    void (*warn)(void *context, const char *text);  // on the bus
    void *(*retain)(void *context);
    void (*release)(void *context);
} MGSenderControl;

// Its functions are called with the control's context.
typedef struct {
    uint32_t abi_version;
    MGSenderControl control;
    int32_t (*send)(void *context, const MGOutgoingFrame *frame, MGError *error);
    // As `send`, but never waits: MG_ACCEPTED, MG_REFUSED with `error` set, or MG_WAITING: then `done` is called once, on
    // any thread, when the frame got room (MG_ACCEPTED), was refused (MG_REFUSED, the error is `done`'s to free) or was
    // given up by `cancel` (MG_CANCELLED).
    int32_t (*send_later)(void *context, const MGOutgoingFrame *frame, void *waiter,
                          void (*done)(void *waiter, int32_t outcome, const MGError *error), uint64_t *ticket,
                          MGError *error);
    // A buffer from the node's pool for a frame of this description, laid out as `caps` say by default; the caller's to
    // hand over in `MGOutgoingFrame.buffer`, or to let go. `caps` is the caller's to let go too.
    int32_t (*acquire)(void *context, const MGOutgoingFrame *description, GstBuffer **buffer, GstCaps **caps,
                       MGError *error);
} MGVideoSender;

// 16-bit interleaved sound on its way into a virtual microphone.
typedef struct {
    const void *data;
    int64_t length;  // bytes
    int32_t rate, channels;
    uint64_t timestamp;  // running time in nanoseconds, or GST_CLOCK_TIME_NONE: by what was sent before
    // Set: `data` is handed over and must stay as it is until this runs, once, on any thread. NULL: it is copied.
    void (*release)(void *release_context);
    void *release_context;
    // Set: handed over, and `data`, `length` and `release` are not looked at.
    GstBuffer *buffer;
} MGOutgoingAudio;

// As MGVideoSender.
typedef struct {
    uint32_t abi_version;
    MGSenderControl control;
    int32_t channels;  // at most
    int32_t (*send)(void *context, const MGOutgoingAudio *audio, MGError *error);
    int32_t (*send_later)(void *context, const MGOutgoingAudio *audio, void *waiter,
                          void (*done)(void *waiter, int32_t outcome, const MGError *error), uint64_t *ticket,
                          MGError *error);
} MGAudioSender;

// A virtual microphone's handler.
typedef struct {
    uint32_t abi_version;
    void *context;
    int32_t (*initialize)(void *context, const MGAudioSender *sender, MGError *error);
    int32_t (*start_send)(void *context, MGError *error);
    void (*stop_send)(void *context);
    void (*uninitialize)(void *context);
    void (*destroy)(void *context);
    char name[64];
} MGAudioSource;

// A video source's handler: `capabilities` is empty (count 0) where it takes any.
typedef struct {
    uint32_t abi_version;
    void *context;
    int64_t (*capabilities)(void *context, MGVideoCapability *list, int64_t room);
    int32_t (*initialize)(void *context, const MGVideoSender *sender, const MGVideoCapability *supported, int64_t count,
                          MGVideoCapability suggested, MGError *error);
    void (*property_change)(void *context, const MGVideoCapability *supported, int64_t count,
                            MGVideoCapability suggested);
    int32_t (*start_send)(void *context, MGError *error);
    void (*stop_send)(void *context);
    void (*uninitialize)(void *context);
    void (*destroy)(void *context);
    char name[64];
} MGVideoSource;

// A node's vtable, left on the element as qdata "mediagraph-door". A field that the node has no use for is NULL.
// Each takes the structure over (its `destroy` will be called) unless it answers 0. A NULL source, processor, consumer or
// observer leaves the node without one.
typedef struct {
    uint32_t abi_version;
    int32_t (*set_source)(GstElement *node, const MGVideoSource *source, MGError *error);
    int32_t (*set_processor)(GstElement *node, const MGVideoProcessor *processor, MGError *error);
    int32_t (*set_consumer)(GstElement *node, const MGVideoConsumer *consumer, MGError *error);
    // One of many receivers, with a resolution (Resolution) of its own; while running too.
    int32_t (*subscribe)(GstElement *node, const MGVideoConsumer *consumer, int32_t resolution, MGError *error);
    // Returns when no callback is in flight and none will come; from inside one at once.
    int32_t (*unsubscribe)(GstElement *node, const void *identity, MGError *error);
    int32_t (*set_observer)(GstElement *node, const MGFrameObserver *observer, MGError *error);
    // Its preference is asked for again before the next frame. Any thread.
    void (*observer_changed)(GstElement *node);
    int32_t (*set_audio_processor)(GstElement *node, const MGAudioProcessor *processor, MGError *error);
    int32_t (*set_audio_source)(GstElement *node, const MGAudioSource *source, MGError *error);
    int32_t (*set_audio_consumer)(GstElement *node, const MGAudioConsumer *consumer, MGError *error);
} MGNodeVTable;

static const int32_t MG_HANDLER_SOURCE = 1, MG_HANDLER_PROCESSOR = 2, MG_HANDLER_CONSUMER = 3,
                     MG_HANDLER_OBSERVER = 4, MG_HANDLER_AUDIO_PROCESSOR = 5, MG_HANDLER_AUDIO_CONSUMER = 6,
                     MG_HANDLER_AUDIO_SOURCE = 7;

// A handler that a library offers. `create` fills `made` (MGVideoSource, MGVideoProcessor, MGVideoConsumer,
// MGFrameObserver, MGAudioProcessor or MGAudioConsumer by `kind`)
// from the text of the node's `options`, and answers 0 with `error` set when it can't.
typedef struct {
    int32_t kind;
    const char *name, *summary;
    // One line an option: "name\tdefault\tmeaning\texample\tfile\n". Its value names a file that is written ("output") or
    // read ("input"), or none ("").
    const char *options;
    int32_t (*create)(void *context, const char *options, void *made, MGError *error);
    void *context;  // lives as long as the library: for ever
    // Answers 0 with `error` set when `create` would refuse these options; makes nothing.
    int32_t (*validate)(void *context, const char *options, MGError *error);
} MGHandlerDescription;

typedef struct {
    uint32_t abi_version;
    const char *swift_version;  // of the program that loads
    void *context;
    int32_t (*add)(void *context, const MGHandlerDescription *handler, MGError *error);
    void (*failed)(void *context, const MGError *error);  // takes the error's strings over
} MGHandlerRegistry;

// What a library's `int32_t mediagraph_register_handlers(const MGHandlerRegistry *)` answers: MG_PASS, MG_FAILED after
// calling `failed`, or MG_WRONG_ABI, having touched nothing but `abi_version`.
static const int32_t MG_WRONG_ABI = -2;
