// What Thread Sanitizer must be told, in builds with it only.
//
// It sees synchronisation that goes through pthreads or through code that it instruments. GLib's mutexes and conditions
// are futexes, and the slow half of Swift's Mutex lies in a library that isn't instrumented: everything that they guard
// would be reported. So these functions stand before the real ones, and tell.
#if __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glib-object.h>
#include <gst/gst.h>
#include <stdbool.h>
#include <sanitizer/tsan_interface.h>

// Not instrumented themselves: `real` gets the same value from every thread.
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)

// The function of this name in the next library.
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

// Synchronization.Mutex on Linux, where its fast path (which is inlined, and seen) fails.
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

// Who lets go of a buffer has done with it: it may be the next one's, by its pool.
void gst_mini_object_unref(GstMiniObject *object) {
    REAL(gst_mini_object_unref);
    __tsan_release(object);
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
