#include "introspection.h"

const GParamFlags cgst_param_controllable = GST_PARAM_CONTROLLABLE;

CGstValueKind cgst_param_spec_kind(GParamSpec *spec) {
    GType type = spec->value_type;
    if (type == G_TYPE_BOOLEAN) return CGST_VALUE_BOOLEAN;
    if (type == G_TYPE_STRING) return CGST_VALUE_STRING;
    if (type == G_TYPE_FLOAT || type == G_TYPE_DOUBLE) return CGST_VALUE_NUMBER;
    if (type == G_TYPE_INT || type == G_TYPE_UINT || type == G_TYPE_INT64 || type == G_TYPE_UINT64 ||
        type == G_TYPE_LONG || type == G_TYPE_ULONG || type == G_TYPE_CHAR || type == G_TYPE_UCHAR)
        return CGST_VALUE_INTEGER;
    if (G_TYPE_IS_ENUM(type)) return CGST_VALUE_ENUM;
    if (G_TYPE_IS_FLAGS(type)) return CGST_VALUE_FLAGS;
    if (type == GST_TYPE_FRACTION) return CGST_VALUE_FRACTION;
    if (type == GST_TYPE_CAPS) return CGST_VALUE_CAPS;
    if (type == GST_TYPE_STRUCTURE) return CGST_VALUE_STRUCTURE;
    if (type == GST_TYPE_ARRAY) return CGST_VALUE_ARRAY;
    if (g_type_is_a(type, GST_TYPE_ELEMENT)) return CGST_VALUE_ELEMENT;
    return CGST_VALUE_OTHER;
}

// Each numeric GParamSpec is a different struct with the same three fields.
#define FOR_EACH_INTEGER(X)                   \
    X(CHAR, Char, schar, gint64, "%" G_GINT64_FORMAT)   \
    X(UCHAR, UChar, uchar, guint64, "%" G_GUINT64_FORMAT) \
    X(INT, Int, int, gint64, "%" G_GINT64_FORMAT)       \
    X(UINT, UInt, uint, guint64, "%" G_GUINT64_FORMAT)  \
    X(LONG, Long, long, gint64, "%" G_GINT64_FORMAT)    \
    X(ULONG, ULong, ulong, guint64, "%" G_GUINT64_FORMAT) \
    X(INT64, Int64, int64, gint64, "%" G_GINT64_FORMAT) \
    X(UINT64, UInt64, uint64, guint64, "%" G_GUINT64_FORMAT)

gboolean cgst_param_spec_range(GParamSpec *spec, char **minimum, char **maximum) {
#define RANGE(KIND, Kind, kind, wide, format)                              \
    if (G_IS_PARAM_SPEC_##KIND(spec)) {                                    \
        GParamSpec##Kind *typed = (GParamSpec##Kind *)spec;                \
        *minimum = g_strdup_printf(format, (wide)typed->minimum);          \
        *maximum = g_strdup_printf(format, (wide)typed->maximum);          \
        return TRUE;                                                       \
    }
    FOR_EACH_INTEGER(RANGE)
    RANGE(FLOAT, Float, float, double, "%g")
    RANGE(DOUBLE, Double, double, double, "%g")
#undef RANGE
    if (GST_IS_PARAM_SPEC_FRACTION(spec)) {
        GstParamSpecFraction *typed = GST_PARAM_SPEC_FRACTION(spec);
        *minimum = g_strdup_printf("%d/%d", typed->min_num, typed->min_den);
        *maximum = g_strdup_printf("%d/%d", typed->max_num, typed->max_den);
        return TRUE;
    }
    return FALSE;
}

gboolean cgst_param_spec_is_in_range(GParamSpec *spec, const GValue *value) {
    if (G_VALUE_TYPE(value) != spec->value_type) return TRUE;
#define IN_RANGE(KIND, Kind, kind, wide, format)                                                        \
    if (G_IS_PARAM_SPEC_##KIND(spec)) {                                                                 \
        GParamSpec##Kind *typed = (GParamSpec##Kind *)spec;                                             \
        return g_value_get_##kind(value) >= typed->minimum && g_value_get_##kind(value) <= typed->maximum; \
    }
    FOR_EACH_INTEGER(IN_RANGE)
    IN_RANGE(FLOAT, Float, float, double, "%g")
    IN_RANGE(DOUBLE, Double, double, double, "%g")
#undef IN_RANGE
    return TRUE;
}

GParamSpec *cgst_param_spec_element(GParamSpec *spec) {
    return GST_IS_PARAM_SPEC_ARRAY_LIST(spec) ? GST_PARAM_SPEC_ARRAY_LIST(spec)->element_spec : NULL;
}

GType cgst_pad_template_type(GstPadTemplate *template_) {
    GType type = GST_PAD_TEMPLATE_GTYPE(template_);
    return type == G_TYPE_NONE || type == 0 ? GST_TYPE_PAD : type;
}

GType cgst_element_factory_type(const char *name, gboolean *exists) {
    GstElementFactory *factory = gst_element_factory_find(name);
    *exists = factory != NULL;
    if (factory == NULL) return 0;
    GstPluginFeature *loaded = gst_plugin_feature_load(GST_PLUGIN_FEATURE(factory));
    gst_object_unref(factory);
    if (loaded == NULL) return 0;
    GType type = gst_element_factory_get_element_type(GST_ELEMENT_FACTORY(loaded));
    gst_object_unref(loaded);
    return type;
}

GType cgst_type_element_factory(void) { return GST_TYPE_ELEMENT_FACTORY; }
