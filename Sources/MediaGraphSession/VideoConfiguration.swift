import GStreamer
import MediaGraphCore

extension VideoCapability {
    /// The largest size and rate that a session suggests to its video sources by default.
    package static let sessionDefault = VideoCapability(width: 1280, height: 720, framesPerSecond: Fraction(30, 1))
}
