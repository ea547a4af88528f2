import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// What sent frames are, as long as it stays the same: caps and buffers are made only when it changes.
final class SentFormat: SentFormatDescription {
    typealias Payload = QueuedFrame

    private let width, height: Int32
    private let format: GstVideoFormat
    private let range: GstVideoColorRange
    private let rate, aspect: Fraction
    private let packedLength: Int64
    private let duration: ClockTime?
    let isPackedByDefault: Bool
    /// The highest rate that the source has declared for this size; `nil` where it has declared nothing.
    let maximumRate: Fraction?
    /// The rate at which frames should come: their own, or the only one that was declared for their size.
    let nominalRate: Fraction?
    let pool: VideoBufferPool
    let caps: Caps

    var framesPerSecond: Fraction { rate }
    var byteCount: Int { Int(packedLength) }

    /// Whether the frame has this format and all that goes with it.
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

    var pace: String { "at most \(maximumRate ?? Fraction(0, 1)) frames/s, as declared" }

    /// Around the buffer that was handed over; or one around memory that was, where GStreamer's layout allows it; else a copy.
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
            throw .allocationFailed(.init("a frame", expected: "\(pool.info.size) bytes"))
        }
        made.access.duration = duration
        if frame.pointee.rotation != 0 { Rotation.meta.set(frame.pointee.rotation, on: made.access) }
        let flip = marks.flip.load(ordering: .relaxed)
        if flip != 0 { Flip.meta.set(flip, on: made.access) }
        made.access.setCaptureTime(wallClockNanoseconds())
        return QueuedFrame(made, self)
    }

    convenience init(_ frame: MGOutgoingFrame, _ declared: [VideoCapability]) throws(MediaGraphError) {
        try self.init(frame, declared: declared)
    }

    /// Refuses what a frame can't be, with what was expected.
    /// `hasData` is false for a frame whose bytes will be made here.
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
                    "rate or pixel aspect", expected: "positive ratios",
                    actual: "\(frame.rate_numerator)/\(frame.rate_denominator)"))
        }
        let fitting = declared.filter { ($0.width, $0.height) == (width, height) }
        guard declared.isEmpty || !fitting.isEmpty else {
            var sizes: [String] = []
            for size in declared.map({ "\($0.width)×\($0.height)" }) where !sizes.contains(size) { sizes.append(size) }
            throw .invalidParameter(
                .init(
                    "frame size", expected: "one that the source declared: \(sizes.joined(separator: ", "))",
                    actual: "\(width)×\(height)"))
        }
        rate = Fraction(frame.rate_numerator, frame.rate_denominator)
        aspect = Fraction(frame.aspect_numerator, frame.aspect_denominator)
        (self.width, self.height, self.format, range) = (frame.width, frame.height, frame.format, frame.range)
        let rates = Set(fitting.map(\.framesPerSecond).filter { $0.value > 0 })
        // A frame that names no rate has the one that was declared for its size, in its caps too.
        let stated = rate.numerator == 0 && rates.count == 1 ? rates.first! : rate
        guard var info = VideoInfo(format.pixelFormat, width: width, height: height, framesPerSecond: stated) else {
            throw .invalidParameter(
                .init("frame size", expected: "one that GStreamer takes", actual: "\(width)×\(height)"))
        }
        info.pixelAspectRatio = aspect
        info.colorimetry.range = format.range
        guard let pool = VideoBufferPool(info) else {
            throw .allocationFailed(.init("a buffer pool", expected: "\(info.size) bytes a frame"))
        }
        self.pool = pool
        isPackedByDefault = pool.isPackedByDefault
        duration = rate.numerator > 0 ? .frame(1, at: rate) : nil
        maximumRate = rates.max { $0.value < $1.value }
        let nominal = stated.numerator > 0 ? stated : nil
        // Slower than a frame an hour is no grid, and some hundred years are no timestamp.
        nominalRate = nominal.flatMap { ClockTime.frame(1, at: $0) <= .seconds(3600) ? $0 : nil }
        packedLength = Int64(length)
        caps = info.caps
    }
}
