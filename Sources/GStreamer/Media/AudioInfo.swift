import CGStreamer

/// Everything that caps say about raw audio.
///
/// `@unchecked Sendable`: a value; its one pointer is to GStreamer's constant table of formats.
public struct AudioInfo: @unchecked Sendable, Equatable {
    @usableFromInline package var raw: GstAudioInfo

    package init(_ raw: GstAudioInfo) { self.raw = raw }

    /// From fixed `audio/x-raw` caps; `nil` for anything else.
    public init?(_ caps: Caps) {
        var info = GstAudioInfo()
        guard gst_audio_info_from_caps(&info, caps.raw) != 0 else { return nil }
        raw = info
    }

    /// Interleaved samples; more than two channels have no positions. `nil` for what GStreamer has no room for.
    public init?(_ format: AudioFormat, rate: Int, channels: Int) {
        guard (1...Int(Int32.max)).contains(rate), (1...64).contains(channels) else { return nil }
        var info = GstAudioInfo()
        gst_audio_info_set_format(&info, format.raw, gint(rate), gint(channels), nil)
        raw = info
    }

    /// Samples per second of each channel.
    @inlinable public var rate: Int { Int(raw.rate) }
    @inlinable public var channels: Int { Int(raw.channels) }
    /// Bytes of one sample of every channel.
    @inlinable public var bytesPerFrame: Int { Int(raw.bpf) }
    /// `nil` for a format that the nodes don't carry; `formatName` names it.
    public var format: AudioFormat? { AudioFormat(raw.finfo.pointee.format) }
    public var formatName: String { String(cString: raw.finfo.pointee.name) }
    /// The samples of all channels follow each other, rather than each channel having a plane.
    public var isInterleaved: Bool { raw.layout == GST_AUDIO_LAYOUT_INTERLEAVED }

    /// So many samples of each channel, interleaved, that say nothing; `nil` when there is no memory.
    public func silence(frames count: Int) -> Buffer? {
        guard let buffer = Buffer(size: count * bytesPerFrame) else { return nil }
        var map = GstMapInfo()
        guard gst_buffer_map(buffer.raw, &map, GST_MAP_WRITE) != 0 else { return nil }
        gst_audio_format_info_fill_silence(raw.finfo, map.data, map.size)
        gst_buffer_unmap(buffer.raw, &map)
        return buffer
    }

    /// How long so many samples of each channel last, rounded to the nearest nanosecond.
    public func duration(ofFrames count: Int) -> ClockTime {
        ClockTime(
            nanoseconds: UInt64(gst_util_uint64_scale_round(guint64(count), 1_000_000_000, guint64(max(rate, 1)))))
    }

    /// How many samples of each channel come nearest to `duration`.
    public func frames(in duration: ClockTime) -> Int {
        Int(gst_util_uint64_scale_round(guint64(duration.nanoseconds), guint64(rate), 1_000_000_000))
    }

    public var caps: Caps {
        var info = raw
        return Caps(taking: gst_audio_info_to_caps(&info))
    }

    public static func == (a: AudioInfo, b: AudioInfo) -> Bool {
        var (x, y) = (a.raw, b.raw)
        return gst_audio_info_is_equal(&x, &y) != 0
    }
}

extension Caps {
    /// The number of channels of raw audio that doesn't say which of them is where, where it has to: GStreamer can't mix more
    /// than two to fewer then, and its converter complains through GLib. `nil` for all other caps.
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

/// How samples stand for sound, in the machine's byte order.
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
        // The names of C without a byte order are macros.
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

    /// As caps write it, such as "S16LE".
    public var gstreamerName: String { String(cString: gst_audio_format_to_string(raw)) }
}
