#include "shims.h"

const GType cgst_type_none = G_TYPE_NONE, cgst_type_boolean = G_TYPE_BOOLEAN, cgst_type_int = G_TYPE_INT,
            cgst_type_uint = G_TYPE_UINT,
            cgst_type_int64 = G_TYPE_INT64, cgst_type_uint64 = G_TYPE_UINT64, cgst_type_double = G_TYPE_DOUBLE,
            cgst_type_string = G_TYPE_STRING, cgst_type_object = G_TYPE_OBJECT;

const GParamFlags cgst_param_read_only = G_PARAM_READABLE;
const GParamFlags cgst_param_read_write = G_PARAM_READWRITE;
const GParamFlags cgst_param_locked_when_running = GST_PARAM_MUTABLE_READY;
const GParamFlags cgst_param_changes_while_playing = GST_PARAM_MUTABLE_PLAYING;

GstDebugCategory *cgst_debug_category_new(const char *name, const char *description) {
    return _gst_debug_category_new(name, 0, description);
}

void cgst_debug_log(GstDebugCategory *category, GstDebugLevel level, const char *file, const char *function, int line,
                    void *object, const char *text) {
    gst_debug_log_literal(category, level, file, function, line, object, text);
}

GstElement *cgst_parse_launch(const char *description, GError **error) {
    GError *problem = NULL;
    GstElement *element = gst_parse_launch_full(description, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &problem);
    // GStreamer may return a half-built pipeline together with a GError.
    if (problem != NULL) {
        if (element != NULL) gst_object_unref(gst_object_ref_sink(element));
        g_propagate_error(error, problem);
        return NULL;
    }
    return element;
}

// GObject's own int and uint64 properties change invalid values. These subtypes accept them unchanged.
static gboolean leave_as_is(GParamSpec *spec, GValue *value) {
    (void)spec;
    (void)value;
    return FALSE;
}

static void ranged_class_init(gpointer klass, gpointer data) {
    (void)data;
    ((GParamSpecClass *)klass)->value_validate = leave_as_is;
}

static GType ranged_type(GType parent, const char *name) {
    // Several copies of this code may exist in one process. The first one registers the type.
    GType type = g_type_from_name(name);
    if (type != 0) return type;
    GTypeQuery query;
    g_type_query(parent, &query);
    GTypeInfo info = {.class_size = query.class_size, .class_init = ranged_class_init, .instance_size = query.instance_size};
    return g_type_register_static(parent, name, &info, 0);
}

GParamSpec *cgst_param_spec_ranged_int(const char *name, const char *nick, const char *blurb, int minimum, int maximum,
                                       int default_value, GParamFlags flags) {
    GParamSpecInt *spec = g_param_spec_internal(ranged_type(G_TYPE_PARAM_INT, "MediaGraphParamRangedInt"), name, nick, blurb, flags);
    spec->minimum = minimum;
    spec->maximum = maximum;
    spec->default_value = default_value;
    return G_PARAM_SPEC(spec);
}

GParamSpec *cgst_param_spec_ranged_uint64(const char *name, const char *nick, const char *blurb, guint64 minimum,
                                          guint64 maximum, guint64 default_value, GParamFlags flags) {
    GParamSpecUInt64 *spec = g_param_spec_internal(ranged_type(G_TYPE_PARAM_UINT64, "MediaGraphParamRangedUInt64"), name, nick, blurb, flags);
    spec->minimum = minimum;
    spec->maximum = maximum;
    spec->default_value = default_value;
    return G_PARAM_SPEC(spec);
}

void cgst_mini_object_may_be_leaked(void *object) { GST_MINI_OBJECT_FLAG_SET(object, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED); }

void *cgst_class_of(void *instance) { return ((GTypeInstance *)instance)->g_class; }

CGstPoolShare *cgst_pool_share(GstBufferPool *pool) {
    static gsize once = 0;
    if (g_once_init_enter(&once)) g_once_init_leave(&once, g_quark_from_static_string("mediagraph-pool-share"));
    GQuark quark = (GQuark)once;
    GST_OBJECT_LOCK(pool);
    CGstPoolShare *share = g_object_get_qdata(G_OBJECT(pool), quark);
    GST_OBJECT_UNLOCK(pool);
    if (share != NULL) return share;
    guint bound = 0;
    GstStructure *configuration = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_get_params(configuration, NULL, NULL, NULL, &bound);
    gst_structure_free(configuration);
    CGstPoolShare *made = g_new0(CGstPoolShare, 1);
    // Two buffers are never retained: upstream fills one while another is delivered.
    made->limit = bound == 0 ? 0 : bound > 2 ? (gint)bound - 2 : -1;
    GST_OBJECT_LOCK(pool);
    share = g_object_get_qdata(G_OBJECT(pool), quark);
    if (share == NULL) {
        share = made;
        made = NULL;
        g_object_set_qdata_full(G_OBJECT(pool), quark, share, g_free);
    }
    GST_OBJECT_UNLOCK(pool);
    g_free(made);
    return share;
}

gboolean cgst_pool_share_take(CGstPoolShare *share) {
    if (share->limit == 0) return TRUE;
    for (;;) {
        gint kept = g_atomic_int_get(&share->kept);
        if (kept >= share->limit) return FALSE;
        if (g_atomic_int_compare_and_exchange(&share->kept, kept, kept + 1)) return TRUE;
    }
}

void cgst_pool_share_give_back(CGstPoolShare *share) {
    if (share->limit != 0) g_atomic_int_add(&share->kept, -1);
}
