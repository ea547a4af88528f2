import Foundation
import GStreamer
import MediaGraph

/// A video frame as a value that a test can create, compare and inspect: packed bytes, and the frame's metadata.
public struct TestFrame: Sendable, Hashable {
    /// The pixel format, and the range of its values.
    public let format: FrameFormat
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The bytes of the planes, one plane after the other, without padding.
    public private(set) var bytes: [UInt8]
    /// The clockwise rotation that makes the picture upright.
    public var rotation = Rotation.none
    /// The timestamp in running time; `nil` if there is none.
    public var timestamp: ClockTime?
    /// The wall-clock time of capture; `nil` if there is none.
    public var captureTime: Date?

    /// Creates a frame of these bytes. Traps if their number doesn't fit the size and format.
    public init(_ format: FrameFormat, width: Int, height: Int, bytes: [UInt8]) {
        let expected = format.pixelFormat.packedLength(width: width, height: height)
        precondition(
            width > 0 && height > 0 && bytes.count == expected,
            "a frame of \(width)×\(height) \(format.pixelFormat) has \(expected) bytes, not \(bytes.count)")
        (self.format, self.width, self.height, self.bytes) = (format, width, height, bytes)
    }

    /// Creates a frame in which every byte is `value`.
    public init(_ format: FrameFormat, width: Int, height: Int, filledWith value: UInt8) {
        let count = format.pixelFormat.packedLength(width: width, height: height)
        self.init(format, width: width, height: height, bytes: [UInt8](repeating: value, count: count))
    }

    /// Creates a copy of a borrowed frame.
    public init(_ frame: borrowing VideoFrame) {
        format = FrameFormat(frame.format, range: frame.colorRange)
        (width, height, bytes) = (frame.width, frame.height, frame.packedBytes)
        (rotation, timestamp, captureTime) = (frame.rotation, frame.runningTime, frame.captureTime)
    }

    /// Creates a copy of an owned frame. Throws if its memory can't be read.
    public init(_ frame: OwnedVideoFrame) throws {
        self = try frame.withFrame { TestFrame($0) }
    }
}

// MARK: Frames to test with

extension TestFrame {
    /// Returns frame `number` of `videosource handler=counter`: the same pattern with the number burnt in (see
    /// `number`), and the timestamp of that frame at `rate`.
    public static func numbered(
        _ number: UInt32, _ format: FrameFormat = .i420Limited, width: Int = 320, height: Int = 180,
        rate: Fraction = Fraction(30, 1)
    ) throws -> TestFrame {
        var canvas = CounterCanvas(width: width, height: height)
        canvas.draw(number)
        let drawn = TestFrame(.i420Limited, width: width, height: height, bytes: canvas.bytes)
        var frame = format == .i420Limited ? drawn : try drawn.converted(to: format)
        frame.timestamp = .frame(Int(number), at: rate)
        return frame
    }

    /// Returns a frame of random bytes within `values`, which are the same for the same seed.
    public static func noise(
        _ format: FrameFormat, width: Int, height: Int, seed: UInt64 = 1, in values: ClosedRange<UInt8> = 0...255
    ) -> TestFrame {
        let count = format.pixelFormat.packedLength(width: width, height: height)
        var generator = SplitMix64(state: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        // Generic code for each byte takes seconds in debug builds. Both cases give what `random` gives.
        while bytes.count < count {
            if values == 0...255 {
                let random: UInt64 = generator.next()
                bytes.append(UInt8(truncatingIfNeeded: random))
            } else {
                bytes.append(UInt8.random(in: values, using: &generator))
            }
        }
        return TestFrame(format, width: width, height: height, bytes: bytes)
    }

    /// The number that is burnt into the frame, which survives lossy codecs. Throws if there is none. See
    /// `FrameNumber`.
    public var number: UInt32 {
        get throws { try withFrame { try FrameNumber.read($0) }.result }
    }

    /// Returns the same picture in another format, converted by GStreamer. Throws `unsupported` if GStreamer can't
    /// convert it.
    public func converted(to format: FrameFormat) throws -> TestFrame {
        let unsupported = MediaGraphError.unsupported(.init("the frame", actual: "can't be converted to \(format)"))
        guard let input = info, var output = input.converted(to: format.pixelFormat, size: (width, height)) else {
            throw unsupported
        }
        if format.pixelFormat.isYUV { output.colorimetry.range = format.range }
        guard let converter = VideoConverter(from: input, to: output), let pool = VideoBufferPool(input),
            let buffer = pool.copy(packed: bytes), let converted = converter.convert(buffer.access)
        else { throw unsupported }
        return try converted.access.withFrame(
            output, timestamp: timestamp, captureTime: captureTime, rotation: rotation
        ) { TestFrame($0) }
    }
}

/// Sebastiano Vigna's SplitMix64 generator, which returns the same numbers for the same seed on every machine.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

// MARK: Pixels

extension TestFrame {
    /// Returns the bytes of a plane; `nil` if the format doesn't have it, such as alpha in I420.
    public func plane(_ plane: VideoFormat.Plane) -> [UInt8]? { range(of: plane).map { Array(bytes[$0]) } }

