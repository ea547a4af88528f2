#define _GNU_SOURCE
#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int cgst_shared_memory_new(gsize size) {
    int descriptor = memfd_create("mediagraph", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    if (ftruncate(descriptor, (off_t)size) == 0 &&
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        return descriptor;
    }
    close(descriptor);
    return -1;
}

gboolean cgst_shared_memory_is_safe(int descriptor, gsize size) {
    struct stat status;
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(descriptor, &status) == 0 && status.st_size >= 0 &&
           (gsize)status.st_size >= size;
}
