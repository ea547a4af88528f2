import GStreamer

/// Formats that a camera gives together, as its caps list them: one coding at some sizes and rates.
struct CameraMode: Sendable {
    /// Such as "video/x-raw" or "image/jpeg".
    var mediaType: String
    /// What raw pixels are called; `nil` of anything else.
    var pixels: String?
    var width: ClosedRange<Int>
    var height: ClosedRange<Int>
    var frameRate: (least: Fraction, greatest: Fraction)

    /// All that `caps` list of a camera; empty for what says no sizes.
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

/// What is wanted of a camera: a size and a rate, and what can be handed on as it comes.
struct CameraWish: Sendable {
    var width = 1280
    var height = 720
    var frameRate = Fraction(30, 1)
    /// Raw pixels that need no conversion, the best first: those that downstream takes, or where any will do, that the nodes
    /// carry.
    var pixels = VideoFormat.allCases.map(\.gstreamerName)
    /// What else it takes as it comes: "image/jpeg".
    var codings: Set<String> = []
    /// Raw pictures are no use to it.
    var refusesRaw = false

    init() {}

    /// By what downstream takes: the first of its alternatives. What that leaves open is 1280×720 at 30 frames a second, or as
    /// near to that as it allows.
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
        // Of a list of values the one that comes nearest to what nobody would have to ask for.
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

/// The mode of a camera that was picked: one size and one rate.
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
}

extension PickedMode: CustomStringConvertible {
    /// `YUY2 640×480@30`, as `mediagraph devices` writes it.
    var description: String {
        let coding = pixels ?? (mediaType == "image/jpeg" ? "MJPEG" : mediaType)
        let rate = frameRate.value == frameRate.value.rounded() ? "\(Int(frameRate.value))" : "\(frameRate)"
        return "\(coding) \(width)×\(height)@\(rate)"
    }
}

extension CameraWish {
    /// The mode that gives what is wanted at least cost; `nil` where none is of use.
    ///
    /// What is missing counts first: frames per second and pixels, each as the part of what is wanted that isn't there, so that a
    /// great size at two frames a second is never taken for the wanted one. Then what is too much: no larger than necessary.
    /// Then work: as it comes, raw to be converted, JPEG to be decoded. Then the list's own order.
    func pick(from modes: [CameraMode]) -> PickedMode? {
        let costs = modes.enumerated().compactMap { index, mode in
            cost(mode).map { (cost: $0 + [Double(index)], mode: mode) }
        }
        return costs.min { $0.cost.lexicographicallyPrecedes($1.cost) }.map { nearest($0.mode) }
    }

    /// Of one mode, the most important first; `nil` where nothing here can read it.
    private func cost(_ mode: CameraMode) -> [Double]? {
        guard let work = work(mode) else { return nil }
        let picked = nearest(mode)
        let area = Double(width * height)
        // 29.97 is 30 to everybody.
        let speed = picked.frameRate.value / frameRate.value
        let slowness = speed > 0.98 ? 0 : 1 - speed
        // A picture of another shape is scaled until it fits, and gets borders.
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
