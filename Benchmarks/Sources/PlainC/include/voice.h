#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include "probe.h"

// Blocks of sound whose latency is measured, in the same way on both sides. Each block carries its number in its first
// sample.

// 10 ms at 48 kHz, mono, 16 bits.
#define PC_BLOCK_FRAMES 480
#define PC_BLOCK_TIME 10000000u

typedef struct {
    uint64_t begin;          // time at which the first block is due, on the monotonic clock
    uint64_t room;           // number of blocks, fewer than 32768
    uint64_t *sent;          // time at which each block was sent
    int64_t *values;         // latency of each block in nanoseconds
    _Atomic uint64_t count;  // blocks that have arrived
    _Atomic bool is_stopped;
} PCVoice;

// Waits until the block is due. Returns false if there are no more blocks.
static inline bool pc_voice_wait(PCVoice *voice, uint64_t block) {
    if (block == voice->room || atomic_load(&voice->is_stopped)) return false;
    uint64_t due = voice->begin + block * PC_BLOCK_TIME;
    struct timespec time = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {}
    return true;
}

// Records that the block is sent now, and returns its first sample: its number from 1 on, since silence is 0.
static inline int16_t pc_voice_send(PCVoice *voice, uint64_t block) {
    voice->sent[block] = pc_monotonic();
    return (int16_t)(block + 1);
}

// Records that a block with this first sample has arrived.
static inline void pc_voice_heard(PCVoice *voice, int16_t first) {
    uint64_t count = atomic_load_explicit(&voice->count, memory_order_relaxed);
    if (first <= 0 || (uint64_t)first > voice->room || count == voice->room) return;
    voice->values[count] = (int64_t)(pc_monotonic() - voice->sent[first - 1]);
    atomic_store_explicit(&voice->count, count + 1, memory_order_release);
}

static inline uint64_t pc_voice_count(PCVoice *voice) { return atomic_load(&voice->count); }
static inline void pc_voice_stop(PCVoice *voice) { atomic_store(&voice->is_stopped, true); }
