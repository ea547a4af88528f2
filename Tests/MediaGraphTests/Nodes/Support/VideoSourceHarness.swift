import GStreamer
import TestSupport
import Testing

@testable import MediaGraphCore

/// Returns a `videosource` with its source in a harness, on a clock that only the test advances.
func videoSourceHarness(_ settings: [String: String] = [:], source: some VideoSource) throws -> Harness {
    let element = try #require(Element(factory: "videosource"))
    for (name, value) in settings { try element.setProperty(name, parsing: value) }
    try NodeVTable.attach(source, to: element)
    let harness = Harness(element, sink: nil, source: "src")
    harness.play()
    return harness
}

/// Returns the error that sending in `body` throws, or `nil` if it succeeds.
func sendError(_ body: () throws -> Void) -> MediaGraphError? {
    do {
        try body()
        return nil
    } catch { return error as? MediaGraphError }
}
