import GStreamer

/// One structure of a camera's caps: a media type and pixel format, with ranges of sizes and frame rates.
struct CameraMode: Sendable {
    /// The media type, such as "video/x-raw" or "image/jpeg".
    var mediaType: String
    /// The name of the raw pixel format; `nil` if the media type isn't raw video.
    var pixels: String?
    var width: ClosedRange<Int>
    var height: ClosedRange<Int>
    var frameRate: (least: Fraction, greatest: Fraction)

    /// Returns the modes that a camera's caps list; empty if the caps contain no sizes.
    static func all(in caps: Caps) -> [CameraMode] {
        guard !caps.isAny else { return [] }
        return (0..<caps.count).filter(caps.isInSystemMemory).flatMap { all(in: caps[$0]) }
    }

    private static func all(in structure: Structure) -> [CameraMode] {
        let isRaw = structure.name == "video/x-raw"
        let pixels = isRaw ? structure.names("format").map(Optional.some) : [nil]
        let rates = structure.exactFractions("framerate")
        let anyRate = (least: Fraction(1, 1), greatest: Fraction(1000, 1))
        return pixels.flatMap { pixels in
            structure.integers("width").flatMap { width in
                structure.integers("height").flatMap { height in
                    (rates.isEmpty ? [anyRate] : rates).map {
                        CameraMode(
                            mediaType: structure.name, pixels: pixels, width: width, height: height, frameRate: $0)
                    }
                }
            }
        }
    }
}

/// What is wanted from a camera: a size, a frame rate, and the formats that need no conversion.
struct CameraWish: Sendable {
    var width = 1280
    var height = 720
    var frameRate = Fraction(30, 1)
    /// The raw pixel formats that need no conversion, best first: those that downstream accepts, or if downstream
    /// accepts any, those that the nodes carry.
    var pixels = VideoFormat.allCases.map(\.gstreamerName)
    /// The other media types that downstream accepts, such as "image/jpeg".
    var codings: Set<String> = []
    /// Whether downstream accepts no raw video.
    var refusesRaw = false

    init() {}

    /// Creates a wish from the caps that downstream accepts, of which the first structure counts. Values that it leaves
    /// open are 1280×720 at 30 frames per second, or as near to that as the structure allows.
    init(_ downstream: Caps?) {
        guard let downstream, !downstream.isAny, !downstream.isEmpty else { return }
        let structures = (0..<downstream.count).map {
            (structure: downstream[$0], isPlain: downstream.isInSystemMemory($0))
        }
        let raw = structures.filter { $0.structure.name == "video/x-raw" && $0.isPlain }.map(\.structure)
        codings = Set(structures.map(\.structure.name)).subtracting(["video/x-raw"])
        refusesRaw = raw.isEmpty
        let names = raw.map { $0.names("format") }
        if !names.isEmpty, names.allSatisfy({ !$0.isEmpty }) { pixels = names.flatMap(\.self) }
        guard let first = raw.first ?? structures.first?.structure else { return }
        // Of a list of values, choose the one nearest to the default.
        func nearest(_ ranges: [ClosedRange<Int>], to value: Int) -> ClosedRange<Int>? {
            ranges.min { abs(value.clamped(to: $0) - value) < abs(value.clamped(to: $1) - value) }
        }
        choose(
            width: nearest(first.integers("width"), to: width), height: nearest(first.integers("height"), to: height))
        let rates = first.exactFractions("framerate")
        func distance(_ rate: (least: Fraction, greatest: Fraction)) -> Double {
            max(rate.least.value - frameRate.value, frameRate.value - rate.greatest.value, 0)
        }
        if let rate = rates.min(by: { distance($0) < distance($1) }) {
            if rate.greatest.value < frameRate.value, rate.greatest.value > 0 { frameRate = rate.greatest }
            if rate.least.value > frameRate.value { frameRate = rate.least }
        }
    }

    private mutating func choose(width: ClosedRange<Int>?, height: ClosedRange<Int>?) {
        func isGiven(_ range: ClosedRange<Int>?) -> Int? { range.flatMap { $0.count == 1 ? $0.lowerBound : nil } }
        switch (isGiven(width), isGiven(height)) {
        case (let width?, let height?): (self.width, self.height) = (width, height)
        case (let width?, nil): (self.width, self.height) = (width, (width * 9 / 16).clamped(to: height))
        case (nil, let height?): (self.width, self.height) = ((height * 16 / 9).clamped(to: width), height)
        case (nil, nil):
            (self.width, self.height) = (self.width.clamped(to: width), self.height.clamped(to: height))
        }
    }
}

