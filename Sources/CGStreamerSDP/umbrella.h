#pragma once
#include <gst/sdp/gstsdpmessage.h>
