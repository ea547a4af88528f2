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
    private let stages: [Stage]
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
        let stages = zip(infos, infos.dropFirst()).compactMap { Stage(from: $0, to: $1, quality: quality) }
        guard stages.count == infos.count - 1 else { return nil }
        self.stages = stages
    }

    /// By how much what comes out lags behind what went in.
    public var delay: ClockTime { input.duration(ofFrames: stages[0].delay) }

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
        // Rounded up: the last frame begins before the end of what came in.
        let missing = (taken * output.rate + input.rate - 1) / input.rate - given
        // More than enough to push the last of it out; what is more is cut off.
        let silence = Buffer(filledWith: 0, count: (2 * stages[0].delay + 16) * input.bytesPerFrame)
        guard taken > 0, missing > 0, let silence, let result = run(silence.access) else { return nil }
        gst_buffer_set_size(result.raw, gssize(min(result.access.size, missing * output.bytesPerFrame)))
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

/// One GstAudioConverter.
private final class Stage {
    private let converter: OpaquePointer
    private let input: AudioInfo
    private let output: AudioInfo

    init?(from input: AudioInfo, to output: AudioInfo, quality: Int) {
        var (source, target) = (input.raw, output.raw)
        let options = gst_structure_new_empty("options")
        if input.rate != output.rate {
            var method = GValue()
            g_value_init(&method, gst_audio_resampler_method_get_type())
            g_value_set_enum(&method, gint(GST_AUDIO_RESAMPLER_METHOD_KAISER.rawValue))
            gst_structure_set_value(options, "GstAudioConverter.resampler-method", &method)
            gst_audio_resampler_options_set_quality(
                GST_AUDIO_RESAMPLER_METHOD_KAISER, guint(max(0, min(quality, 10))), gint(input.rate),
                gint(output.rate), options)
        }
        guard let converter = gst_audio_converter_new(GST_AUDIO_CONVERTER_FLAG_NONE, &source, &target, options) else {
            return nil
        }
        self.converter = converter
        self.input = input
        self.output = output
    }

    deinit { gst_audio_converter_free(converter) }

    /// Frames that it holds back.
    var delay: Int { Int(gst_audio_converter_get_max_latency(converter)) }

    func reset() { gst_audio_converter_reset(converter) }

    func convert(_ buffer: BufferAccess) -> Buffer? {
        let frames = gsize(buffer.size / input.bytesPerFrame)
        let count = gst_audio_converter_get_out_frames(converter, frames)
        guard let result = Buffer(size: Int(count) * output.bytesPerFrame) else { return nil }
        var (source, target) = (GstMapInfo(), GstMapInfo())
        guard gst_buffer_map(buffer.raw, &source, GST_MAP_READ) != 0 else { return nil }
        defer { gst_buffer_unmap(buffer.raw, &source) }
        guard gst_buffer_map(result.raw, &target, GST_MAP_WRITE) != 0 else { return nil }
        // With no room for a result it still takes the samples into its memory.
        var planes: (gpointer?, gpointer?) = (gpointer(source.data), gpointer(target.data))
        gst_audio_converter_samples(converter, GST_AUDIO_CONVERTER_FLAG_NONE, &planes.0, frames, &planes.1, count)
        gst_buffer_unmap(result.raw, &target)
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
