import CGStreamer
import CGStreamerRTP
import GStreamer

/// Splits a receiver's compound RTCP packets into one packet per media source (SSRC): the report about it (RFC 3550) and the
/// feedback, such as requests for key frames (RFC 4585).
///
/// `webrtcbin` puts the reports about all sources of a connection into one packet, with the feedback behind them or alone.
/// Janus 1.1.2 assigns a packet to one source: that of the first report, or else the one that transport-layer feedback names.
/// So it knew the round trip of one source, and kept no packets of the others for retransmission; and it passed on a request
/// for a key frame only if the first report happened to be about video, and never one that was sent early.
///
/// `@unchecked Sendable`: only the pad's streaming thread uses `isSending`.
final class RTCPSplitter: PadTap, @unchecked Sendable {
    private var isSending = false

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        guard !isSending else { return .ok }
        let contents = withRTCP(buffer.access.raw, GST_MAP_READ) { CompoundPacket($0) }
        guard let contents else { return .ok }
        let mediaSSRCs = contents.mediaSSRCs
        guard contents.hasReports || contents.isAmbiguous || mediaSSRCs.count > 1 else { return .ok }
        isSending = true
        defer { isSending = false }
        for mediaSSRC in mediaSSRCs.dropLast() {
            guard let packet = contents.packet(on: mediaSSRC) else { return .error }
            let result = buffer.sendBefore(packet)
            guard result == .ok else { return result }
        }
        guard let mediaSSRC = mediaSSRCs.last, let last = contents.packet(on: mediaSSRC) else { return .error }
        for range in contents.others { last.access.append(range, of: buffer.access) }
        buffer.replace(with: last)
        return .ok
    }
}

/// The contents of a receiver's packet.
private struct CompoundPacket {
    private var receiverSSRC: UInt32 = 0
    /// The reports and the feedback, by the media source that they are about.
    private var reports: [UInt32: Report] = [:]
    private var feedback: [UInt32: [Feedback]] = [:]
    /// Where the rest is, such as the receiver's name.
    private(set) var others: [Range<Int>] = []

    /// `nil` if it isn't a receiver's.
    init?(_ rtcp: UnsafeMutablePointer<GstRTCPBuffer>) {
        var packet = GstRTCPPacket()
        guard gst_rtcp_buffer_get_first_packet(rtcp, &packet) != 0, packet.type == GST_RTCP_TYPE_RR else { return nil }
        receiverSSRC = gst_rtcp_packet_rr_get_ssrc(&packet)
        repeat {
            if packet.type == GST_RTCP_TYPE_RR {
                for index in 0..<gst_rtcp_packet_get_rb_count(&packet) {
                    let report = Report(&packet, index)
                    reports[report.mediaSSRC] = report
                }
            } else if let item = Feedback(&packet) {
                feedback[item.mediaSSRC, default: []].append(item)
            } else {
                let begin = Int(packet.offset)
                others.append(begin..<begin + (Int(gst_rtcp_packet_get_length(&packet)) + 1) * 4)
            }
        } while gst_rtcp_packet_move_to_next(&packet) != 0
    }

    /// The media sources that it is about, sorted.
    var mediaSSRCs: [UInt32] { Set(reports.keys).union(feedback.keys).sorted() }

    /// Whether it has reports, whose round trips have to be changed.
    var hasReports: Bool { !reports.isEmpty }

    /// Whether Janus couldn't tell which media source some feedback is about.
    var isAmbiguous: Bool {
        feedback.contains { mediaSSRC, items in reports[mediaSSRC] == nil && !items.contains(where: \.isTransportLayer)
        }
    }

    /// Makes a packet with what is about one media source; `nil` if there is no memory.
    func packet(on mediaSSRC: UInt32) -> Buffer? {
        guard let raw = gst_rtcp_buffer_new(Self.maxBytes) else { return nil }
        withRTCP(raw, GstMapFlags(GST_MAP_READ.rawValue | GST_MAP_WRITE.rawValue)) { rtcp in
            var packet = GstRTCPPacket()
            guard gst_rtcp_buffer_add_packet(rtcp, GST_RTCP_TYPE_RR, &packet) != 0 else { return }
            gst_rtcp_packet_rr_set_ssrc(&packet, receiverSSRC)
            reports[mediaSSRC]?.add(to: &packet)
            let feedback = feedback[mediaSSRC] ?? []
            if reports[mediaSSRC] == nil, !feedback.contains(where: \.isTransportLayer) {
                Feedback.empty(receiverSSRC, on: mediaSSRC).add(to: rtcp)
            }
            for item in feedback { item.add(to: rtcp) }
        }
        return Buffer(taking: raw)
    }

