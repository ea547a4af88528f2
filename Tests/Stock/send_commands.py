"""Two users of a room send each other commands, with the plugin's actions and bus messages."""

import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

Gst.init(None)


def join(user):
    pipeline = Gst.Pipeline.new()
    session = Gst.ElementFactory.make("mediasession")
    for name, value in (("room", "stock"), ("user", user), ("display-name", f"The {user}")):
        session.set_property(name, value)
    pipeline.add(session)
    pipeline.set_state(Gst.State.PLAYING)
    return pipeline, session


def receive(pipeline, name):
    """Returns the next message of that name."""
    while message := pipeline.get_bus().timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.ELEMENT):
        if message.get_structure().get_name() == name:
            return message.get_structure()
    sys.exit(f"FAILED: no {name} in 20 s")


alice, call = join("alice")
bob, _ = join("bob")
shown = receive(bob, "mediagraph-user-joined").get_value("display-name")
assert shown == "The alice", shown

assert call.emit("send-text", "bob", "hello") is None
assert call.emit("send-bytes-to-all", GLib.Bytes.new(b"\x00\xff")) is None
text = receive(bob, "mediagraph-command")
assert (text.get_value("user"), text.get_value("text"), text.get_value("for-all")) == ("alice", "hello", False)
data = receive(bob, "mediagraph-command")
assert (data.get_value("bytes").get_data(), data.get_value("for-all")) == (b"\x00\xff", True)
refusal = call.emit("send-text", "carol", "hello")
assert refusal.get_value("subject") == 'user "carol"', refusal.to_string()

for pipeline in (alice, bob):
    pipeline.set_state(Gst.State.NULL)
print("commands reach other users")
