// Annotations for Thread Sanitizer, in builds with it only.
//
// Thread Sanitizer sees synchronization by pthreads and by instrumented code. GLib's mutexes and conditions are
// futexes, and the slow path of Swift's Mutex is in a library that isn't instrumented, so everything that they protect
// would be reported as a race. These functions replace the real ones, call them, and report the synchronization.
#if __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glib-object.h>
#include <gst/gst.h>
#include <stdbool.h>
#include <sanitizer/tsan_interface.h>

// The replacements aren't instrumented: the unsynchronized `real` gets the same value on every thread.
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)

// Looks up the replaced function in the next library.
#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void g_mutex_lock(GMutex *mutex) {
    REAL(g_mutex_lock);
    real(mutex);
    __tsan_acquire(mutex);
}

gboolean g_mutex_trylock(GMutex *mutex) {
    REAL(g_mutex_trylock);
    gboolean locked = real(mutex);
    if (locked) __tsan_acquire(mutex);
    return locked;
}

void g_mutex_unlock(GMutex *mutex) {
    REAL(g_mutex_unlock);
    __tsan_release(mutex);
    real(mutex);
}

void g_cond_wait(GCond *condition, GMutex *mutex) {
    REAL(g_cond_wait);
    __tsan_release(mutex);
    real(condition, mutex);
    __tsan_acquire(mutex);
}

gboolean g_cond_wait_until(GCond *condition, GMutex *mutex, gint64 end_time) {
    REAL(g_cond_wait_until);
    __tsan_release(mutex);
    gboolean signalled = real(condition, mutex, end_time);
    __tsan_acquire(mutex);
    return signalled;
}

// The slow path of Synchronization.Mutex on Linux. The fast path is inlined, so Thread Sanitizer sees it.
#define SWIFT __attribute__((swiftcall))
#define SWIFT_SELF __attribute__((swift_context))
#define SWIFT_LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define SWIFT_TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define SWIFT_UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void cgst_swift_lock(guint32 thread, SWIFT_SELF void *mutex) __asm__(SWIFT_LOCK);
SWIFT bool cgst_swift_try_lock(SWIFT_SELF void *mutex) __asm__(SWIFT_TRY_LOCK);
SWIFT void cgst_swift_unlock(SWIFT_SELF void *mutex) __asm__(SWIFT_UNLOCK);

SWIFT void cgst_swift_lock(guint32 thread, SWIFT_SELF void *mutex) {
    SWIFT void (*real)(guint32, SWIFT_SELF void *) = dlsym(RTLD_NEXT, SWIFT_LOCK);
    real(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT bool cgst_swift_try_lock(SWIFT_SELF void *mutex) {
    SWIFT bool (*real)(SWIFT_SELF void *) = dlsym(RTLD_NEXT, SWIFT_TRY_LOCK);
    bool locked = real(mutex);
    if (locked) __tsan_acquire(mutex);
    return locked;
}

SWIFT void cgst_swift_unlock(SWIFT_SELF void *mutex) {
    SWIFT void (*real)(SWIFT_SELF void *) = dlsym(RTLD_NEXT, SWIFT_UNLOCK);
    __tsan_release(mutex);
    real(mutex);
}

// Unreferencing a buffer, or the sample that holds it, ends its use; its pool may then hand it to another thread. GStreamer
// doesn't call the replacement itself when it frees a sample.
void gst_mini_object_unref(GstMiniObject *object) {
    REAL(gst_mini_object_unref);
    __tsan_release(object);
    if (GST_IS_SAMPLE(object)) {
        GstBuffer *buffer = gst_sample_get_buffer((GstSample *)object);
        if (buffer) __tsan_release(buffer);
    }
    real(object);
}

GstFlowReturn gst_buffer_pool_acquire_buffer(GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params) {
    REAL(gst_buffer_pool_acquire_buffer);
    GstFlowReturn result = real(pool, buffer, params);
    if (result == GST_FLOW_OK) __tsan_acquire(*buffer);
    return result;
}
#pragma clang attribute pop
#endif
