#!/usr/bin/python3
"""Prints the mean blue, green and red of each picture, which numpy gets as a pipe's handler would.

Needs python3-numpy, python3-gi and gir1.2-gst-plugins-base-1.0, and GST_PLUGIN_PATH.
"""
import gi, numpy
gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp
Gst.init(None)
graph = Gst.parse_launch("""videotestsrc num-buffers=3 pattern=red ! video/x-raw,width=638,height=360 !
    rawdatapipe format=BGR24 resolution=90p src-format=as-delivered ! appsink name=pictures sync=false""")
graph.set_state(Gst.State.PLAYING)
while sample := graph.get_by_name("pictures").pull_sample():
    size = sample.get_caps().get_structure(0)
    width, height = (size.get_int(side).value for side in ("width", "height"))
    rows = numpy.frombuffer(sample.get_buffer().extract_dup(0, sample.get_buffer().get_size()), numpy.uint8).reshape(height, -1)
    picture = rows[:, : width * 3].reshape(height, width, 3)  # a row of BGR may end with padding
    print(picture.shape, picture.mean(axis=(0, 1)).round())
graph.set_state(Gst.State.NULL)