    /// As large as those of `webrtcbin`.
    private static let maxBytes: guint = 1400
}

/// A report about a media source.
private struct Report {
    private(set) var mediaSSRC: UInt32 = 0
    private var fractionLost: UInt8 = 0
    private var packetsLost: Int32 = 0
    private var highestSequence: UInt32 = 0
    private var jitter: UInt32 = 0
    private var lastReport: UInt32 = 0
    private var delay: UInt32 = 0

    init(_ packet: inout GstRTCPPacket, _ index: UInt32) {
        gst_rtcp_packet_get_rb(
            &packet, index, &mediaSSRC, &fractionLost, &packetsLost, &highestSequence, &jitter, &lastReport, &delay)
    }

    func add(to packet: inout GstRTCPPacket) {
        gst_rtcp_packet_add_rb(
            &packet, mediaSSRC, fractionLost, packetsLost, highestSequence, jitter, lastReport,
            delay > Self.addedRoundTrip ? delay - Self.addedRoundTrip : 0)
    }

    /// Makes round trips 2 ms longer, in units of 1/65536 s: Janus 1.1.2 keeps packets for retransmission only once it
    /// knows a round trip of at least a millisecond.
    private static let addedRoundTrip: UInt32 = 131
}

/// A feedback message.
private struct Feedback {
    private let type: GstRTCPType
    private let format: GstRTCPFBType
    private let receiverSSRC: UInt32
    /// The media source that it is about.
    let mediaSSRC: UInt32
    private let content: [UInt8]

    /// `nil` if the packet isn't feedback, or doesn't say what it is about.
    init?(_ packet: inout GstRTCPPacket) {
        guard packet.type == GST_RTCP_TYPE_RTPFB || packet.type == GST_RTCP_TYPE_PSFB else { return nil }
        (type, format) = (packet.type, gst_rtcp_packet_fb_get_type(&packet))
        receiverSSRC = gst_rtcp_packet_fb_get_sender_ssrc(&packet)
        mediaSSRC = gst_rtcp_packet_fb_get_media_ssrc(&packet)
        let words = Int(gst_rtcp_packet_fb_get_fci_length(&packet))
        content = Array(UnsafeBufferPointer(start: gst_rtcp_packet_fb_get_fci(&packet), count: words * 4))
        guard mediaSSRC != 0 else { return nil }
    }

    private init(
        _ type: GstRTCPType, _ format: GstRTCPFBType, _ receiverSSRC: UInt32, _ mediaSSRC: UInt32, _ content: [UInt8]
    ) {
        (self.type, self.format, self.receiverSSRC, self.mediaSSRC, self.content) = (
            type, format, receiverSSRC, mediaSSRC, content
        )
    }

    /// Feedback that says only what it is about. Its format is reserved for extensions (RFC 4585, 6.2): nobody knows it.
    static func empty(_ receiverSSRC: UInt32, on mediaSSRC: UInt32) -> Feedback {
        Feedback(GST_RTCP_TYPE_RTPFB, GstRTCPFBType(31), receiverSSRC, mediaSSRC, [0, 0, 0, 0])
    }

    var isTransportLayer: Bool { type == GST_RTCP_TYPE_RTPFB }

    func add(to rtcp: UnsafeMutablePointer<GstRTCPBuffer>) {
        var packet = GstRTCPPacket()
        guard gst_rtcp_buffer_add_packet(rtcp, type, &packet) != 0 else { return }
        gst_rtcp_packet_fb_set_type(&packet, format)
        gst_rtcp_packet_fb_set_sender_ssrc(&packet, receiverSSRC)
        gst_rtcp_packet_fb_set_media_ssrc(&packet, mediaSSRC)
        guard gst_rtcp_packet_fb_set_fci_length(&packet, guint16(content.count / 4)) != 0 else { return }
        if !content.isEmpty { gst_rtcp_packet_fb_get_fci(&packet).update(from: content, count: content.count) }
    }
}

private func withRTCP<R>(
    _ buffer: UnsafeMutablePointer<GstBuffer>, _ flags: GstMapFlags,
    _ body: (UnsafeMutablePointer<GstRTCPBuffer>) -> R
) -> R {
    var mapping = GstRTCPBuffer()
    return withUnsafeMutablePointer(to: &mapping) { mapping in
        gst_rtcp_buffer_map(buffer, flags, mapping)
        defer { gst_rtcp_buffer_unmap(mapping) }
        return body(mapping)
    }
}
