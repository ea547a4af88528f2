#pragma once
#include <gst/gst.h>

// What reading a class's properties needs of GObject's cast macros, which Swift can't import.

G_BEGIN_DECLS

/// What a property's values are, as far as text that describes them is concerned.
typedef enum {
    CGST_VALUE_OTHER,
    CGST_VALUE_BOOLEAN,
    CGST_VALUE_INTEGER,
    CGST_VALUE_NUMBER,
    CGST_VALUE_STRING,
    CGST_VALUE_ENUM,
    CGST_VALUE_FLAGS,
    CGST_VALUE_FRACTION,
    CGST_VALUE_CAPS,
    CGST_VALUE_STRUCTURE,
    CGST_VALUE_ARRAY,
    CGST_VALUE_ELEMENT,
} CGstValueKind;

CGstValueKind cgst_param_spec_kind(GParamSpec *spec);

/// The limits of a numeric property, written as text for the caller to free; FALSE for a property without limits.
gboolean cgst_param_spec_range(GParamSpec *spec, char **minimum, char **maximum);

/// Whether `value` lies within a numeric property's limits; TRUE for a property without limits. GObject's own
/// validation isn't asked: an element's property may leave it to the element.
gboolean cgst_param_spec_is_in_range(GParamSpec *spec, const GValue *value);

/// What the elements of an array property must be; NULL when it isn't an array, or takes any.
GParamSpec *cgst_param_spec_element(GParamSpec *spec);

/// The GType of the pads that a template makes (GST_PAD_TEMPLATE_GTYPE).
GType cgst_pad_template_type(GstPadTemplate *template_);

/// Calls gst_element_factory_find and loads the plugin; the type is 0 when there is no such factory (`exists` is
/// FALSE) or when its plugin can't be loaded (`exists` is TRUE).
GType cgst_element_factory_type(const char *name, gboolean *exists);

/// GST_PARAM_CONTROLLABLE.
extern const GParamFlags cgst_param_controllable;

/// GST_TYPE_ELEMENT_FACTORY.
GType cgst_type_element_factory(void);

G_END_DECLS
