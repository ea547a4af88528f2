#pragma once
#include <glib.h>

G_BEGIN_DECLS

// memfd_create and seals are GNU's, and Swift's Glibc doesn't have them.

/// A file without a name, of this size for ever: it can neither shrink nor grow. -1 when it can't be had.
int cgst_shared_memory_new(gsize size);
/// Whether a file that came from elsewhere has at least this size and can't shrink, so that reading it can't fail.
gboolean cgst_shared_memory_is_safe(int descriptor, gsize size);

G_END_DECLS
