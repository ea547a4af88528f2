import GStreamer
import MediaGraphCore
import Synchronization

/// Sends a moving pattern with the frame's number burnt in: `videosource handler=counter`. ``FrameNumber`` reads the
/// number back.
final class Counter: VideoSource, NamedHandler {
    static let name = "counter"
    static let summary = "A moving pattern with the frame's number burnt in"
    static let options = [
        HandlerOption("width", default: "suggested", "pixels in a row"),
        HandlerOption("height", default: "suggested", "rows"),
        HandlerOption("fps", default: "30", "frames per second, such as 30 or 30000/1001"),
        HandlerOption("frames", default: "0", "number of frames, after which the stream ends; 0 for an endless stream"),
    ]

    private let width: Int?
    private let height: Int?
    private let rate: Fraction
    private let frames: Int
    private let pump = FramePump(name: "mg-counter")
    private let link = Mutex<(sender: VideoSender, size: (width: Int, height: Int))?>(nil)
    private let sent = Atomic<Int>(0)

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        let width = try options.int("width", in: 0...16384, default: 0)
        let height = try options.int("height", in: 0...16384, default: 0)
        guard (width == 0) == (height == 0) else {
            throw MediaGraphError.invalidParameter(
                .init("options of counter", actual: "only one of width and height is set; set both, or neither"))
        }
        self.width = width == 0 ? nil : width
        self.height = height == 0 ? nil : height
        rate = try options.fraction("fps", default: Fraction(30, 1))
        frames = try options.int("frames", in: 0...Int(Int32.max), default: 0)
    }

    var capabilities: [VideoCapability] {
        guard let width, let height else { return [] }
        return [VideoCapability(width: width, height: height, framesPerSecond: rate)]
    }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {
        if let own = capabilities.first, supported.isEmpty { throw MediaGraphError.notAccepted(own, by: Self.name) }
        // If downstream accepts any size, the suggestion is 2160p, which is too large for a test pattern.
        let fitting = supported.filter { $0.height <= 720 }
        let best = fitting.max { ($0.width * $0.height) < ($1.width * $1.height) } ?? suggested
        let size = (width ?? best?.width ?? 1280, height ?? best?.height ?? 720)
        link.withLock { $0 = (sender, size) }
    }

    func startSend() throws {
        guard let (sender, size) = link.withLock({ $0 }) else { return }
        let canvas = Mutex(CounterCanvas(width: size.width, height: size.height))
        let rate = rate
        pump.start(sender, rate: { rate }) { [self] (_, timestamp) throws(MediaGraphError) in
            let number = sent.load(ordering: .relaxed)
            guard frames == 0 || number < frames else { return .end }
            let frame = FrameDescription(
                width: size.width, height: size.height, format: .i420Limited, framesPerSecond: rate,
                timestamp: timestamp)
            try canvas.withLock { (canvas) throws(MediaGraphError) in
                canvas.draw(UInt32(truncatingIfNeeded: number))
                try sender.send(canvas.bytes, frame)
            }
            sent.add(1, ordering: .relaxed)
            return .sent
        }
    }

    func stopSend() { pump.stop() }
    func uninitialize() {
        link.withLock { $0 = nil }
        sent.store(0, ordering: .relaxed)
    }
}

/// Draws the pattern: a luma ramp that moves by two columns per frame, and slowly changing chroma.
package struct CounterCanvas {
    let width: Int
    let height: Int
    package private(set) var bytes: [UInt8]

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
        bytes = [UInt8](repeating: 128, count: VideoFormat.i420.packedLength(width: width, height: height))
    }

    /// Draws frame `number` into `bytes`. The bytes depend only on the number and the size.
    package mutating func draw(_ number: UInt32) {
        let shift = Int(number &* 2 & 0xFF)
        var firstRow = [UInt8](repeating: 0, count: width)
        for x in 0..<width { firstRow[x] = UInt8(16 + ((x + shift) & 0xFF) * 219 / 255) }
        for y in 0..<height { bytes.copy(firstRow, to: y * width) }
        let chroma = VideoFormat.i420.size(of: .u, width: width, height: height)
        let count = chroma.width * chroma.height
        let hue = UInt8(truncatingIfNeeded: 64 + Int(number & 0x7F))
        let chromaStart = width * height
        bytes.fill(chromaStart..<chromaStart + count, with: hue)
        bytes.fill(chromaStart + count..<chromaStart + 2 * count, with: 255 - hue)
        FrameNumber.draw(number, width: width, height: height) { x, y, value in bytes[y * width + x] = value }
    }
}

/// Writes and reads the number that `videosource handler=counter` burns into the luma plane.
///
/// The luma plane contains 32 bits, most significant first, in a row of 32 square cells from the top left corner. A
/// cell is `max(1, min(width / 32, 16))` pixels wide and high. All its pixels are 235 for a one and 16 for a zero. To
/// read a bit, compare the cell's middle pixel with 128; this works even after lossy encoding or scaling to half the
/// size. The number counts sent frames from 0 and wraps at 2³². Frames narrower than 32 pixels contain only the low
/// `width` bits.
public enum FrameNumber {
    private static func cell(width: Int) -> Int { max(1, min(width / 32, 16)) }

    static func draw(_ number: UInt32, width: Int, height: Int, _ set: (_ x: Int, _ y: Int, UInt8) -> Void) {
        let cell = cell(width: width)
        let bits = min(32, width)
        for bit in 0..<bits {
            let value: UInt8 = number >> UInt32(bits - 1 - bit) & 1 == 1 ? 235 : 16
            for y in 0..<min(cell, height) { for x in bit * cell..<(bit + 1) * cell { set(x, y, value) } }
        }
    }

    /// Returns the number in a frame that still has the size at which the number was drawn. Reads luma, or in RGB
    /// frames green, which contributes most to luma.
    public static func read(_ frame: borrowing VideoFrame) throws(MediaGraphError) -> UInt32 {
        let plane = try frame.plane(frame.format.isYUV ? .y : .packed)
        let offset = frame.format.colorOffsets?.green ?? 0
        let cell = cell(width: frame.width)
        let row = plane.row(min(cell, frame.height) / 2)
        var number: UInt32 = 0
        for bit in 0..<min(32, frame.width) {
            number = number << 1 | (row[(bit * cell + cell / 2) * plane.pixelStride + offset] >= 128 ? 1 : 0)
        }
        return number
    }
}
