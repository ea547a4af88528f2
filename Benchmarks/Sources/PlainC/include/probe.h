#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// Records each frame, with the same few instructions on both sides, C and Swift.

// The numbers of one run.
typedef struct {
    uint64_t expected;  // frames
    uint64_t frames;
    uint64_t sum;        // of the bytes and times that were read, so that no compiler removes the reads
    uint64_t wall, cpu;  // nanoseconds from the first frame to the last
} PCProbe;

static inline uint64_t pc_now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t pc_monotonic(void) { return pc_now(CLOCK_MONOTONIC); }

// Records one frame with the sum of its reads. Only the first and the last frame read the clocks.
static inline void pc_probe_note(PCProbe *probe, uint64_t read) {
    probe->sum += read;
    probe->frames += 1;
    if (probe->frames == 1) {
        probe->wall = pc_now(CLOCK_MONOTONIC);
        probe->cpu = pc_now(CLOCK_PROCESS_CPUTIME_ID);
    } else if (probe->frames == probe->expected) {
        probe->wall = pc_now(CLOCK_MONOTONIC) - probe->wall;
        probe->cpu = pc_now(CLOCK_PROCESS_CPUTIME_ID) - probe->cpu;
    }
}

// How late the frames of one live graph were delivered.
typedef struct {
    int64_t *values;  // nanoseconds
    uint64_t room;    // the capacity of values
    _Atomic uint64_t count;
    _Atomic uint64_t base_time;  // 0 while not recording
} PCLateness;

static inline void pc_lateness_record(PCLateness *lateness, uint64_t base_time) {
    atomic_store(&lateness->base_time, base_time);
}

static inline uint64_t pc_lateness_count(PCLateness *lateness) { return atomic_load(&lateness->count); }

// Records that a frame of this running time is delivered now. The graphs use the system's monotonic clock.
static inline void pc_lateness_note(PCLateness *lateness, uint64_t running_time) {
    uint64_t base = atomic_load_explicit(&lateness->base_time, memory_order_relaxed);
    uint64_t count = atomic_load_explicit(&lateness->count, memory_order_relaxed);
    if (base == 0 || count == lateness->room) return;
    lateness->values[count] = (int64_t)(pc_monotonic() - base - running_time);
    atomic_store_explicit(&lateness->count, count + 1, memory_order_release);
}
