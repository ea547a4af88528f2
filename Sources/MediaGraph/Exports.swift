// The vocabulary of frames and graphs (VideoFormat, ClockTime, Fraction, Element, …) comes from the binding: a client that
// imports MediaGraph has it too.
@_exported import GStreamer
@_exported import MediaGraphDescription
