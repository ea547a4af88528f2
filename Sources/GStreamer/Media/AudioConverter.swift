import CGStreamer

/// Converts interleaved audio between rates, channel counts and formats as it streams: GStreamer's own converter, which
/// audioconvert and audioresample are made of.
///
/// Its filter's memory lasts from one call to the next, so that blocks join without a click. What comes out stands for the
/// same time as what went in, the filter's delay taken off: the last of it comes with `drain`. Belongs to one thread.
///
/// From 16 bits to 16 bits at another rate GStreamer would filter in 16 bits: a sine of 44.1 kHz came out at 48 kHz with
/// −77 dB of distortion and noise at any quality, with floating point between with −91 dB, which is what 16 bits hold.
public final class AudioConverter {
    private let stages: [AudioConverterStage]
    public let input: AudioInfo
    public let output: AudioInfo
    /// Frames since the last `drain`.
    private var (taken, given) = (0, 0)

    /// `quality` is audioresample's: 0 (fast) to 10 (best). `nil` where there is no way from one to the other.
    public init?(from input: AudioInfo, to output: AudioInfo, quality: Int) {
        self.input = input
        self.output = output
        var infos = [input, output]
        if input.rate != output.rate, input.format == .s16, output.format == .s16,
            let between = AudioInfo(.f32, rate: output.rate, channels: output.channels)
        {
            infos.insert(between, at: 1)
        }
        let stages = zip(infos, infos.dropFirst()).compactMap {
            AudioConverterStage(from: $0, to: $1, quality: quality)
        }
        guard stages.count == infos.count - 1 else { return nil }
        self.stages = stages
    }

    /// By how much what comes out lags behind what went in.
    public var delay: ClockTime { input.duration(ofFrames: stages[0].delay) }

    /// Frames that are held back. Rounded up: the last begins before the end of what came in.
    public var held: Int { (taken * output.rate + input.rate - 1) / input.rate - given }

    /// As much as can be said by now, without timestamps: a filter holds some back. `nil` when the buffer can't be mapped or
    /// there is no memory.
    public func convert(_ buffer: BufferAccess) -> Buffer? {
        taken += buffer.size / input.bytesPerFrame
        guard let result = run(buffer) else { return nil }
        given += result.access.size / output.bytesPerFrame
        return result
    }

    /// What is held back, to the last frame; what follows begins anew. `nil` when there is none.
    public func drain() -> Buffer? {
        defer {
            for stage in stages { stage.reset() }
            (taken, given) = (0, 0)
        }
        let missing = held
        // More than enough to push the last of it out; what is more is cut off.
        guard taken > 0, missing > 0,
            let silence = Buffer(filledWith: 0, count: (2 * stages[0].delay + 16) * input.bytesPerFrame),
            let result = run(silence.access)
        else { return nil }
        result.access.trim(to: min(result.access.size, missing * output.bytesPerFrame))
        return result
    }

    private func run(_ buffer: BufferAccess) -> Buffer? {
        var result = stages[0].convert(buffer)
        for stage in stages.dropFirst() {
            guard let made = result.take() else { return nil }
            result = stage.convert(made.access)
        }
        return result
    }
}

extension Caps {
    /// One format of these raw audio caps, as near to this rate and channel count as they allow; `nil` for empty ones.
    public func fixed(nearRate rate: Int, channels: Int) -> Caps? {
        guard gst_caps_is_empty(raw) == 0 else { return nil }
        let caps = gst_caps_truncate(gst_caps_copy(raw))!
        let structure = gst_caps_get_structure(caps, 0)
        gst_structure_fixate_field_nearest_int(structure, "rate", gint(rate))
        gst_structure_fixate_field_nearest_int(structure, "channels", gint(channels))
        return Caps(taking: gst_caps_fixate(caps))
    }
}
