// A client that imports MediaGraph has the public declarations of the targets below it too: frames and graphs are described in
// the binding's vocabulary (VideoFormat, ClockTime, Fraction, Element, …).
@_exported import GStreamer
@_exported import MediaGraphCore
@_exported import MediaGraphDescription
@_exported import MediaGraphDevices
@_exported import MediaGraphElements
@_exported import MediaGraphHandlers
@_exported import MediaGraphSession
