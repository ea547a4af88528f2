#pragma once
#include "plain_c.h"
#include <gst/app/app.h>
#include <gst/gst.h>
#include <gst/video/video.h>

// Parses, or prints why not.
GstElement *pc_parse(const char *description);

// Runs to the end of the stream. 0, or 1 with the error printed.
int pc_run(GstElement *pipeline);

// The facts that MediaGraph's handlers get with each frame.
uint64_t pc_read_metadata(GstBuffer *buffer, GstSegment *segment);

// The first byte of each plane, or every byte of luma.
uint64_t pc_read_pixels(GstVideoFrame *frame, bool all_luma);

GstCaps *pc_unix_clock(void);
