#pragma once
#include <gst/gst.h>
#include <gst/video/video.h>

// Wrappers for C that Swift can't import: macros with casts, and variadic functions.

G_BEGIN_DECLS

// Constants for the G_TYPE_* macros, which are casts.
extern const GType cgst_type_none, cgst_type_boolean, cgst_type_int, cgst_type_uint, cgst_type_int64, cgst_type_uint64,
    cgst_type_double, cgst_type_string, cgst_type_object;

// Property flags; G_PARAM_* and GST_PARAM_* are enum casts.
extern const GParamFlags cgst_param_read_only, cgst_param_read_write, cgst_param_locked_when_running,
    cgst_param_changes_while_playing;

/// Creates a debug category, like GST_DEBUG_CATEGORY_INIT.
GstDebugCategory *cgst_debug_category_new(const char *name, const char *description);
/// Logs a text without formatting (gst_debug_log_literal). Does nothing if the level is disabled.
void cgst_debug_log(GstDebugCategory *category, GstDebugLevel level, const char *file, const char *function, int line,
                    void *object, const char *text);
/// Returns whether a message of this level would be logged, so that callers can avoid building its text.
static inline gboolean cgst_debug_enabled(GstDebugCategory *category, GstDebugLevel level) {
    return G_UNLIKELY(level <= _gst_debug_min) && level <= gst_debug_category_get_threshold(category);
}

/// Calls gst_parse_launch_full and treats every problem as an error. `error` is set whenever the result is NULL.
GstElement *cgst_parse_launch(const char *description, GError **error);

/// Creates a property that accepts any value of its type, so that the element can refuse a value and say why. For its
/// own properties, GObject clamps values that are out of range, or prints a warning, before `set_property` is called.
GParamSpec *cgst_param_spec_ranged_int(const char *name, const char *nick, const char *blurb, int minimum, int maximum,
                                       int default_value, GParamFlags flags);
GParamSpec *cgst_param_spec_ranged_uint64(const char *name, const char *nick, const char *blurb, guint64 minimum,
                                          guint64 maximum, guint64 default_value, GParamFlags flags);

/// Sets GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED, for GStreamer's leak tracer.
void cgst_mini_object_may_be_leaked(void *object);

/// Whether a pad refuses data, because of a flush or because it isn't active.
static inline gboolean cgst_pad_is_flushing(GstPad *pad) { return GST_PAD_IS_FLUSHING(pad) != 0; }

/// A variant of gst_pad_chain for a pad inside a bin that is only reached through the bin's own pad. That pad has
/// already taken the parent, run the probes and stored the flow result. The chain function is called with the pad's
/// stream lock held, which flushes and state changes rely on.
static inline GstFlowReturn cgst_pad_chain_inside(GstPad *pad, GstBuffer *buffer) {
    GstFlowReturn flow = GST_FLOW_OK;
    GST_PAD_STREAM_LOCK(pad);
    if (G_UNLIKELY(GST_PAD_IS_FLUSHING(pad))) {
        flow = GST_FLOW_FLUSHING;
    } else if (G_UNLIKELY(GST_PAD_IS_EOS(pad))) {
        flow = GST_FLOW_EOS;
    }
    if (G_LIKELY(flow == GST_FLOW_OK)) {
        flow = GST_PAD_CHAINFUNC(pad)(pad, GST_OBJECT_PARENT(pad), buffer);
    } else {
        gst_buffer_unref(buffer);
    }
    GST_PAD_STREAM_UNLOCK(pad);
    return flow;
}

/// The number of a pool's buffers that are retained by all copies of the code in the process, and its limit.
typedef struct {
    gint kept;   // atomic
    gint limit;  // 0: no limit; negative: no buffer may be retained
} CGstPoolShare;

/// Returns the pool's share, which the first call creates.
CGstPoolShare *cgst_pool_share(GstBufferPool *pool);
/// Counts one more retained buffer. Returns FALSE, and counts nothing, at the limit.
gboolean cgst_pool_share_take(CGstPoolShare *share);
/// Counts one retained buffer less.
void cgst_pool_share_give_back(CGstPoolShare *share);

/// Returns the class structure of an instance (G_OBJECT_GET_CLASS).
void *cgst_class_of(void *instance);

G_END_DECLS
