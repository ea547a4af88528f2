import CGStreamer
import Synchronization

/// Detects whether the raw audio at a pad has been digital silence only. Thread-safe.
package final class SilenceDetector: Sendable {
    private enum Finding: Int, AtomicRepresentable { case nothingYet, silence, sound }

    private let finding = Atomic(Finding.nothingYet)

    /// Whether buffers have passed and all their samples were silence.
    package var isSilent: Bool { finding.load(ordering: .relaxed) == .silence }

    /// Starts over.
    package func reset() { finding.store(.nothingYet, ordering: .relaxed) }

    fileprivate func examine(_ info: UnsafeMutablePointer<GstPadProbeInfo>, at pad: UnsafeMutablePointer<GstPad>) {
        // Examine a stream only up to its first sound.
        guard finding.load(ordering: .relaxed) != .sound else { return }
        let buffer = info.pointee.data.assumingMemoryBound(to: GstBuffer.self)
        finding.store(Self.isSilence(buffer, at: pad) ? .silence : .sound, ordering: .relaxed)
    }

    /// Returns whether all samples of a buffer are silence. False if the buffer isn't raw audio or can't be mapped.
    private static func isSilence(_ buffer: UnsafeMutablePointer<GstBuffer>, at pad: UnsafeMutablePointer<GstPad>)
        -> Bool
    {
        guard let caps = gst_pad_get_current_caps(pad) else { return false }
        defer { gst_caps_unref(caps) }
        var audio = GstAudioInfo()
        guard gst_audio_info_from_caps(&audio, caps) != 0 else { return false }
        var map = GstMapInfo()
        guard gst_buffer_map(buffer, &map, GST_MAP_READ) != 0 else { return false }
        defer { gst_buffer_unmap(buffer, &map) }
        let width = Int(audio.finfo.pointee.width) / 8
        guard width > 0, Int(map.size) >= width else { return true }
        // The first sample is silence, and each following one equals the one before it.
        return withUnsafeBytes(of: audio.finfo.pointee.silence) { memcmp(map.data, $0.baseAddress!, width) == 0 }
            && memcmp(map.data, map.data + width, Int(map.size) - width) == 0
    }
}

extension Pad {
    /// Starts examining the audio that passes the pad, until the pad is freed.
    package func detectSilence() -> SilenceDetector {
        let detector = SilenceDetector()
        addProbe(GST_PAD_PROBE_TYPE_BUFFER, holding: detector) { pad, info, context in
            Unmanaged<SilenceDetector>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.examine(info!, at: pad!) }
            return GST_PAD_PROBE_OK
        }
        return detector
    }
}
