#pragma once
#include <gst/gst.h>

// Introspection of element classes. Uses GObject's cast macros, which Swift can't import.

G_BEGIN_DECLS

/// The kind of a property's values, for describing them.
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

/// Returns the kind of a property's values.
CGstValueKind cgst_param_spec_kind(GParamSpec *spec);

/// Gets the limits of a numeric property as text, which the caller frees with g_free. Returns FALSE for a property
/// without limits.
gboolean cgst_param_spec_range(GParamSpec *spec, char **minimum, char **maximum);

/// Returns whether `value` is within a numeric property's limits; TRUE for a property without limits. Doesn't use
/// GObject's own validation, which a property may leave to its element.
gboolean cgst_param_spec_is_in_range(GParamSpec *spec, const GValue *value);

/// Returns the specification of an array property's elements; NULL if the property isn't an array or accepts any
/// elements.
GParamSpec *cgst_param_spec_element(GParamSpec *spec);

/// Returns the GType of the pads that a template creates (GST_PAD_TEMPLATE_GTYPE).
GType cgst_pad_template_type(GstPadTemplate *template_);

/// Finds an element factory, loads its plugin, and returns the element's type. Returns 0 if there is no such factory
/// (`exists` is FALSE), or if its plugin can't be loaded (`exists` is TRUE).
GType cgst_element_factory_type(const char *name, gboolean *exists);

/// GST_PARAM_CONTROLLABLE.
extern const GParamFlags cgst_param_controllable;

/// GST_TYPE_ELEMENT_FACTORY.
GType cgst_type_element_factory(void);

G_END_DECLS
