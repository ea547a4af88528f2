#pragma once
#include <gst/gst.h>
#include <gst/video/video.h>

// What Swift's importer leaves out: macros with casts, and variadic functions.

G_BEGIN_DECLS

// GType macros (casts) as constants.
extern const GType cgst_type_boolean, cgst_type_int, cgst_type_uint, cgst_type_int64, cgst_type_uint64,
    cgst_type_double, cgst_type_string, cgst_type_object;

// Flags of properties: G_PARAM_* and GST_PARAM_* are enum casts.
extern const GParamFlags cgst_param_read_only, cgst_param_read_write, cgst_param_locked_when_running,
    cgst_param_changes_while_playing;

/// GST_DEBUG_CATEGORY_INIT, with the category's name and description.
GstDebugCategory *cgst_debug_category_new(const char *name, const char *description);
/// gst_debug_log with the text as it is; does nothing when the level is off.
void cgst_debug_log(GstDebugCategory *category, GstDebugLevel level, const char *file, const char *function, int line,
                    void *object, const char *text);
/// Whether a message of this level would be printed: callers build no string when it would not.
static inline gboolean cgst_debug_enabled(GstDebugCategory *category, GstDebugLevel level) {
    return G_UNLIKELY(level <= _gst_debug_min) && level <= gst_debug_category_get_threshold(category);
}

/// gst_parse_launch_full's result with every problem fatal; `error` is set whenever the result is NULL.
GstElement *cgst_parse_launch(const char *description, GError **error);

/// A property that accepts any value of its type, so that the element itself can refuse one and say why:
/// GObject clamps out-of-range values or warns on the terminal before `set_property` sees them.
GParamSpec *cgst_param_spec_ranged_int(const char *name, const char *nick, const char *blurb, int minimum, int maximum,
                                       int default_value, GParamFlags flags);
GParamSpec *cgst_param_spec_ranged_uint64(const char *name, const char *nick, const char *blurb, guint64 minimum,
                                          guint64 maximum, guint64 default_value, GParamFlags flags);

/// GST_MINI_OBJECT_FLAG_SET with GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED.
void cgst_mini_object_may_be_leaked(void *object);

/// gst_pad_chain for a pad inside a bin that is reached through the bin's own pad only, which has done the rest: taken the
/// parent, run the probes, kept the flow's result. Under the pad's stream lock, as flushes and changes of state need it.
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

/// How many buffers of a pool are kept beyond their moment, by all copies of the code in the process, and how many may be.
typedef struct {
    gint kept;   // atomic
    gint limit;  // 0: the pool has no bound
} CGstPoolShare;

/// The pool's, made with the first call.
CGstPoolShare *cgst_pool_share(GstBufferPool *pool);
/// One more is kept; false at the limit.
gboolean cgst_pool_share_take(CGstPoolShare *share);
void cgst_pool_share_give_back(CGstPoolShare *share);

/// The class structure of an instance (G_OBJECT_GET_CLASS).
void *cgst_class_of(void *instance);

G_END_DECLS
