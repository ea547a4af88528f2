import CGStreamer

/// Converts a stream of interleaved audio between rates, channel counts and formats, with the converter
/// (`GstAudioConverter`) that audioconvert and audioresample use.
///
/// The filter keeps its history from one call to the next, so that blocks join without a click. The filter's delay is
/// removed: the output begins at the time of the first input, and `drain` returns the rest. Use it on one thread.
///
/// GStreamer would resample 16-bit audio to 16-bit audio with a 16-bit filter. Resampled from 44.1 to 48 kHz, a sine
/// then had −77 dB of distortion and noise at any quality. A filter in floating point gives −91 dB, the limit of 16
/// bits.
package final class AudioConverter {
    private let stages: [AudioConverterStage]
    package let input: AudioInfo
    package let output: AudioInfo
    /// The input frames received and the output frames returned since the last `drain`.
    private var (received, returned) = (0, 0)

    /// Creates a converter. `quality` is that of audioresample: 0 (fast) to 10 (best). Returns `nil` if GStreamer can't
    /// convert between the two formats.
    package init?(from input: AudioInfo, to output: AudioInfo, quality: Int) {
        self.input = input
        self.output = output
        var infos = [input, output]
        if input.rate != output.rate, input.format == .s16, output.format == .s16,
            let intermediate = AudioInfo(.f32, rate: output.rate, channels: output.channels)
        {
            infos.insert(intermediate, at: 1)
        }
        let stages = zip(infos, infos.dropFirst()).compactMap {
            AudioConverterStage(from: $0, to: $1, quality: quality)
        }
        guard stages.count == infos.count - 1 else { return nil }
        self.stages = stages
    }

    /// The delay of the output behind the input.
    package var delay: Duration { input.duration(ofFrames: stages[0].delay) }

    /// The output frames that the filter still holds back. Rounded up: the last frame begins before the end of the
    /// input.
    package var held: Int { (received * output.rate + input.rate - 1) / input.rate - returned }

    /// Converts a buffer. Returns the frames that the filter can compute by now, without timestamps; `nil` if the
    /// buffer can't be mapped or there is no memory.
    package func convert(_ buffer: BufferAccess) -> Buffer? {
        received += buffer.size / input.bytesPerFrame
        guard let result = run(buffer) else { return nil }
        returned += result.access.size / output.bytesPerFrame
        return result
    }

    /// Returns all frames that are held back, and resets the filter. Returns `nil` if no frames are held back, or there
    /// is no memory.
    package func drain() -> Buffer? {
        defer {
            for stage in stages { stage.reset() }
            (received, returned) = (0, 0)
        }
        let missing = held
        // The silence is longer than needed to flush the filter; the surplus is cut off.
        guard received > 0, missing > 0,
            let silence = Buffer(filledWith: 0, count: (2 * stages[0].delay + 16) * input.bytesPerFrame),
            let result = run(silence.access)
        else { return nil }
        result.access.trim(to: min(result.access.size, missing * output.bytesPerFrame))
        return result
    }

    private func run(_ buffer: BufferAccess) -> Buffer? {
        var result = stages[0].convert(buffer)
        for stage in stages.dropFirst() {
            guard let intermediate = result.take() else { return nil }
            result = stage.convert(intermediate.access)
        }
        return result
    }
}

extension Caps {
    /// Returns fixed caps from the first structure of these raw audio caps, with the nearest rate and channel count
    /// that it allows; `nil` if the caps are empty.
    package func fixed(nearRate rate: Int, channels: Int) -> Caps? {
        guard gst_caps_is_empty(raw) == 0 else { return nil }
        let caps = gst_caps_truncate(gst_caps_copy(raw))!
        let structure = gst_caps_get_structure(caps, 0)
        gst_structure_fixate_field_nearest_int(structure, "rate", gint(rate))
        gst_structure_fixate_field_nearest_int(structure, "channels", gint(channels))
        return Caps(taking: gst_caps_fixate(caps))
    }
}
