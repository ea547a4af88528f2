#pragma once
#include <gst/audio/audio.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdint.h>

// The C interface between copies of MediaGraph in one process.
//
// The executable, the plugin file and each handler library are linked with their own copy of MediaGraph, and one copy
// can't use the Swift types of another. So nodes take their handlers, and handler libraries register theirs, through
// these C structures. Frames cross as GStreamer objects.
//
// Rules:
// - `abi_version` is the first field of every structure that one copy creates and another copy reads, except for the
//   structures that are only passed inside others or for the length of a call.
// - The strings of an MGError are allocated with g_malloc. The caller that passed the MGError frees them with g_free.
// - A `context` belongs to its structure. `destroy` (or `release`) is called once, after the last call with that
//   context.
// - A function with an MGError parameter returns 0 and fills in the error when it fails. Exceptions: `process`, `frame`
//   and `end` return MG_FAILED instead of 0.

// Raise this version with each change of this interface, and with each other change that keeps one copy from using the
// nodes of another. Both are checked: the version in a structure when it is read, and the nodes' version, which their
// GTypes carry, when a second copy registers the same nodes.
#define MEDIAGRAPH_ABI_VERSION 12u

typedef struct {
    int32_t code;  // MediaGraphError.Code; 0: none
    char *subject, *expected, *actual;
} MGError;

// A video frame. Valid for the length of the call that it is passed to.
typedef struct {
    GstVideoFrame *mapped;
    GstBuffer *buffer;
    GstCaps *caps;
    uint64_t running_time;            // nanoseconds, or GST_CLOCK_TIME_NONE
    uint64_t presentation_timestamp;  // nanoseconds in the segment, or GST_CLOCK_TIME_NONE
    uint64_t capture_time;            // Unix nanoseconds; 0 if unknown
    int32_t rotation;                 // degrees clockwise, applied after the flip
    int32_t flip;                     // Flip: of the frame in memory
    int32_t mirror;                   // Flip: the part of `flip` for the mirror mode; the rest makes the frame upright
    int32_t kind;                     // MG_RAW, MG_NATIVE or MG_ENCODED; `mapped` is NULL unless MG_RAW
    GstEvent *stream_start;           // STREAM_START of the frame's stream, or NULL
    const uint8_t *data;              // MG_ENCODED: the bytes of the access unit
    int64_t length;                   // of `data`, in bytes
    uint64_t decode_timestamp, duration;  // nanoseconds, or GST_CLOCK_TIME_NONE
    const GstSegment *segment;        // the segment of the timestamps, or NULL
    int32_t memory_mode;              // MG_STACK or MG_HEAP
} MGVideoFrame;

static const int32_t MG_RAW = 0, MG_NATIVE = 1, MG_ENCODED = 2;

// Whether a frame can be retained when its buffer's pool has no buffer to spare. MG_STACK: no. MG_HEAP: as a copy.
static const int32_t MG_STACK = 0, MG_HEAP = 1;

// What a handler does with a frame. MG_STOP: it ends the stream, and `error` gives the reason. MG_GONE: a delegate no
// longer exists. MG_FAILED: the handler failed on this frame.
static const int32_t MG_PASS = 0, MG_DROP = 1, MG_STOP = 2, MG_GONE = 3, MG_FAILED = -1;

// The handler of a preprocessor. `process` is called on the streaming thread, one frame at a time.
typedef struct {
    uint32_t abi_version;
    void *context;
    int32_t (*process)(void *context, const MGVideoFrame *frame, MGError *error);
    void (*destroy)(void *context);
    char formats[256];  // names of accepted formats, separated by commas, best first; empty: all
    char name[64];
} MGVideoProcessor;

// A block of interleaved 16-bit audio. Valid for the length of the call that it is passed to.
typedef struct {
    GstAudioBuffer *mapped;  // also mapped for writing if `is_edited`
    GstBuffer *buffer;
    GstCaps *caps;
    uint64_t running_time;            // nanoseconds, or GST_CLOCK_TIME_NONE
    uint64_t presentation_timestamp;  // nanoseconds in the segment, or GST_CLOCK_TIME_NONE
    uint64_t capture_time;            // Unix nanoseconds; 0 if unknown
    int32_t is_gap;                   // 1: silence that replaces missing sound
    int32_t is_edited;                // 1: a processor may still change it
    GstEvent *stream_start;           // STREAM_START of the block's stream, or NULL
    uint64_t stream_time;             // position in the medium in nanoseconds, or GST_CLOCK_TIME_NONE
    int32_t memory_mode;              // MG_STACK or MG_HEAP
} MGAudioFrame;

