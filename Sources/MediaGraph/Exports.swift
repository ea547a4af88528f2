// A client that imports MediaGraph also sees the public declarations of the targets below it, because the API uses
// their types (VideoFormat, ClockTime, Fraction, Element, …).
@_exported import GStreamer
@_exported import MediaGraphCore
@_exported import MediaGraphDescription
@_exported import MediaGraphDevices
@_exported import MediaGraphElements
@_exported import MediaGraphHandlers
@_exported import MediaGraphSession
