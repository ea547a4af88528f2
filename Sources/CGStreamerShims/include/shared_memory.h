#pragma once
#include <glib.h>

G_BEGIN_DECLS

// memfd_create and file seals are GNU extensions, which Swift's Glibc module lacks.

/// Creates an anonymous file that can neither shrink nor grow. Returns its descriptor, or -1 on failure.
int cgst_shared_memory_new(gsize size);
/// Returns whether a file from another process has at least this size and can't shrink, so that reading its mapping
/// can't raise SIGBUS.
gboolean cgst_shared_memory_is_safe(int descriptor, gsize size);

G_END_DECLS