    /// Accesses one byte: a component of the pixel at `x`, `y` of a plane. Chroma planes count their own pixels. Traps
    /// if there is no such byte.
    public subscript(plane: VideoFormat.Plane, x: Int, y: Int, component: Int = 0) -> UInt8 {
        get { bytes[index(plane, x, y, component)] }
        set { bytes[index(plane, x, y, component)] = newValue }
    }

    private func range(of plane: VideoFormat.Plane) -> Range<Int>? {
        guard format.pixelFormat.index(of: plane) != nil else { return nil }
        var start = 0
        for other in format.pixelFormat.planes {
            let size = format.pixelFormat.size(of: other, width: width, height: height)
            let end = start + size.width * size.height * format.pixelFormat.pixelStride(of: other)
            if other == plane { return start..<end }
            start = end
        }
        return nil
    }

    private func index(_ plane: VideoFormat.Plane, _ x: Int, _ y: Int, _ component: Int) -> Int {
        let size = format.pixelFormat.size(of: plane, width: width, height: height)
        let step = format.pixelFormat.pixelStride(of: plane)
        guard let range = range(of: plane), 0..<size.width ~= x, 0..<size.height ~= y, 0..<step ~= component else {
            preconditionFailure(
                "\(width)×\(height) \(format.pixelFormat) has no component \(component) at \(x),\(y) in plane \(plane)")
        }
        return range.lowerBound + (y * size.width + x) * step + component
    }
}

// MARK: Lending frames to handlers

extension TestFrame {
    /// The frame's format as GStreamer's video info; `nil` if the size isn't valid for the format.
    var info: VideoInfo? {
        guard var info = VideoInfo(format.pixelFormat, width: width, height: height) else { return nil }
        if format.pixelFormat.isYUV { info.colorimetry.range = format.range }
        return info
    }

    /// Lends the frame to a handler, and returns it as the handler left it. In the lent memory, 16 pixels of padding
    /// follow each row, to detect code that ignores the stride.
    func withFrame<R>(_ body: (inout VideoFrame) throws -> R) throws -> (result: R, frame: TestFrame) {
        guard let info = info?.padded(byPixels: 16), let buffer = Buffer(filledWith: 0xA5, count: info.size) else {
            throw MediaGraphError.invalidParameter(
                .init("the frame", actual: "can't be created with \(width)×\(height) pixels in \(format)"))
        }
        return try buffer.access.withFrame(
            info, timestamp: timestamp, captureTime: captureTime, rotation: rotation
        ) { frame in
            var rest = bytes.span
            for plane in format.pixelFormat.planes {
                var pixels = try frame.mutablePlane(plane)
                for y in 0..<pixels.height {
                    var row = pixels.row(y)
                    let source = rest.extracting(first: row.count)
                    row.withUnsafeMutableBytes { target in source.withUnsafeBytes { target.copyMemory(from: $0) } }
                    rest = rest.extracting(droppingFirst: row.count)
                }
            }
            let result = try body(&frame)
            return (result, TestFrame(frame))
        }
    }
}
