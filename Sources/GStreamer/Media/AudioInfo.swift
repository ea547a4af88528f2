import CGStreamer

/// The format of raw audio, as fixed caps describe it (`GstAudioInfo`).
///
/// `@unchecked Sendable`: a value; its only pointer points to GStreamer's constant table of formats.
public struct AudioInfo: @unchecked Sendable, Equatable {
    @usableFromInline package var raw: GstAudioInfo

    package init(_ raw: GstAudioInfo) { self.raw = raw }

    /// Creates the format that fixed `audio/x-raw` caps describe; `nil` for any other caps.
    public init?(_ caps: Caps) {
        var info = GstAudioInfo()
        guard gst_audio_info_from_caps(&info, caps.raw) != 0 else { return nil }
        raw = info
    }

    /// Creates a format of interleaved samples. More than two channels get no positions. Returns `nil` if the rate
    /// isn't positive or doesn't fit in 32 bits, or if there aren't 1 to 64 channels, GStreamer's limit.
    public init?(_ format: AudioFormat, rate: Int, channels: Int) {
        guard (1...Int(Int32.max)).contains(rate), (1...64).contains(channels) else { return nil }
        var info = GstAudioInfo()
        gst_audio_info_set_format(&info, format.raw, gint(rate), gint(channels), nil)
        raw = info
    }

    /// The samples per second of each channel.
    @inlinable public var rate: Int { Int(raw.rate) }
    /// The number of channels.
    @inlinable public var channels: Int { Int(raw.channels) }
    /// The bytes of one sample of every channel.
    @inlinable public var bytesPerFrame: Int { Int(raw.bpf) }
    /// The sample format; `nil` if the nodes don't support it. `formatName` has its name even then.
    public var format: AudioFormat? { AudioFormat(raw.finfo.pointee.format) }
    /// GStreamer's name of the sample format, such as "S16LE".
    public var formatName: String { String(cString: raw.finfo.pointee.name) }
    /// Whether the samples of all channels alternate in one plane. Otherwise each channel has its own plane.
    public var isInterleaved: Bool { raw.layout == GST_AUDIO_LAYOUT_INTERLEAVED }

    /// Returns a buffer with `count` samples of silence per channel; `nil` if there is no memory.
    public func silence(frames count: Int) -> Buffer? {
        guard let buffer = Buffer(size: count * bytesPerFrame) else { return nil }
        var map = GstMapInfo()
        guard gst_buffer_map(buffer.raw, &map, GST_MAP_WRITE) != 0 else { return nil }
        gst_audio_format_info_fill_silence(raw.finfo, map.data, map.size)
        gst_buffer_unmap(buffer.raw, &map)
        return buffer
    }

    /// Returns the duration of `count` samples per channel, rounded to the nearest nanosecond.
    public func duration(ofFrames count: Int) -> Duration { .nanoseconds(durationNanoseconds(ofFrames: count)) }

    /// Returns the number of samples per channel whose duration is nearest to `duration`; 0 if `duration` is negative.
    public func frames(in duration: Duration) -> Int { frames(inNanoseconds: duration.nanoseconds) }

    /// Returns the duration of `count` samples per channel, rounded to the nearest nanosecond.
    package func durationNanoseconds(ofFrames count: Int) -> UInt64 {
        UInt64(gst_util_uint64_scale_round(guint64(count), 1_000_000_000, guint64(max(rate, 1))))
    }

    /// Returns the number of samples per channel whose duration is nearest to `nanoseconds`.
    package func frames(inNanoseconds nanoseconds: UInt64) -> Int {
        Int(gst_util_uint64_scale_round(guint64(nanoseconds), guint64(rate), 1_000_000_000))
    }

    /// The caps that describe this format.
    public var caps: Caps {
        var info = raw
        return Caps(taking: gst_audio_info_to_caps(&info))
    }

    /// Whether all fields of two formats are equal (`gst_audio_info_is_equal`).
    public static func == (a: AudioInfo, b: AudioInfo) -> Bool {
        var (x, y) = (a.raw, b.raw)
        return gst_audio_info_is_equal(&x, &y) != 0
    }
}

extension Caps {
    /// The number of channels of fixed raw audio caps with more than two channels and no positions; `nil` for all other
    /// caps. GStreamer can't mix such channels down to one or two, and its converter complains in GLib's log.
    public var unpositionedChannels: Int? {
        guard gst_caps_is_fixed(raw) != 0, let structure = gst_caps_get_structure(raw, 0),
            gst_structure_has_name(structure, "audio/x-raw") != 0
        else { return nil }
        var channels: gint = 0
        guard gst_structure_get_int(structure, "channels", &channels) != 0, channels > 2 else { return nil }
        let mask = gst_structure_get_value(structure, "channel-mask").map { gst_value_get_bitmask($0) } ?? 0
        return mask == 0 ? Int(channels) : nil
    }
}

/// The format of one audio sample, in the machine's byte order.
public enum AudioFormat: Sendable, CaseIterable, Hashable {
    /// 16-bit integers.
    case s16
    /// 32-bit floating point, ±1 at full scale.
    case f32

    init?(_ raw: GstAudioFormat) {
        guard let format = Self.allCases.first(where: { $0.raw == raw }) else { return nil }
        self = format
    }

    var raw: GstAudioFormat {
        // C's names without a byte order are macros, which Swift doesn't import.
        switch self {
        #if _endian(little)
            case .s16: GST_AUDIO_FORMAT_S16LE
            case .f32: GST_AUDIO_FORMAT_F32LE
        #else
            case .s16: GST_AUDIO_FORMAT_S16BE
            case .f32: GST_AUDIO_FORMAT_F32BE
        #endif
        }
    }

    /// The format's name in caps, such as "S16LE".
    public var gstreamerName: String { String(cString: gst_audio_format_to_string(raw)) }
}
