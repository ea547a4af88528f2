import DequeModule
import GStreamer
import MediaGraphCore
import Synchronization
import WebRTC

/// Watches a local user's stream in front of its encoder and in front of `webrtcbin`: adds to the packets how their
/// pictures are to be turned, and finds out what else receivers need to know.
final class OutgoingPackets: Sendable {
    /// What receivers need to know about the packets.
    struct Details: Sendable, Hashable {
        var reference: TimeReference?
        /// How upright pictures are to be flipped, because they are mirrored.
        var flip = Flip.none
    }

    private struct State: Sendable {
        var details = Details()
        /// How far the time of capture is ahead of the timestamp, in nanoseconds; `nil` if it is unknown.
        var captureOffset: UInt64?
        /// Whether `captureOffset` was nearly the same for the previous frame. It isn't when a share's last frame is repeated.
        var isSteady = false
        /// The ends of the last packets.
        var recentEnds = Deque<PayloadEnd?>()
        /// Whether there has been a time reference.
        var hasBegun = false
    }

    /// How much the time of capture of two frames may differ from their timestamps, in nanoseconds.
    private static let captureJitter: Int64 = 100_000_000
    /// How many payload ends are compared, as many as receivers compare. If two are equal, as with silence, neither packet can be
    /// the reference.
    private static let recentCount = TimeReferences.capacity

    /// The ID of the header extension with the orientation.
    static let orientationID: UInt8 = 1

    private let state = Mutex(State())
    private let isSound: Bool
    /// Called on a streaming thread when receivers should hear of the details at once.
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
        let offset = captured.map { $0 &- time.nanoseconds }
        state.withLock { state in
            if let old = state.captureOffset, let offset {
                state.isSteady = Int64(bitPattern: offset &- old).magnitude < Self.captureJitter
            } else {
                state.isSteady = state.captureOffset == nil && offset == nil
            }
            state.captureOffset = offset
        }
    }

    /// `moment` converts a timestamp to the time of the sender's clock.
    fileprivate func received(packet buffer: inout PassingBuffer, _ moment: (ClockTime) -> UInt64?) {
        guard let packet = RTPPacket(buffer.access, isSound: isSound), isSound || packet.hasMarker else { return }
        let flip = isSound ? .none : addOrientation(to: &buffer)
        let timestamp = buffer.access.presentationTimestamp
        let time = timestamp.flatMap(moment)
        let shouldAnnounce = state.withLock { state in
            let old = state.details
            state.details.flip = flip
            let isRepeated = state.recentEnds.contains(packet.payloadEnd)
            if isRepeated {
                state.details.reference = nil
            } else if let timestamp, let time, let end = packet.payloadEnd, state.isSteady || old.reference == nil {
                state.details.reference = TimeReference(
                    payloadEnd: end, time: time,
                    captureTime: state.captureOffset.map { $0 &+ timestamp.nanoseconds })
            }
            state.recentEnds.append(packet.payloadEnd)
            if state.recentEnds.count > Self.recentCount { state.recentEnds.removeFirst() }
            let begins = !state.hasBegun && state.details.reference != nil
            state.hasBegun = state.hasBegun || begins
            return old.flip != flip || begins
        }
        if shouldAnnounce { changed() }
    }

    /// Adds the orientation, with the flip included, because other clients don't receive it separately. Returns the flip of the
    /// upright picture.
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
