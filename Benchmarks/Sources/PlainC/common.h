#pragma once
#include "plain_c.h"
#include <gst/app/app.h>
#include <gst/gst.h>
#include <gst/video/video.h>

// Parses a description. Prints the error and returns NULL if it is invalid.
GstElement *pc_parse(const char *description);

// Runs a pipeline to the end of the stream. Returns 0, or prints the error and returns 1.
int pc_run(GstElement *pipeline);

// Reads the metadata that MediaGraph's handlers get with each frame, and returns its sum.
uint64_t pc_read_metadata(GstBuffer *buffer, GstSegment *segment);

// Reads the first byte of each plane, or every byte of luma, and returns the sum.
uint64_t pc_read_pixels(GstVideoFrame *frame, bool all_luma);

GstCaps *pc_unix_clock(void);
