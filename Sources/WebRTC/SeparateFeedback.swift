import CGStreamer
import CGStreamerRTP
import GStreamer

/// Sends RTCP feedback (RFC 4585), such as requests for key frames, in packets of their own, one for each sender that they
/// are about.
///
/// `webrtcbin` sends feedback behind its reports on all senders, or alone. Janus 1.1.2 assigns a whole packet to one
/// sender: the first on which there is a report, or else the one that transport-layer feedback names. So it passed on a
/// request for a key frame only if the first report happened to be about video, and never one that was sent early.
///
/// `@unchecked Sendable`: only the pad's streaming thread uses `isSending`.
final class SeparateFeedback: PadTap, @unchecked Sendable {
    private var isSending = false

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        guard !isSending else { return .ok }
        isSending = true
        defer { isSending = false }
        buffer.makeWritable()
        for feedback in Self.removeFeedback(from: buffer.access.raw) {
            guard let packet = Self.packet(with: feedback) else { return .error }
            let result = buffer.sendBefore(packet)
            guard result == .ok else { return result }
        }
        return .ok
    }

    /// Takes the feedback out of a compound packet, and returns it by subject. Returns nothing, and changes nothing, if
    /// there can be no doubt about the subject.
    private static func removeFeedback(from buffer: UnsafeMutablePointer<GstBuffer>) -> [[Feedback]] {
        withRTCP(buffer) { rtcp in
            let contents = CompoundPacket(rtcp)
            guard !contents.hasOneSubject else { return [] }
            var packet = GstRTCPPacket()
            var isThere = gst_rtcp_buffer_get_first_packet(rtcp, &packet) != 0
            while isThere {
                isThere =
                    Feedback(&packet) == nil
                    ? gst_rtcp_packet_move_to_next(&packet) != 0 : gst_rtcp_packet_remove(&packet) != 0
            }
            // An empty packet isn't valid.
            if gst_rtcp_buffer_get_packet_count(rtcp) == 0, let sender = contents.feedback.first?.sender {
                addReport(of: sender, to: rtcp)
            }
            return Dictionary(grouping: contents.feedback, by: \.subject).sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// Makes a packet with feedback on one sender.
    private static func packet(with feedback: [Feedback]) -> Buffer? {
        guard let first = feedback.first, let raw = gst_rtcp_buffer_new(mostBytes) else { return nil }
        withRTCP(raw) { rtcp in
            addReport(of: first.sender, to: rtcp)
            // Janus looks up the sender in feedback of this kind only.
            if !feedback.contains(where: \.isOfTransport) {
                Feedback.hint(first.sender, on: first.subject).add(to: rtcp)
            }
            for feedback in feedback { feedback.add(to: rtcp) }
        }
        return Buffer(taking: raw)
    }

    /// Adds a report on nothing: a packet has to begin with a report.
    private static func addReport(of sender: UInt32, to rtcp: UnsafeMutablePointer<GstRTCPBuffer>) {
        var packet = GstRTCPPacket()
        guard gst_rtcp_buffer_add_packet(rtcp, GST_RTCP_TYPE_RR, &packet) != 0 else { return }
        gst_rtcp_packet_rr_set_ssrc(&packet, sender)
    }

    /// As large as those of `webrtcbin`.
    private static let mostBytes: guint = 1400
}

/// What there is in a packet.
private struct CompoundPacket {
    var feedback: [Feedback] = []
    /// The senders to which Janus may assign the packet.
    private var candidates: Set<UInt32> = []
    private var hasReports = false

    init(_ rtcp: UnsafeMutablePointer<GstRTCPBuffer>) {
        var packet = GstRTCPPacket()
        var isThere = gst_rtcp_buffer_get_first_packet(rtcp, &packet) != 0
        while isThere {
            if let item = Feedback(&packet) {
                feedback.append(item)
                if item.isOfTransport { candidates.insert(item.subject) }
            } else if packet.type == GST_RTCP_TYPE_RR || packet.type == GST_RTCP_TYPE_SR {
                hasReports = hasReports || gst_rtcp_packet_get_rb_count(&packet) > 0
            }
            isThere = gst_rtcp_packet_move_to_next(&packet) != 0
        }
    }

    /// Whether all feedback is about the sender to which Janus assigns the packet.
    var hasOneSubject: Bool {
        feedback.isEmpty
            || !hasReports && candidates.count == 1 && feedback.allSatisfy { candidates.contains($0.subject) }
    }
}

/// A feedback message of a compound packet.
private struct Feedback {
    private let type: GstRTCPType
    private let format: GstRTCPFBType
    let sender: UInt32
    /// The sender of media that it is about (its SSRC).
    let subject: UInt32
    private let content: [UInt8]

    /// `nil` if the packet isn't feedback, or doesn't say what it is about.
    init?(_ packet: inout GstRTCPPacket) {
        guard packet.type == GST_RTCP_TYPE_RTPFB || packet.type == GST_RTCP_TYPE_PSFB else { return nil }
        (type, format) = (packet.type, gst_rtcp_packet_fb_get_type(&packet))
        (sender, subject) = (
            gst_rtcp_packet_fb_get_sender_ssrc(&packet), gst_rtcp_packet_fb_get_media_ssrc(&packet)
        )
        let words = Int(gst_rtcp_packet_fb_get_fci_length(&packet))
        content = Array(UnsafeBufferPointer(start: gst_rtcp_packet_fb_get_fci(&packet), count: words * 4))
        guard subject != 0 else { return nil }
    }

    private init(_ type: GstRTCPType, _ format: GstRTCPFBType, sender: UInt32, subject: UInt32, content: [UInt8]) {
        (self.type, self.format, self.sender, self.subject) = (type, format, sender, subject)
        self.content = content
    }

    /// Feedback that says only what it is about. Its format is reserved for extensions (RFC 4585, 6.2): nobody knows it.
    static func hint(_ sender: UInt32, on subject: UInt32) -> Feedback {
        Feedback(
            GST_RTCP_TYPE_RTPFB, GstRTCPFBType(31), sender: sender, subject: subject, content: [0, 0, 0, 0])
    }

    var isOfTransport: Bool { type == GST_RTCP_TYPE_RTPFB }

    func add(to rtcp: UnsafeMutablePointer<GstRTCPBuffer>) {
        var packet = GstRTCPPacket()
        guard gst_rtcp_buffer_add_packet(rtcp, type, &packet) != 0 else { return }
        gst_rtcp_packet_fb_set_type(&packet, format)
        gst_rtcp_packet_fb_set_sender_ssrc(&packet, sender)
        gst_rtcp_packet_fb_set_media_ssrc(&packet, subject)
        guard gst_rtcp_packet_fb_set_fci_length(&packet, guint16(content.count / 4)) != 0 else { return }
        if !content.isEmpty { gst_rtcp_packet_fb_get_fci(&packet).update(from: content, count: content.count) }
    }
}

private func withRTCP<R>(
    _ buffer: UnsafeMutablePointer<GstBuffer>, _ body: (UnsafeMutablePointer<GstRTCPBuffer>) -> R
) -> R {
    var mapping = GstRTCPBuffer()
    return withUnsafeMutablePointer(to: &mapping) { mapping in
        gst_rtcp_buffer_map(buffer, GstMapFlags(GST_MAP_READ.rawValue | GST_MAP_WRITE.rawValue), mapping)
        defer { gst_rtcp_buffer_unmap(mapping) }
        return body(mapping)
    }
}