/// The camera mode that was chosen: one size and one frame rate.
struct PickedMode: Sendable, Equatable {
    var mediaType: String
    var pixels: String?
    var width: Int
    var height: Int
    var frameRate: Fraction

    var caps: Caps {
        let pixels = pixels.map { ", format=\($0)" } ?? ""
        return Caps("\(mediaType)\(pixels), width=\(width), height=\(height), framerate=\(frameRate)")!
    }

    /// The formats that jpegdec outputs for this mode: I420, and GRAY8 for gray pictures, in JPEG's full range.
    var decodedJPEG: [Caps] {
        ["I420", "GRAY8"].map { pixels in
            var raw = self
            (raw.mediaType, raw.pixels) = ("video/x-raw", pixels)
            return raw.caps.intersection(Caps("video/x-raw, colorimetry=1:4:0:0")!)
        }
    }
}

extension PickedMode: CustomStringConvertible {
    /// The mode in the notation of `mediagraph devices`, such as `YUY2 640×480@30`.
    var description: String {
        let coding = pixels ?? (mediaType == "image/jpeg" ? "MJPEG" : mediaType)
        let rate = frameRate.value == frameRate.value.rounded() ? "\(Int(frameRate.value))" : "\(frameRate)"
        return "\(coding) \(width)×\(height)@\(rate)"
    }
}

extension CameraWish {
    /// Returns the mode that satisfies the wish at the lowest cost; `nil` if no mode can be used.
    ///
    /// The criteria are, in this order:
    /// - the missing parts of the frame rate and of the pixel count, so that a large size at two frames per second is
    ///   never preferred to the wanted rate
    /// - the size, which should be no larger than necessary
    /// - the work: no conversion is best, then conversion of raw pixels, then JPEG decoding
    /// - the order of the camera's list
    func pick(from modes: [CameraMode]) -> PickedMode? {
        let costs = modes.enumerated().compactMap { index, mode in
            cost(mode).map { (cost: $0 + [Double(index)], mode: mode) }
        }
        return costs.min { $0.cost.lexicographicallyPrecedes($1.cost) }.map { nearest($0.mode) }
    }

    /// Returns the costs of a mode, the most important first; `nil` if the mode can't be used.
    private func cost(_ mode: CameraMode) -> [Double]? {
        guard let work = work(mode) else { return nil }
        let picked = nearest(mode)
        let area = Double(width * height)
        // Treats 29.97 as 30.
        let speed = picked.frameRate.value / frameRate.value
        let slowness = speed > 0.98 ? 0 : 1 - speed
        // A picture with another aspect ratio is scaled to fit, with borders.
        let scale = min(Double(width) / Double(picked.width), Double(height) / Double(picked.height), 1)
        let smallness = 1 - Double(picked.width * picked.height) * scale * scale / area
        return [
            ((slowness + smallness) * 1000).rounded(), (slowness * 1000).rounded(),
            Double(picked.width * picked.height) / area, work, abs(picked.frameRate.value / frameRate.value - 1),
        ]
    }

    private func work(_ mode: CameraMode) -> Double? {
        if let name = mode.pixels, !refusesRaw {
            return pixels.firstIndex(of: name).map { Double($0) / 1000 } ?? 1
        }
        if codings.contains(mode.mediaType) { return 0 }
        return mode.mediaType == "image/jpeg" && !refusesRaw ? 2 : nil
    }

    private func nearest(_ mode: CameraMode) -> PickedMode {
        let rate =
            frameRate.value < mode.frameRate.least.value
            ? mode.frameRate.least
            : frameRate.value > mode.frameRate.greatest.value ? mode.frameRate.greatest : frameRate
        return PickedMode(
            mediaType: mode.mediaType, pixels: mode.pixels, width: width.clamped(to: mode.width),
            height: height.clamped(to: mode.height), frameRate: rate)
    }
}

extension Int {
    fileprivate func clamped(to range: ClosedRange<Int>?) -> Int {
        range.map { Swift.min(Swift.max(self, $0.lowerBound), $0.upperBound) } ?? self
    }
}
