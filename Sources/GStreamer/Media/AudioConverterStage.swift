import CGStreamer

/// A `GstAudioConverter` with its input and output formats. Use it on one thread.
final class AudioConverterStage {
    private let converter: OpaquePointer
    private let input: AudioInfo
    let output: AudioInfo

    /// Creates a converter. If `isVariable`, `setRates` may change the rates of the stream. Returns `nil` if GStreamer
    /// can't convert between the two formats.
    init?(from input: AudioInfo, to output: AudioInfo, quality: Int, isVariable: Bool = false) {
        var (source, target) = (input.raw, output.raw)
        let options = gst_structure_new_empty("options")
        if input.rate != output.rate || isVariable {
            Self.set(
                "GstAudioConverter.resampler-method", of: options, gst_audio_resampler_method_get_type(),
                gint(GST_AUDIO_RESAMPLER_METHOD_KAISER.rawValue))
            gst_audio_resampler_options_set_quality(
                GST_AUDIO_RESAMPLER_METHOD_KAISER, guint(max(0, min(quality, 10))), gint(input.rate),
                gint(output.rate), options)
        }
        if isVariable {
            // By default GStreamer makes a table with a filter for each phase, which takes gigabytes for most ratios.
            Self.set(
                "GstAudioResampler.filter-mode", of: options, gst_audio_resampler_filter_mode_get_type(),
                gint(GST_AUDIO_RESAMPLER_FILTER_MODE_INTERPOLATED.rawValue))
            // The default, cubic, is off by half a step of its table: the output would lag an eighth of a sample behind
            // audio that isn't resampled.
            Self.set(
                "GstAudioResampler.filter-interpolation", of: options,
                gst_audio_resampler_filter_interpolation_get_type(),
                gint(GST_AUDIO_RESAMPLER_FILTER_INTERPOLATION_LINEAR.rawValue))
        }
        let flags = isVariable ? GST_AUDIO_CONVERTER_FLAG_VARIABLE_RATE : GST_AUDIO_CONVERTER_FLAG_NONE
        guard let converter = gst_audio_converter_new(flags, &source, &target, options) else { return nil }
        self.converter = converter
        self.input = input
        self.output = output
    }

    private static func set(
        _ field: String, of options: UnsafeMutablePointer<GstStructure>?, _ type: GType, _ value: gint
    ) {
        var enumeration = GValue()
        g_value_init(&enumeration, type)
        g_value_set_enum(&enumeration, value)
        gst_structure_set_value(options, field, &enumeration)
    }

    deinit { gst_audio_converter_free(converter) }

    /// The number of frames that the filter holds back.
    var delay: Int { Int(gst_audio_converter_get_max_latency(converter)) }

    /// Changes the ratio of the rates, from the next input on.
    func setRates(input: Int, output: Int) {
        gst_audio_converter_update_config(converter, gint(input), gint(output), nil)
    }

    func reset() { gst_audio_converter_reset(converter) }

    func convert(_ buffer: BufferAccess) -> Buffer? {
        let frames = gsize(buffer.size / input.bytesPerFrame)
        let count = gst_audio_converter_get_out_frames(converter, frames)
        guard let result = Buffer(size: Int(count) * output.bytesPerFrame) else { return nil }
        var (source, target) = (GstMapInfo(), GstMapInfo())
        guard gst_buffer_map(buffer.raw, &source, GST_MAP_READ) != 0 else { return nil }
        defer { gst_buffer_unmap(buffer.raw, &source) }
        guard gst_buffer_map(result.raw, &target, GST_MAP_WRITE) != 0 else { return nil }
        // Even with no room for output, the converter adds the samples to its history.
        var planes: (gpointer?, gpointer?) = (gpointer(source.data), gpointer(target.data))
        gst_audio_converter_samples(converter, GST_AUDIO_CONVERTER_FLAG_NONE, &planes.0, frames, &planes.1, count)
        gst_buffer_unmap(result.raw, &target)
        return result
    }
}
