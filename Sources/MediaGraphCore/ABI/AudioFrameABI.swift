import CMediaGraphABI
import Foundation
import GStreamer

extension MGAudioFrame {
    /// Describes a mapped buffer without copying. The caller keeps all arguments alive while the structure is in use.
    package init(
        _ mapped: borrowing MappedAudioBuffer, in buffer: BufferAccess, _ caps: Caps, times: AudioTimes,
        streamStart: StreamStart?, isEdited: Bool, memoryMode: MemoryMode = .stack
    ) {
        self.init(
            mapped: mapped.buffer, buffer: buffer.raw, caps: caps.raw, running_time: UInt64(times.running.raw),
            presentation_timestamp: UInt64(buffer.presentationTimestamp.raw),
            capture_time: buffer.captureUnixNanoseconds ?? 0,
            is_gap: buffer.isGap ? 1 : 0, is_edited: isEdited ? 1 : 0, stream_start: streamStart?.raw,
            stream_time: UInt64(times.stream.raw), memory_mode: memoryMode.rawValue)
    }

    var presentationTimestamp: ClockTime? { ClockTime(raw: GstClockTime(presentation_timestamp)) }
    var runningTime: ClockTime? { ClockTime(raw: GstClockTime(running_time)) }
    var streamTime: ClockTime? { ClockTime(raw: GstClockTime(stream_time)) }
    var captureTime: Date? { captureUnixNanoseconds.map(Date.init(unixNanoseconds:)) }
    var captureUnixNanoseconds: UInt64? { capture_time == 0 ? nil : capture_time }
    var streamID: String? { stream_start.map { StreamStart(retaining: $0).id } }
}

extension MediaGraphError {
    static var unknownSampleFormat: MediaGraphError {
        .unsupported(.init("audio format", expected: AudioFormat.s16.gstreamerName))
    }
}