// An audio processor. `process` is called on the streaming thread, one block at a time.
typedef struct {
    uint32_t abi_version;
    void *context;
    int32_t (*process)(void *context, const MGAudioFrame *frame, MGError *error);
    void (*destroy)(void *context);
    char name[64];
} MGAudioProcessor;

// How a frame observer wants its frames.
typedef struct {
    char format[16];  // the format's name in caps
    int32_t applies_rotation, applies_mirror;
} MGFramePreference;

// The handler of a frame observer. Calls are made one at a time.
typedef struct {
    uint32_t abi_version;
    void *context;
    int32_t edits;  // 1: the handler writes to frames
    // Called once, before any other function. The handler may keep a weak reference to the node.
    void (*registered)(void *context, GstElement *node);
    // Called before the first frame, and before the next frame after a call of the node's `observer_changed`.
    void (*preference)(void *context, MGFramePreference *preference);
    int32_t (*frame)(void *context, const MGVideoFrame *frame, MGError *error);
    void (*destroy)(void *context);
    char name[64];
} MGFrameObserver;

static const int32_t MG_BLOCK = 0, MG_DROP_OLDEST = 1, MG_DROP_NEWEST = 2;

// The handler of a pipe. Calls are made one at a time, in stream order, except for `interrupt` and `is_alive`.
typedef struct {
    uint32_t abi_version;
    void *context;
    // Called at the start of each run. `policy` and `max_frames` are for handlers with a queue of their own (`queues`).
    void (*start)(void *context, int32_t policy, int32_t max_frames);
    // Makes a blocked `frame` call return at once, and keeps later ones from blocking until `resume`. Called on any
    // thread.
    void (*interrupt)(void *context);
    void (*resume)(void *context);
    // Returns MG_PASS; MG_FAILED; MG_DROP if a handler with a queue of its own lost this frame or an older one; or
    // MG_GONE if the delegate no longer exists, in which case it isn't called again.
    int32_t (*frame)(void *context, const MGVideoFrame *frame, MGError *error);
    void (*status)(void *context, int32_t on);
    int32_t (*end)(void *context, MGError *error);  // end of stream; no calls follow until the next `start`
    // Called after `end`. Returns a warning about the stream, allocated with g_malloc, or NULL. The function may be
    // NULL.
    char *(*remark)(void *context);
    void (*destroy)(void *context);
    char formats[256];
    char name[64];
    // 1: the handler owns its frames, in a queue of its own. So the pipe calls it on the streaming thread, and refuses it
    // with memory-mode=stack.
    int32_t queues;
    // For delegates: their identity, and whether they still exist. `is_alive` is called on any thread; NULL: always
    // alive.
    const void *identity;
    int32_t (*is_alive)(void *context);
} MGVideoConsumer;

static const int32_t MG_MIXED = 0, MG_ONE_WAY = 1, MG_SHARED = 2;

// One of the streams of a virtual speaker.
typedef struct {
    int32_t kind;
    uint64_t number;          // identifies the stream; never reused for another stream
    const char *user, *room;  // MG_ONE_WAY only; `room` may be NULL
} MGAudioStream;

// The handler of a virtual speaker. Calls are made one at a time, in the order of each stream, except for `interrupt`.
typedef struct {
    uint32_t abi_version;
    void *context;
    // Called once, before any other function. The handler may keep a weak reference to the node.
    void (*registered)(void *context, GstElement *node);
    // Called at the start of each run. `policy` and `max_frames` are for handlers with a queue of their own (`queues`).
    void (*start)(void *context, int32_t policy, int32_t max_frames);
    // Makes a blocked `frame` call return at once, and keeps later ones from blocking until `resume`. Called on any
    // thread.
    void (*interrupt)(void *context);
    void (*resume)(void *context);
    // Returns MG_PASS, MG_FAILED, or MG_DROP if a handler with a queue of its own lost this block or an older one.
    int32_t (*frame)(void *context, const MGAudioStream *stream, const MGAudioFrame *frame, MGError *error);
    void (*status)(void *context, const MGAudioStream *stream, int32_t on);
    int32_t (*end)(void *context, MGError *error);  // end of all streams; no calls follow until the next `start`
    // Called after a `frame` that failed, if the failure detaches the handler. Returns 1 if only a part of the handler
    // is detached: the rest continues to be called. With 0, no calls follow until the next `start`.
    int32_t (*detach)(void *context);
    void (*destroy)(void *context);
    char name[64];
    // 1: the handler owns its blocks, in a queue of its own. So the speaker calls it on the streaming threads, and
    // refuses it with memory-mode=stack.
    int32_t queues;
} MGAudioConsumer;

