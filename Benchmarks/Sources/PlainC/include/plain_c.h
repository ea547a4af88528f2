#pragma once
#include "probe.h"
#include "voice.h"

// The work of each case as a C programmer would write it with GStreamer alone. Nothing here depends on MediaGraph.
// Each function returns 0, or prints the error and returns 1.

// Runs `source ! caps ! appsink`: the callback pulls the sample, maps the frame, reads bytes and metadata, and unmaps
// the frame.
int pc_run_appsink(const char *source, bool all_luma, PCProbe *probe);

// Runs `appsrc ! fakesink`: a thread wraps memory that it keeps, stamps the buffer and pushes it.
int pc_run_appsrc(PCProbe *probe);

// Runs `source ! caps ! plaintransform ! fakesink`: a GstBaseTransform edits each frame in place.
int pc_run_transform(const char *source, bool all_luma, PCProbe *probe);

// Runs `source ! caps ! identity ! fakesink`: a stock element that doesn't touch the frames. fakesink counts them.
int pc_run_passthrough(const char *source, PCProbe *probe);

// Runs `source ! caps ! plainobserver ! fakesink`: a GstBaseTransform in pass-through reads each frame. fakesink counts
// them.
int pc_run_observer(const char *source, PCProbe *probe);

// A live `source ! caps ! appsink` whose callback records the lateness of each frame.
typedef struct PCLive PCLive;
PCLive *pc_live_start(const char *source, PCLateness *lateness);
uint64_t pc_live_base_time(PCLive *live);
void pc_live_stop(PCLive *live);

// Runs a pipeline of stock elements to the end of its stream.
int pc_run_description(const char *description);

// Runs `appsrc ! mix.` for each user, with one thread per user that sends blocks of 10 ms. A probe before the mix and a
// probe at the element "end" map each block and read its time and a sample, one block at a time.
int pc_run_talk(const char *mix, int users, uint64_t blocks);

// An `appsrc ! appsink` for each voice, with its own sending thread, which measures the latency of blocks. `stop` waits
// for the senders.
typedef struct PCSpeech PCSpeech;
PCSpeech *pc_speech_start(PCVoice *voices, int count);
void pc_speech_stop(PCSpeech *speech);
