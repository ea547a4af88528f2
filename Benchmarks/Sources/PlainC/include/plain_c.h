#pragma once
#include "probe.h"
#include "voice.h"

// The work of each case as a C programmer would write it with GStreamer alone: nothing in here knows MediaGraph.
// Each returns 0, or prints what went wrong and returns 1.

// `source ! caps ! appsink`: its callback pulls the sample, maps the frame, reads bytes and metadata, unmaps.
int pc_run_appsink(const char *source, bool all_luma, PCProbe *probe);

// `appsrc ! fakesink`: a thread wraps memory that it keeps, stamps it and pushes.
int pc_run_appsrc(PCProbe *probe);

// `source ! caps ! plaintransform ! fakesink`: a GstBaseTransform that edits each frame in place.
int pc_run_transform(const char *source, bool all_luma, PCProbe *probe);

// `source ! caps ! identity ! fakesink`: a stock element that touches nothing. The frames are those that fakesink counts.
int pc_run_passthrough(const char *source, PCProbe *probe);

// `source ! caps ! plainobserver ! fakesink`: a GstBaseTransform in pass-through that looks at each frame. Counted likewise.
int pc_run_observer(const char *source, PCProbe *probe);

// A live `source ! caps ! appsink` that notes the lateness of each frame in its callback.
typedef struct PCLive PCLive;
PCLive *pc_live_start(const char *source, PCLateness *lateness);
uint64_t pc_live_base_time(PCLive *live);
void pc_live_stop(PCLive *live);

// A pipeline of stock elements, to the end of its stream.
int pc_run_description(const char *description);

// `appsrc ! mix.` for each user, a thread each sending blocks of 10 ms; a probe before the mix and one at the element "end" map
// each block and read its time and a sample, one block at a time.
int pc_run_talk(const char *mix, int users, uint64_t blocks);

// `appsrc ! appsink` for each voice, its own thread sending: how long a block is on its way. `stop` waits for the senders.
typedef struct PCSpeech PCSpeech;
PCSpeech *pc_speech_start(PCVoice *voices, int count);
void pc_speech_stop(PCSpeech *speech);