typedef struct {
    int32_t width, height, rate_numerator, rate_denominator;
} MGVideoCapability;

// A frame that is sent to a video source node.
typedef struct {
    const void *data;
    int64_t length;
    int32_t width, height;
    int32_t rotation;  // degrees clockwise
    GstVideoFormat format;
    GstVideoColorRange range;  // any other value than 16_235 means 0_255
    int32_t rate_numerator, rate_denominator;      // 0/1: variable
    int32_t aspect_numerator, aspect_denominator;  // of a pixel
    uint64_t timestamp;  // running time in nanoseconds; GST_CLOCK_TIME_NONE: the time of arrival
    // If set, the node uses `data` in place and calls this once, on any thread; `data` must not change before. If NULL,
    // the node copies `data`.
    void (*release)(void *release_context);
    void *release_context;
    // If set, a buffer from `acquire`, which the node takes over; `data`, `length` and `release` are ignored.
    GstBuffer *buffer;
} MGOutgoingFrame;

static const int32_t MG_REFUSED = 0, MG_ACCEPTED = 1, MG_WAITING = 2, MG_CANCELLED = 3;

// The functions of a sender, except for sending. They may be called on any thread.
typedef struct {
    void *context;
    void (*end)(void *context);
    void (*fail)(void *context, const MGError *error);  // takes the error's strings over
    int32_t (*wait)(void *context, uint64_t running_time);  // 0: sending was stopped, or the stream has ended
    uint64_t (*running_time)(void *context);
    int32_t (*pace)(void *context);  // Pace
    int64_t (*level)(void *context);  // of the node's queue: frames of video, or nanoseconds of sound
    void (*cancel)(void *context, uint64_t ticket);
    uint64_t (*stop_timeout)(void *context);  // nanoseconds
    void (*warn)(void *context, const char *text);  // posts a warning on the bus
    void *(*retain)(void *context);
    void (*release)(void *context);
} MGSenderControl;

// Sends frames to a video source node. The functions take the context of `control`.
typedef struct {
    uint32_t abi_version;
    MGSenderControl control;
    int32_t (*send)(void *context, const MGOutgoingFrame *frame, MGError *error);
    // Like `send`, but never blocks. Returns MG_ACCEPTED, MG_REFUSED with `error` set, or MG_WAITING. After MG_WAITING,
    // `done` is called once, on any thread: with MG_ACCEPTED when the queue has room, with MG_REFUSED and an error
    // whose strings `done` frees, or with MG_CANCELLED after `cancel`.
    int32_t (*send_later)(void *context, const MGOutgoingFrame *frame, void *waiter,
                          void (*done)(void *waiter, int32_t outcome, const MGError *error), uint64_t *ticket,
                          MGError *error);
    // Gets a buffer from the node's pool for a frame with this description, in the default layout of `caps`. The caller
    // passes the buffer on in `MGOutgoingFrame.buffer`, or unrefs it. The caller also unrefs `caps`.
    int32_t (*acquire)(void *context, const MGOutgoingFrame *description, GstBuffer **buffer, GstCaps **caps,
                       MGError *error);
} MGVideoSender;

// A block of interleaved 16-bit sound that is sent to a virtual microphone node.
typedef struct {
    const void *data;
    int64_t length;  // bytes
    int32_t rate, channels;
    uint64_t timestamp;  // running time in nanoseconds; GST_CLOCK_TIME_NONE: the end of the block before
    // If set, the node uses `data` in place and calls this once, on any thread; `data` must not change before. If NULL,
    // the node copies `data`.
    void (*release)(void *release_context);
    void *release_context;
    // If set, the node takes the buffer over; `data`, `length` and `release` are ignored.
    GstBuffer *buffer;
} MGOutgoingAudio;

