#!/usr/bin/env python3
"""A USB camera with a microphone, in software, for the kernel's own drivers.

    usb_camera.py FOLDER

It speaks USB/IP to the kernel's virtual host controller (vhci-hcd, which must be loaded), so uvcvideo and snd-usb-audio
drive it like a real camera. It repeats the pictures FOLDER/*.jpg as MJPEG and FOLDER/*.yuyv as YUYV, 640x360 at 30 or 15
frames a second. Its microphone repeats FOLDER/sound.raw: S16LE, stereo, 48 kHz.

SIGUSR1 unplugs the camera, SIGUSR2 plugs it in again.

Sources: USB Video Class 1.1, USB Audio Class 1.0, and Documentation/usb/usbip_protocol.rst of the kernel.
"""

import errno
import glob
import signal
import socket
import struct
import sys
import threading
import time

WIDTH, HEIGHT = 640, 360
INTERVALS = [333333, 666666]  # of a frame, in 100 ns
PAYLOAD = 16384  # bytes at most between two payload headers
SAMPLE_RATE = 48000
MJPEG, YUYV = 1, 2  # bFormatIndex
VIDEO_ENDPOINT, AUDIO_ENDPOINT = 1, 2
VIDEO_STREAMING = 1  # interface

PORT, SPEED_HIGH, DEVICE_ID = 0, 3, 0x10001
ATTACH = "/sys/devices/platform/vhci_hcd.0/attach"
SUBMIT, UNLINK, RETURN_SUBMIT, RETURN_UNLINK = 1, 2, 3, 4


# --- Descriptors


def le16(value):
    return struct.pack("<H", value)


def le32(value):
    return struct.pack("<I", value)


def descriptor(*parts):
    body = b"".join(bytes([part]) if isinstance(part, int) else part for part in parts)
    return bytes([len(body) + 1]) + body


STRINGS = ["", "Lab", "Lab USB Camera", "LAB0001"]
DEVICE = descriptor(1, le16(0x200), 0xEF, 2, 1, 64, le16(0x1209), le16(0xCA11), le16(0x100), 1, 2, 3, 1)


def video_frame(subtype):
    size = WIDTH * HEIGHT * 2
    return descriptor(
        0x24, subtype, 1, 0, le16(WIDTH), le16(HEIGHT), le32(size * 8 * 15), le32(size * 8 * 30), le32(size),
        le32(INTERVALS[0]), len(INTERVALS), *[le32(interval) for interval in INTERVALS],
    )  # fmt: skip


def video_interfaces():
    colors = descriptor(0x24, 0x0D, 1, 1, 4)
    yuy2 = bytes.fromhex("5955593200001000800000aa00389b71")
    formats = descriptor(0x24, 6, MJPEG, 1, 1, 1, 0, 0, 0, 0) + video_frame(7) + colors
    formats += descriptor(0x24, 4, YUYV, 1, yuy2, 16, 1, 0, 0, 0, 0) + video_frame(5) + colors
    inputs = descriptor(0x24, 1, 2, le16(15 + len(formats)), 0x81, 0, 2, 0, 0, 0, 1, 0, 0)
    units = descriptor(0x24, 2, 1, le16(0x201), 0, 0, le16(0), le16(0), le16(0), 3, 0, 0, 0)
    units += descriptor(0x24, 3, 2, le16(0x101), 0, 1, 0)
    control = descriptor(0x24, 1, le16(0x100), le16(13 + len(units)), le32(6000000), 1, VIDEO_STREAMING)
    return (
        descriptor(0x0B, 0, 2, 0x0E, 3, 0, 2)
        + descriptor(4, 0, 0, 0, 0x0E, 1, 0, 2) + control + units
        + descriptor(4, VIDEO_STREAMING, 0, 1, 0x0E, 2, 0, 0) + inputs + formats
        + descriptor(5, 0x80 | VIDEO_ENDPOINT, 2, le16(512), 0)
    )  # fmt: skip


