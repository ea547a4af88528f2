#!/usr/bin/env python3
"""Fails unless every picture of YUV4MPEG2 files (4:2:0) is a picture of one of the lab's devices.

    look.py bars FILE...                 vivid's color bars
    look.py numbers FRAMES FILE...       at least FRAMES complete pictures of the USB camera or of `counter`, in order. (Pictures may
                                         be missing, because devices don't wait for a machine that is late. v4l2loopback begins with
                                         the same picture twice.)

With --inverted as the first argument, the pictures are inverted.
"""

import sys

# Red, green and blue of vivid's bars, from the left.
BARS = [(1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 0, 0)]
# The number of pictures that the USB camera repeats.
PICTURES = 32


def read(path):
    """Width, height, and the bytes of each picture."""
    with open(path, "rb") as file:
        header = file.readline().decode().split()
        fields = {field[0]: field[1:] for field in header[1:]}
        if not header or header[0] != "YUV4MPEG2" or not fields.get("C", "420").startswith("420"):
            sys.exit(f"{path}: expected YUV4MPEG2 with 4:2:0, got {header}")
        width, height = int(fields["W"]), int(fields["H"])
        size = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
        pictures = []
        while file.readline().startswith(b"FRAME"):
            data = file.read(size)
            # The last picture is incomplete if the writer was killed.
            if len(data) == size:
                pictures.append(data)
    if not pictures:
        sys.exit(f"{path}: contains no picture")
    return width, height, pictures


def is_high(value):
    return int(value > 90)


def check_bars(path, invert):
    width, height, pictures = read(path)
    chroma_width, chroma_height = (width + 1) // 2, (height + 1) // 2
    for index, data in enumerate(pictures):
        lumas, colors = [], []
        for bar in range(8):
            x, y = (2 * bar + 1) * width // 16, height * 3 // 4
            chroma = width * height + y // 2 * chroma_width + x // 2
            planes = (data[y * width + x], data[chroma], data[chroma + chroma_width * chroma_height])
            luma, u, v = (255 - value if invert else value for value in planes)
            luma, u, v = 1.164 * (luma - 16), u - 128, v - 128
            lumas.append(luma)
            # Works for BT.601 and BT.709, because the bars' colors are far apart.
            colors.append((is_high(luma + 1.6 * v), is_high(luma - 0.39 * u - 0.81 * v), is_high(luma + 2.02 * u)))
        falls = all(left > right + 4 for left, right in zip(lumas, lumas[1:]))
        if "GRAY" in path and falls:
            continue
        if colors != BARS or not falls:
            sys.exit(f"{path}: picture {index} shows {colors}, lumas {[round(luma) for luma in lumas]}")
    print(f"{path}: {len(pictures)} pictures of bars")


def check_numbers(path, least, invert):
    width, _, pictures = read(path)
    cell = max(1, min(width // 32, 16))
    numbers = []
    for data in pictures:
        row = data[cell // 2 * width :]
        bits = [(row[bit * cell + cell // 2] >= 128) != invert for bit in range(32)]
        numbers.append(sum(bit << (31 - index) for index, bit in enumerate(bits)))
    print(f"{path}: {numbers}")
    changes = sum(left != right for left, right in zip(numbers, numbers[1:]))
    if changes + 1 < least:
        sys.exit(f"{path}: expected at least {least} pictures, got {changes + 1}")
    # uvcvideo copies its first two pictures in parallel: on a busy machine, the second may arrive first.
    for left, right in zip(numbers[1:], numbers[2:]):
        if (right - left) % PICTURES > PICTURES // 2:
            sys.exit(f"{path}: {right} after {left}")


def main():
    words = sys.argv[1:]
    invert = words[:1] == ["--inverted"]
    what, *rest = words[invert:] or [""]
    if what == "bars" and rest:
        for path in rest:
            check_bars(path, invert)
    elif what == "numbers" and len(rest) > 1:
        for path in rest[1:]:
            check_numbers(path, int(rest[0]), invert)
    else:
        sys.exit(__doc__)


main()
