import CGStreamer

/// Resamples 16-bit sound by a ratio near one that may change all the time: GStreamer's own converter at a variable rate.
///
/// Its filter's memory lasts from one call to the next, and a change of the ratio keeps its phase: no click. It can take over
/// from sound that went by untouched, `prime`d by the last of it. Belongs to one thread.
///
/// In floating point, for the same reason as `AudioConverter`: a sine of 997 Hz at 48 kHz came out with −78 dB of distortion and
/// noise at +200 ppm in 16 bits, with −89 dB with floating point between.
public final class AdaptiveResampler {
    private let resampling: AudioConverterStage
    private let rounding: AudioConverterStage
    private let info: AudioInfo
    /// Frames that what came in comes to, and frames that went out.
    private var (owed, given) = (0.0, 0)
    /// Frames that the filter has seen only to know what was before; what it makes of them isn't wanted.
    private var (primed, surplus) = (0, 0)
    private var current = 1.0

    /// `info` says what comes in and what goes out. `quality` is audioresample's: 0 (fast) to 10 (best).
    public init?(_ info: AudioInfo, quality: Int) {
        guard let between = AudioInfo(.f32, rate: info.rate, channels: info.channels),
            let resampling = AudioConverterStage(from: info, to: between, quality: quality, isVariable: true),
            let rounding = AudioConverterStage(from: between, to: info, quality: quality)
        else { return nil }
        self.info = info
        self.resampling = resampling
        self.rounding = rounding
        set(1)
    }

    /// By how much what comes out lags behind what went in.
    public var delay: ClockTime { info.duration(ofFrames: resampling.delay) }

    /// Frames that are held back.
    public var held: Int { max(0, Int(owed.rounded()) - given) }

    /// The filter knows enough of what was before to go on from there.
    public var isPrimed: Bool { primed >= 2 * resampling.delay }

    /// Sound that goes out untouched, after which `convert` may go on. False when it can't be mapped or there is no memory.
    public func prime(_ buffer: BufferAccess) -> Bool {
        let frames = buffer.size / info.bytesPerFrame
        guard let made = resampling.convert(buffer) else { return false }
        primed += frames
        surplus += frames - made.access.size / resampling.output.bytesPerFrame
        return true
    }

    /// As much as can be said by now, without timestamps; about `ratio` frames for each that comes in. `nil` when the buffer can't
    /// be mapped or there is no memory.
    public func convert(_ buffer: BufferAccess, ratio: Double) -> Buffer? {
        let frames = buffer.size / info.bytesPerFrame
        set(ratio)
        owed += Double(frames) * current
        return run(buffer)
    }

    /// What is held back, to the last frame; what follows begins anew, behind silence. `nil` when there is none.
    public func drain() -> Buffer? {
        defer {
            resampling.reset()
            (owed, given, surplus) = (0, 0, 0)
            if !isPrimed { primed = 0 }
        }
        let missing = held
        guard missing > 0,
            let silence = Buffer(filledWith: 0, count: (2 * resampling.delay + 16) * info.bytesPerFrame),
            let rest = run(silence.access)
        else { return nil }
        rest.access.trim(to: min(rest.access.size, missing * info.bytesPerFrame))
        return rest
    }

    private func set(_ ratio: Double) {
        // Rates in units finer than hertz, 0.2 ppm; finer ones the filters' interpolation, in 32 bits, would be wrong for.
        let output = info.rate * (4_800_000 / info.rate)
        var input = Int((Double(output) / ratio).rounded())
        // As it is where both are the same: 1.22 makes noise of it.
        if input == output { input += 1 }
        let exact = Double(output) / Double(input)
        guard exact != current else { return }
        current = exact
        resampling.setRates(input: input, output: output)
    }

    private func run(_ buffer: BufferAccess) -> Buffer? {
        guard let resampled = resampling.convert(buffer), let made = rounding.convert(resampled.access) else {
            return nil
        }
        let count = made.access.size / info.bytesPerFrame
        let unwanted = min(surplus, count)
        surplus -= unwanted
        given += count - unwanted
        made.access.trim(from: unwanted * info.bytesPerFrame)
        return made
    }
}
