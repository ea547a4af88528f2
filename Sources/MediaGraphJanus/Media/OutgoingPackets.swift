import GStreamer
import MediaGraphCore
import Synchronization
import WebRTC

/// Watches a local user's stream in front of its encoder and in front of `webrtcbin`: adds to the packets how their
/// pictures are to be turned, and finds out what else the others have to know.
final class OutgoingPackets: Sendable {
    /// What the others have to know.
    struct Details: Sendable, Hashable {
        var mark: PacketMark?
        /// How upright pictures are to be flipped, because they are mirrored.
        var flip = Flip.none
    }

    private struct State: Sendable {
        var details = Details()
        /// How far the time of capture is ahead of the timestamp, in nanoseconds; `nil` if it is unknown.
        var captureOffset: UInt64?
        var lastEnd: PayloadEnd?
    }

    /// The number of the header extension with the orientation.
    static let orientationID: UInt8 = 1

    private let state = Mutex(State())
    private let isSound: Bool
    /// Called on a streaming thread when the others should hear of the details at once.
    private let changed: @Sendable () -> Void

    init(isSound: Bool, changed: @escaping @Sendable () -> Void) { (self.isSound, self.changed) = (isSound, changed) }

    var details: Details { state.withLock { $0.details } }

    /// Watches the encoder's input, and what it makes of that on its way to `webrtcbin`.
    func watch(_ input: Pad, _ output: Pad, of element: Element) {
        input.setTap(InputTap(self))
        output.setTap(OutputTap(self, element))
    }

    fileprivate func received(media buffer: BufferAccess) {
        guard let time = buffer.presentationTimestamp else { return }
        let captured = buffer.hasMetas ? buffer.captureUnixNanoseconds : nil
        state.withLock { $0.captureOffset = captured.map { $0 &- time.nanoseconds } }
    }

    /// `moment` converts a timestamp to the time of the sender's clock.
    fileprivate func received(packet buffer: inout PassingBuffer, _ moment: (ClockTime) -> UInt64?) {
        guard let packet = RTPPacket(buffer.access), isSound || packet.isMarked else { return }
        let flip = isSound ? .none : addOrientation(to: &buffer)
        guard let timestamp = buffer.access.presentationTimestamp, let time = moment(timestamp) else { return }
        let isNews = state.withLock { state in
            let old = state.details
            state.details.flip = flip
            // Packets of silence may be alike.
            if let end = packet.payloadEnd, end != state.lastEnd {
                state.details.mark = PacketMark(
                    payloadEnd: end, time: time,
                    captureTime: state.captureOffset.map { $0 &+ timestamp.nanoseconds })
            }
            state.lastEnd = packet.payloadEnd
            return old.flip != flip || old.mark == nil && state.details.mark != nil
        }
        if isNews { changed() }
    }

    /// Adds the orientation, including that of the flip, which clients without MediaGraph don't know otherwise. Returns the
    /// flip of the upright picture.
    private func addOrientation(to buffer: inout PassingBuffer) -> Flip {
        let metas = FrameMetas(of: buffer.access, TaggedOrientation())
        let total = VideoOrientation(metas.mirror).followed(by: metas.orientation)
        buffer.makeWritable()
        buffer.access.addRTPExtension(total, id: Self.orientationID)
        return metas.mirror.turned(by: metas.orientation)
    }
}

/// `@unchecked Sendable`: has constants only.
private final class InputTap: PadTap, @unchecked Sendable {
    private let packets: OutgoingPackets
    init(_ packets: OutgoingPackets) { self.packets = packets }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        packets.received(media: buffer.access)
        return .ok
    }
}

/// `@unchecked Sendable`: only the streaming thread uses `segment`; everything else is constant.
private final class OutputTap: PadTap, @unchecked Sendable {
    private let packets: OutgoingPackets
    private let element: Element
    private var segment: Segment?
    init(_ packets: OutgoingPackets, _ element: Element) { (self.packets, self.element) = (packets, element) }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        packets.received(packet: &buffer) { timestamp in
            guard let base = element.baseTime, let time = segment?.runningTime(of: timestamp) else { return nil }
            return base.nanoseconds + time.nanoseconds
        }
        return .ok
    }

    override func received(_ event: Event) -> Bool {
        if case .segment(let segment) = event { self.segment = segment }
        return true
    }
}
