import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The format of sent frames. Its caps and its buffer pool are made only when the format changes.
final class SentFormat: SentFormatDescription {
    typealias Payload = QueuedFrame

    private let width, height: Int32
    private let format: GstVideoFormat
    private let range: GstVideoColorRange
    private let rate, aspect: Fraction
    private let packedLength: Int64
    private let durationNanoseconds: UInt64?
    let isPackedByDefault: Bool
    /// The highest rate that the source declared for this size; `nil` if it declared none.
    let maximumRate: Fraction?
    /// The rate at which frames should arrive: the frames' own rate, or the only rate that the source declared for
    /// their size.
    let nominalRate: Fraction?
    let pool: VideoBufferPool
    let caps: Caps

    var framesPerSecond: Fraction { rate }
    var byteCount: Int { Int(packedLength) }

    /// Returns whether the frame has this format and complete data.
    @inline(__always)
    func accepts(_ frame: UnsafePointer<MGOutgoingFrame>) -> Bool {
        hasFormat(of: frame)
            && (frame.pointee.length == packedLength && frame.pointee.data != nil || frame.pointee.buffer != nil)
    }

    @inline(__always)
    func hasFormat(of frame: UnsafePointer<MGOutgoingFrame>) -> Bool {
        frame.pointee.width == width && frame.pointee.height == height && frame.pointee.format == format
            && frame.pointee.range == range
            && frame.pointee.rate_numerator == rate.numerator && frame.pointee.rate_denominator == rate.denominator
            && frame.pointee.aspect_numerator == aspect.numerator
            && frame.pointee.aspect_denominator == aspect.denominator
            && Rotation(rawValue: frame.pointee.rotation) != nil
    }

    var rateLimit: String { "at most \(maximumRate ?? Fraction(0, 1)) frames/s" }

    /// Makes a payload from the sender's buffer, or from a buffer around the sender's memory if GStreamer's default
    /// layout allows that. Otherwise copies the frame into a buffer from the pool.
    consuming func payload(
        _ frame: UnsafePointer<MGOutgoingFrame>, _ marks: FrameMarks
    ) throws(MediaGraphError) -> QueuedFrame {
        var buffer: Buffer?
        if let own = frame.pointee.buffer {
            buffer = Buffer(taking: own)
        } else if let release = frame.pointee.release, isPackedByDefault {
            buffer = Buffer(
                wrapping: UnsafeMutableRawBufferPointer(
                    start: UnsafeMutableRawPointer(mutating: frame.pointee.data), count: Int(frame.pointee.length)),
                context: frame.pointee.release_context, release: release)
        } else {
            buffer = pool.copy(packed: frame.pointee.data)
            frame.pointee.release?(frame.pointee.release_context)
        }
        guard let made = buffer.take() else {
            throw .allocationFailed(.init("frame", actual: "out of memory (\(pool.info.size) bytes)"))
        }
        made.access.durationNanoseconds = durationNanoseconds
        if frame.pointee.rotation != 0 { Rotation.meta.set(frame.pointee.rotation, on: made.access) }
        let flip = marks.flip.load(ordering: .relaxed)
        if flip != 0 { Flip.meta.set(flip, on: made.access) }
        made.access.setCaptureTime(unixNanoseconds: wallClockNanoseconds())
        return QueuedFrame(made, self)
    }

    convenience init(_ frame: MGOutgoingFrame, _ declared: [VideoCapability]) throws(MediaGraphError) {
        try self.init(frame, declared: declared)
    }

    /// Throws an error that says what was expected if a frame can't have this format. `hasData` is false for a frame
    /// whose buffer comes from `acquire` and isn't filled yet.
    init(_ frame: MGOutgoingFrame, declared: [VideoCapability], hasData: Bool = true) throws(MediaGraphError) {
        guard frame.width > 0, frame.height > 0, frame.width <= 16384, frame.height <= 16384 else {
            throw .invalidParameter(
                .init("frame size", expected: "1×1 to 16384×16384", actual: "\(frame.width)×\(frame.height)"))
        }
        guard let format = FrameFormat(frame) else {
            throw .invalidParameter(
                .init(
                    "frame format", expected: "one of \(FrameCaps.formatNames)",
                    actual: "GstVideoFormat \(frame.format.rawValue)"))
        }
        guard Rotation(rawValue: frame.rotation) != nil else {
            throw .invalidParameter(.init("rotation", expected: "0, 90, 180 or 270", actual: "\(frame.rotation)"))
        }
        let (width, height) = (Int(frame.width), Int(frame.height))
        let length = format.pixelFormat.packedLength(width: width, height: height)
        guard !hasData || frame.buffer != nil || frame.length == Int64(length) && frame.data != nil else {
            throw .invalidParameter(
                .init(
                    "dataLength",
                    expected: "\(length) bytes for \(width)×\(height) \(format.pixelFormat.gstreamerName)",
                    actual: frame.data == nil ? "no data" : "\(frame.length)"))
        }
        guard frame.rate_numerator >= 0, frame.rate_denominator > 0, frame.aspect_numerator > 0,
            frame.aspect_denominator > 0
        else {
            throw .invalidParameter(
                .init(
                    "rate and pixel aspect ratio", expected: "a rate of at least 0 and a positive aspect ratio",
                    actual: "\(frame.rate_numerator)/\(frame.rate_denominator) and "
                        + "\(frame.aspect_numerator)/\(frame.aspect_denominator)"))
        }
        let fitting = declared.filter { ($0.width, $0.height) == (width, height) }
        guard declared.isEmpty || !fitting.isEmpty else {
            var sizes: [String] = []
            for size in declared.map({ "\($0.width)×\($0.height)" }) where !sizes.contains(size) { sizes.append(size) }
            throw .invalidParameter(
                .init(
                    "frame size", expected: "one of the declared sizes \(sizes.joined(separator: ", "))",
                    actual: "\(width)×\(height)"))
        }
        rate = Fraction(frame.rate_numerator, frame.rate_denominator)
        aspect = Fraction(frame.aspect_numerator, frame.aspect_denominator)
        (self.width, self.height, self.format, range) = (frame.width, frame.height, frame.format, frame.range)
        let rates = Set(fitting.map(\.framesPerSecond).filter { $0.value > 0 })
        // A frame without a rate gets the rate that the source declared for its size, also in its caps.
        let stated = rate.numerator == 0 && rates.count == 1 ? rates.first! : rate
        guard var info = VideoInfo(format.pixelFormat, width: width, height: height, framesPerSecond: stated) else {
            throw .invalidParameter(
                .init("frame size", expected: "a size that GStreamer supports", actual: "\(width)×\(height)"))
        }
        info.pixelAspectRatio = aspect
        info.colorimetry.range = format.range
        guard let pool = VideoBufferPool(info) else {
            throw .allocationFailed(.init("buffer pool", actual: "out of memory (\(info.size) bytes for each frame)"))
        }
        self.pool = pool
        isPackedByDefault = pool.isPackedByDefault
        durationNanoseconds = rate.numerator > 0 ? ClockTime.frame(1, at: rate).nanoseconds : nil
        maximumRate = rates.max { $0.value < $1.value }
        let nominal = stated.numerator > 0 ? stated : nil
        // A rate below one frame an hour is too slow for a grid, and its timestamps could overflow.
        nominalRate = nominal.flatMap { Duration.frames(1, at: $0) <= .seconds(3600) ? $0 : nil }
        packedLength = Int64(length)
        caps = info.caps
    }
}
