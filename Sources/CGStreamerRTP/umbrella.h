#pragma once
#include <gst/rtp/gstrtcpbuffer.h>
