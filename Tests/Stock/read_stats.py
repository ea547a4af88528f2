"""Uses the plugin as any GStreamer program does: loads elements by name, and reads properties and statistics by introspection."""

import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

FRAMES = 40

Gst.init(None)
assert Gst.Registry.get().find_plugin("mediagraph"), "the plugin isn't in GST_PLUGIN_PATH"
pipeline = Gst.parse_launch(
    "videosource name=source handler=counter ! preprocessor name=invert handler=invert"
    " ! rawdatapipe name=pipe handler=count format=I420"
)
nodes = {name: pipeline.get_by_name(name) for name in ("source", "invert", "pipe")}


def frames(name):
    stats = nodes[name].get_property("stats")
    assert stats.get_name() == "mediagraph-stats", stats.to_string()
    return stats.get_value("frames")


loop = GLib.MainLoop()
failures = []
statuses = []


def on_message(_, message):
    if message.type == Gst.MessageType.ERROR:
        failures.append(message.parse_error()[0].message)
        loop.quit()
    elif message.type == Gst.MessageType.ELEMENT and message.src == nodes["pipe"]:
        statuses.append(message.get_structure().get_value("on"))


def enough():
    if frames("pipe") >= FRAMES:
        loop.quit()
    return True


def too_long():
    failures.append(f"only {frames('pipe')} frames in 20 s")
    loop.quit()


bus = pipeline.get_bus()
bus.add_signal_watch()
bus.connect("message", on_message)
GLib.timeout_add(50, enough)
GLib.timeout_add_seconds(20, too_long)
pipeline.set_state(Gst.State.PLAYING)
loop.run()

# Frames are still flowing. The last node is read first, so that it never counts more frames than the nodes before it.
counts = {name: frames(name) for name in reversed(nodes)}
# A property that is locked while the pipe runs keeps its value.
nodes["pipe"].set_property("format", "BGRA")
if nodes["pipe"].get_property("format").value_nick != "I420":
    failures.append("format changed while the pipe was running")
pipeline.set_state(Gst.State.NULL)

print(counts, "statuses", statuses)
if statuses[:1] != [True]:
    failures.append(f"expected the pipe's first status to be on, got {statuses[:1]}")
if not counts["pipe"] <= counts["invert"] <= counts["source"] + 1:
    failures.append(f"a node has counted more frames than the node before it: {counts}")
if failures:
    sys.exit("FAILED: " + "; ".join(failures))
