import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraphCore

/// A `frameobserver` in a harness, with a closure that reads or edits its frames.
enum ObserverHarness {
    struct Observer: FrameObserver {
        var preference = FramePreference()
        let body: @Sendable (borrowing VideoFrame) throws -> Verdict
        func observe(_ frame: borrowing VideoFrame) throws -> Verdict { try body(frame) }
    }

    struct Editor: FrameEditor {
        var preference = FramePreference()
        let body: @Sendable (inout VideoFrame) throws -> Verdict
        func edit(_ frame: inout VideoFrame) throws -> Verdict { try body(&frame) }
    }

    static func element(_ mode: ObserverMode) throws -> Element {
        let element = try #require(Element(factory: "frameobserver"))
        try element.setProperty("mode", parsing: mode.nick)
        return element
    }

    static func make(
        _ format: VideoFormat, _ width: Int, _ height: Int, _ preference: FramePreference = FramePreference(),
        observe: @escaping @Sendable (borrowing VideoFrame) throws -> Verdict
    ) throws -> Harness {
        let observer = Observer(preference: preference, body: observe)
        return try make(MGFrameObserver(observer, name: "test"), format, width, height)
    }

    static func make(
        _ format: VideoFormat, _ width: Int, _ height: Int, _ preference: FramePreference = FramePreference(),
        edit: @escaping @Sendable (inout VideoFrame) throws -> Verdict
    ) throws -> Harness {
        let editor = Editor(preference: preference, body: edit)
        return try make(MGFrameObserver(editor, name: "test"), format, width, height)
    }

    private static func make(
        _ observer: MGFrameObserver, _ format: VideoFormat, _ width: Int, _ height: Int
    ) throws -> Harness {
        let element = try element(observer.edits == 0 ? .readOnly : .readWrite)
        try NodeVTable.attach(observer, to: element)
        return make(element, format, width, height)
    }

    static func make(_ element: Element, _ format: VideoFormat, _ width: Int, _ height: Int) -> Harness {
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps(
            "video/x-raw,format=\(format.gstreamerName),width=\(width),height=\(height),framerate=30/1")
        return harness
    }

    /// Returns the rows of a packed frame with 4 bytes a pixel, as each pixel's first byte.
    static func rows(_ frame: borrowing VideoFrame) throws -> [[UInt8]] {
        let plane = try frame.plane(.packed)
        return (0..<plane.height).map { y in (0..<plane.width).map { x in plane.row(y)[x * 4] } }
    }

    /// Returns a frame of 3×2 numbered RGBA pixels with a rotation.
    static func numbered(_ rotation: Rotation) -> Buffer {
        let buffer = Buffer((1...6).flatMap { [UInt8($0), 0, 0, 255] })
        Rotation.meta.set(rotation.rawValue, on: buffer.access)
        return buffer
    }
}