// Sends sound to a virtual microphone node. The functions are as in MGVideoSender.
typedef struct {
    uint32_t abi_version;
    MGSenderControl control;
    int32_t channels;  // the maximum
    int32_t (*send)(void *context, const MGOutgoingAudio *audio, MGError *error);
    int32_t (*send_later)(void *context, const MGOutgoingAudio *audio, void *waiter,
                          void (*done)(void *waiter, int32_t outcome, const MGError *error), uint64_t *ticket,
                          MGError *error);
} MGAudioSender;

// The handler of a virtual microphone.
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

// The handler of a video source. `capabilities` writes up to `room` entries and returns how many there are; 0 if the
// source adapts to any size and rate.
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

// A node's vtable, attached to its element as qdata "mediagraph-vtable". Functions that the node doesn't support are
// NULL. The `set_…` functions and `subscribe` take ownership of the structure, and will call its `destroy`, unless they
// return 0. A `set_…` function called with NULL removes the handler.
typedef struct {
    uint32_t abi_version;
    int32_t (*set_source)(GstElement *node, const MGVideoSource *source, MGError *error);
    int32_t (*set_processor)(GstElement *node, const MGVideoProcessor *processor, MGError *error);
    int32_t (*set_consumer)(GstElement *node, const MGVideoConsumer *consumer, MGError *error);
    // Adds one of several receivers, with its own resolution (Resolution) and format (PipeFormat; auto: the pipe's). May
    // be called while the graph runs.
    int32_t (*subscribe)(GstElement *node, const MGVideoConsumer *consumer, int32_t resolution, int32_t format,
                         MGError *error);
    // Removes a receiver. Returns when its callbacks have returned and no more will be made; called from inside one of
    // its callbacks, it returns at once.
    int32_t (*unsubscribe)(GstElement *node, const void *identity, MGError *error);
    // Changes a receiver's resolution, from the next frame on. May be called while the graph runs, and from callbacks.
    int32_t (*set_resolution)(GstElement *node, const void *identity, int32_t resolution, MGError *error);
    int32_t (*set_observer)(GstElement *node, const MGFrameObserver *observer, MGError *error);
    // Makes the node ask for the observer's preference again before the next frame. May be called on any thread.
    void (*observer_changed)(GstElement *node);
    int32_t (*set_audio_processor)(GstElement *node, const MGAudioProcessor *processor, MGError *error);
    int32_t (*set_audio_source)(GstElement *node, const MGAudioSource *source, MGError *error);
    int32_t (*set_audio_consumer)(GstElement *node, const MGAudioConsumer *consumer, MGError *error);
} MGNodeVTable;

static const int32_t MG_HANDLER_SOURCE = 1, MG_HANDLER_PROCESSOR = 2, MG_HANDLER_CONSUMER = 3,
                     MG_HANDLER_OBSERVER = 4, MG_HANDLER_AUDIO_PROCESSOR = 5, MG_HANDLER_AUDIO_CONSUMER = 6,
                     MG_HANDLER_AUDIO_SOURCE = 7;

// A handler that a library registers. `create` creates a handler from the text of the node's `options`, and fills in
// `made`, which is an MGVideoSource, MGVideoProcessor, MGVideoConsumer, MGFrameObserver, MGAudioProcessor,
// MGAudioConsumer or MGAudioSource, depending on `kind`. It returns 0 with `error` set if it fails.
typedef struct {
    int32_t kind;
    const char *name, *summary;
    // One line for each option: "name\tdefault\tmeaning\texample\tfile\n". `file` is "output" if the value names a file
    // that the handler writes, "input" if it names a file that the handler reads, and "" otherwise.
    const char *options;
    int32_t (*create)(void *context, const char *options, void *made, MGError *error);
    void *context;  // valid as long as the process: libraries are never unloaded
    // Checks options without creating a handler. Returns 0 with `error` set if `create` would refuse them.
    int32_t (*validate)(void *context, const char *options, MGError *error);
} MGHandlerDescription;

// The registry that a library adds its handlers to.
typedef struct {
    uint32_t abi_version;
    const char *swift_version;  // of the program that loads the library
    void *context;
    int32_t (*add)(void *context, const MGHandlerDescription *handler, MGError *error);
    void (*failed)(void *context, const MGError *error);  // takes the error's strings over
} MGHandlerRegistry;

// A library exports `int32_t mediagraph_register_handlers(const MGHandlerRegistry *)`. It returns MG_PASS; MG_FAILED
// after calling `failed`; or MG_WRONG_ABI, in which case it has read nothing but `abi_version`.
static const int32_t MG_WRONG_ABI = -2;
