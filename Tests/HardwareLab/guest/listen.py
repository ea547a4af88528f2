#!/usr/bin/env python3
"""Fails unless a WAV file (16 bits) contains at least a second of a tone at a level, and hardly anything else.

    listen.py FILE HERTZ DECIBELS

The level is the RMS of the tone in dBFS, with a tolerance of 1 dB. An emulated machine that shares its processors is sometimes
late, and devices don't wait: up to a fifth of the windows may be torn. Silence is ignored.
"""

import array
import math
import sys
import wave

WINDOW = 0.05  # seconds


def is_tone(samples, rate, frequency, level):
    angle = 2 * math.pi * frequency / rate
    real = sum(sample * math.cos(angle * index) for index, sample in enumerate(samples))
    imaginary = sum(sample * math.sin(angle * index) for index, sample in enumerate(samples))
    energy = sum(sample * sample for sample in samples)
    share = 2 * (real * real + imaginary * imaginary) / len(samples) / energy
    return share > 0.98 and abs(10 * math.log10(energy / len(samples)) - level) < 1


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    path, frequency, level = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    with wave.open(path) as file:
        rate, channels = file.getframerate(), file.getnchannels()
        data = array.array("h", file.readframes(min(file.getnframes(), 5 * rate)))
    if file.getsampwidth() != 2:
        sys.exit(f"{path}: expected 16 bits, got {8 * file.getsampwidth()}")
    # Windows have a whole number of periods.
    length = round(round(WINDOW * frequency) * rate / frequency)
    good = torn = 0
    samples = [sample / 32768 for sample in data[::channels]]
    for start in range(0, len(samples) - length + 1, length):
        window = samples[start : start + length]
        if max(window) < 0.001:
            continue
        if is_tone(window, rate, frequency, level):
            good += 1
        else:
            torn += 1
    print(f"{path}: {good * WINDOW:.1f} s are {frequency:g} Hz at {level:g} dBFS, {torn * WINDOW:.1f} s are other sound")
    if good * WINDOW < 1 or torn > good / 4:
        sys.exit(1)


main()