def audio_interfaces():
    units = descriptor(0x24, 2, 1, le16(0x201), 0, 2, le16(3), 0, 0) + descriptor(0x24, 3, 2, le16(0x101), 0, 1, 0)
    pcm = descriptor(0x24, 2, 1, 2, 2, 16, 1, le32(SAMPLE_RATE)[:3])
    return (
        descriptor(0x0B, 2, 2, 1, 0, 0, 0)
        + descriptor(4, 2, 0, 0, 1, 1, 0, 0) + descriptor(0x24, 1, le16(0x100), le16(9 + len(units)), 1, 3) + units
        + descriptor(4, 3, 0, 0, 1, 2, 0, 0)
        + descriptor(4, 3, 1, 1, 1, 2, 0, 0) + descriptor(0x24, 1, 2, 1, le16(1)) + pcm
        + descriptor(5, 0x80 | AUDIO_ENDPOINT, 5, le16(196), 4, 0, 0) + descriptor(0x25, 1, 0, 0, le16(0))
    )  # fmt: skip


INTERFACES = video_interfaces() + audio_interfaces()
CONFIGURATION = bytes([9, 2]) + le16(9 + len(INTERFACES)) + bytes([4, 1, 0, 0x80, 250]) + INTERFACES


def probe(format_index, interval):
    """Returns UVC's video probe and commit control, which describes a stream."""
    return (
        le16(1) + bytes([format_index, 1]) + le32(interval) + le16(0) * 5 + le32(WIDTH * HEIGHT * 2) + le32(PAYLOAD)
    )


# --- The device


class Gone(Exception):
    """The camera was unplugged."""


