import GStreamer
import MediaGraph

/// A video frame as a value, to be made, compared and looked into by a test: packed bytes and what travels with them.
public struct TestFrame: Sendable, Hashable {
    /// Pixel format, and the range of its values.
    public let format: FrameFormat
    /// Pixels in a row.
    public let width: Int
    /// Height in pixels.
    public let height: Int
    /// The planes, one behind the other, without padding.
    public private(set) var bytes: [UInt8]
    /// How far to turn it clockwise to stand upright.
    public var rotation = Rotation.none
    /// Running time; `nil` for none.
    public var timestamp: ClockTime?
    /// Unix nanoseconds; `nil` for none.
    public var captureTime: UInt64?

    /// A frame of these bytes. A number of them that doesn't fit is a mistake in the test: it traps.
    public init(_ format: FrameFormat, width: Int, height: Int, bytes: [UInt8]) {
        let expected = format.pixelFormat.packedLength(width: width, height: height)
        precondition(
            width > 0 && height > 0 && bytes.count == expected,
            "\(width)×\(height) \(format.pixelFormat) has \(expected) bytes, not \(bytes.count)")
        (self.format, self.width, self.height, self.bytes) = (format, width, height, bytes)
    }

    /// A frame whose every byte is `value`.
    public init(_ format: FrameFormat, width: Int, height: Int, filledWith value: UInt8) {
        let count = format.pixelFormat.packedLength(width: width, height: height)
        self.init(format, width: width, height: height, bytes: [UInt8](repeating: value, count: count))
    }

    /// A copy of a borrowed frame.
    public init(_ frame: borrowing VideoFrame) {
        format = FrameFormat(frame.format, range: frame.colorRange)
        (width, height, bytes) = (frame.width, frame.height, frame.packedBytes)
        (rotation, timestamp, captureTime) = (frame.rotation, frame.runningTime, frame.captureTime)
    }

    /// A copy of an owned frame. Throws when its memory can't be read.
    public init(_ frame: OwnedVideoFrame) throws {
        self = try frame.withFrame { TestFrame($0) }
    }
}

// MARK: Frames to test with

extension TestFrame {
    /// Frame `number` of `videosource handler=counter`: the same pattern, with the number burnt in (see `number`).
    /// Stamped by its number at `rate`.
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

    /// Bytes without a pattern, the same for the same seed.
    public static func noise(
        _ format: FrameFormat, width: Int, height: Int, seed: UInt64 = 1, in values: ClosedRange<UInt8> = 0...255
    ) -> TestFrame {
        let count = format.pixelFormat.packedLength(width: width, height: height)
        var generator = SplitMix64(state: seed)
        let bytes = (0..<count).map { _ in UInt8.random(in: values, using: &generator) }
        return TestFrame(format, width: width, height: height, bytes: bytes)
    }

    /// The number that is burnt into it, read back (`FrameNumber`): survives lossy codecs.
    public var number: UInt32 {
        get throws { try withFrame { try FrameNumber.read($0) }.result }
    }

    /// The same picture in another format, converted by GStreamer.
    public func converted(to format: FrameFormat) throws -> TestFrame {
        let unsupported = MediaGraphError.unsupported(.init("a frame's conversion", actual: "\(format)"))
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

/// Vigna's generator: the same numbers everywhere for a seed.
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
    /// The bytes of a plane; `nil` when the format has none such (alpha in I420).
    public func plane(_ plane: VideoFormat.Plane) -> [UInt8]? { range(of: plane).map { Array(bytes[$0]) } }

    /// One byte: pixel `x`, `y` of the plane (chroma planes count their own pixels), and which of its components.
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
                "\(width)×\(height) \(format.pixelFormat) has no byte \(component) of \(x),\(y) in \(plane)")
        }
        return range.lowerBound + (y * size.width + x) * step + component
    }
}

// MARK: As handlers see it

extension TestFrame {
    /// What its caps would say.
    var info: VideoInfo? {
        guard var info = VideoInfo(format.pixelFormat, width: width, height: height) else { return nil }
        if format.pixelFormat.isYUV { info.colorimetry.range = format.range }
        return info
    }

    /// Lends the frame to a handler in memory whose rows are longer than their pixels by 16 pixels of something else:
    /// code that takes rows for neighbours is found out. Gives the frame as the handler left it.
    func withFrame<R>(_ body: (inout VideoFrame) throws -> R) throws -> (result: R, frame: TestFrame) {
        guard let info = info?.padded(byPixels: 16), let buffer = Buffer(filledWith: 0xA5, count: info.size) else {
            throw MediaGraphError.invalidParameter(.init("a frame", actual: "\(width)×\(height) \(format)"))
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