class Camera:
    """A camera that is plugged in until `unplug` is called."""

    def __init__(self, pictures, sound):
        self.pictures = pictures  # by format index
        self.sound = sound * 2  # doubled, so that each part is contiguous even if it wraps around
        self.probed = (MJPEG, INTERVALS[0])
        self.committed = self.probed
        self.is_plugged = True
        self.socket, kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sending = threading.Lock()
        self.changed = threading.Condition()
        self.queues = {VIDEO_ENDPOINT: [], AUDIO_ENDPOINT: []}
        self.pending = set()
        with open(ATTACH, "w") as attach:
            attach.write(f"{PORT} {kernels.fileno()} {DEVICE_ID} {SPEED_HIGH}")
        kernels.close()
        for work in (self.answer, self.film, self.listen):
            threading.Thread(target=self.until_unplugged, args=[work], daemon=True).start()

    def unplug(self):
        self.is_plugged = False
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the kernel closed the connection first

    def until_unplugged(self, work):
        try:
            work()
        except (Gone, OSError):
            pass
        self.is_plugged = False
        with self.changed:
            self.changed.notify_all()

    # --- USB/IP

    def receive(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise Gone
            data += part
        return data

    def answer(self):
        while self.is_plugged:
            header = self.receive(48)
            command, sequence, _, is_in, endpoint = struct.unpack(">5I", header[:20])
            if command == UNLINK:
                self.unlink(sequence, struct.unpack(">I", header[20:24])[0])
                continue
            _, length, start, packets, _ = struct.unpack(">Iiiii", header[20:40])
            sent = self.receive(length) if not is_in and length > 0 else b""
            if endpoint == 0:
                self.control(sequence, is_in, length, header[40:48], sent)
                continue
            table = self.receive(16 * packets) if endpoint == AUDIO_ENDPOINT else b""
            with self.changed:
                self.pending.add(sequence)
                self.queues[endpoint].append((sequence, length, start, list(struct.iter_unpack(">4I", table))))
                self.changed.notify_all()

    def unlink(self, sequence, unlinked):
        with self.sending:
            status = -errno.ECONNRESET if unlinked in self.pending else 0
            self.pending.discard(unlinked)
            self.socket.sendall(struct.pack(">5Ii24x", RETURN_UNLINK, sequence, 0, 0, 0, status))

    def send(self, sequence, status, data=b"", actual=None, start=0, packets=()):
        actual = len(data) if actual is None else actual
        header = struct.pack(">5I5i8x", RETURN_SUBMIT, sequence, 0, 0, 0, status, actual, start, len(packets), 0)
        self.socket.sendall(header + data + b"".join(struct.pack(">4I", *packet) for packet in packets))

    def complete(self, sequence, data, **isochronous):
        # Holds the lock while checking and sending, so that no request completes after its unlinking was answered.
        with self.sending:
            if sequence in self.pending:
                self.pending.discard(sequence)
                self.send(sequence, 0, data, **isochronous)

    def next_request(self, endpoint):
        with self.changed:
            while self.is_plugged:
                while self.queues[endpoint]:
                    request = self.queues[endpoint].pop(0)
                    if request[0] in self.pending:
                        return request
                self.changed.wait(1)
        raise Gone

    # --- Endpoint 0

    def control(self, sequence, is_in, length, setup, sent):
        kind, request, value, index, wanted = struct.unpack("<BBHHH", setup)
        answer = self.control_answer(kind, request, value, index & 255, sent)
        with self.sending:
            if answer is None:
                self.send(sequence, -errno.EPIPE)
            elif is_in:
                self.send(sequence, 0, answer[: min(length, wanted)])
            else:
                self.send(sequence, 0, actual=len(sent))

    def control_answer(self, kind, request, value, interface, sent):
        """Returns the answer to a control request; `None` stalls the endpoint."""
        if kind == 0x80 and request == 6:  # get descriptor
            which, index = value >> 8, value & 255
            if which == 3:
                return self.string(index)
            return {1: DEVICE, 2: CONFIGURATION}.get(which)
        if kind in (0x80, 0x81, 0x82) and request == 0:  # get status
            return b"\0\0"
        if kind in (0, 1, 2) and request in (1, 3, 9, 11):  # clear or set a feature, set configuration or interface
            return b""
        if interface != VIDEO_STREAMING:
            return None
        if kind == 0x21 and request == 1:  # set the probe or commit control
            format_index = sent[2] if sent[2] in (MJPEG, YUYV) else MJPEG
            asked = struct.unpack("<I", sent[4:8])[0] or INTERVALS[0]
            self.probed = (format_index, min(INTERVALS, key=lambda interval: abs(interval - asked)))
            if value >> 8 == 2:
                self.committed = self.probed
            return b""
        if kind == 0xA1:
            format_index, interval = self.probed
            return {
                0x81: probe(format_index, interval),  # current
                0x82: probe(format_index, INTERVALS[0]),  # least
                0x83: probe(format_index, INTERVALS[-1]),  # greatest
                0x85: le16(26),  # length
                0x86: b"\3",  # may be read and set
                0x87: probe(MJPEG, INTERVALS[0]),  # default
            }.get(request)
        return None

    @staticmethod
    def string(index):
        if index == 0:
            return descriptor(3, le16(0x409))
        return descriptor(3, STRINGS[index].encode("utf-16le")) if index < len(STRINGS) else None

    # --- Streams, in real time

    def film(self):
        number, due = 0, time.monotonic()
        while self.is_plugged:
            request = self.next_request(VIDEO_ENDPOINT)
            format_index, interval = self.committed
            # After a long pause, missed pictures aren't sent in a burst.
            due = max(due + interval / 1e7, time.monotonic() - 0.1)
            time.sleep(max(0, due - time.monotonic()))
            pictures = self.pictures[format_index]
            picture = pictures[number % len(pictures)]
            number += 1
            position = 0
            while True:
                room = request[1] - 2
                part = picture[position : position + room]
                position += room
                is_last = position >= len(picture)
                self.complete(request[0], bytes([2, 0x80 | number & 1 | (2 if is_last else 0)]) + part)
                if is_last:
                    break
                request = self.next_request(VIDEO_ENDPOINT)

    def listen(self):
        # Makes up for delays on a busy machine, because a microphone keeps its rate.
        position, due, frame = 0, time.monotonic(), 0
        while self.is_plugged:
            sequence, _, _, packets = self.next_request(AUDIO_ENDPOINT)
            due = max(due, time.monotonic() - 2) + len(packets) / 1000
            time.sleep(max(0, due - time.monotonic()))
            size = SAMPLE_RATE // 1000 * 4
            begin = position % (len(self.sound) // 2)
            data = self.sound[begin : begin + size * len(packets)]
            position += size * len(packets)
            table = [(offset, length, size, 0) for offset, length, _, _ in packets]
            self.complete(sequence, data, start=frame, packets=table)
            frame += len(packets)


def read_all(pattern):
    files = sorted(glob.glob(pattern))
    if not files:
        sys.exit(f"usb_camera.py: no file matches {pattern}")
    pictures = []
    for name in files:
        with open(name, "rb") as file:
            pictures.append(file.read())
    return pictures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    pictures = {MJPEG: read_all(f"{folder}/*.jpg"), YUYV: read_all(f"{folder}/*.yuyv")}
    (sound,) = read_all(f"{folder}/sound.raw")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2})
    camera = Camera(pictures, sound)
    while True:
        if signal.sigwait({signal.SIGUSR1, signal.SIGUSR2}) == signal.SIGUSR1:
            camera.unplug()
        elif not camera.is_plugged:
            camera = Camera(pictures, sound)


main()
