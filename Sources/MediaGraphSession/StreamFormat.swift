import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// The current format of a stream, and the scalers for readers that want smaller frames.
package final class StreamFormat: Sendable {
    private struct WeakScaler: Sendable {
        weak var scaler: FrameScaler?
    }

    package let caps: Caps
    package let isEncoded: Bool
    private let scalers = Mutex<[Resolution: WeakScaler]>([:])
    private static let raw = Caps("\(BufferType.native.caps); audio/x-raw(ANY)")!.constant
    static let encoded = Caps("\(BufferType.encoded.caps); audio/x-opus")!.constant

    init(_ caps: Caps) {
        self.caps = caps
        isEncoded = caps.canIntersect(Self.encoded)
    }

    /// Whether an element that accepts these caps takes encoded media only.
    static func mustBeEncoded(_ accepted: Caps) -> Bool {
        accepted.canIntersect(encoded) && !accepted.canIntersect(raw)
    }

    /// Why readers can't show this format; `nil` if they can.
    var problem: String? {
        let isKnown =
            switch caps.mediaTypes.first {
            case "audio/x-raw": AudioInfo(caps) != nil
            case "video/x-raw": !caps.canIntersect(Self.systemMemory) || VideoInfo(caps) != nil
            default: true
            }
        guard isKnown else { return "this version of GStreamer doesn't know its format: \(caps)" }
        // Pipes and converters refuse incomplete caps, and that would end the reader's graph.
        let required = ["format", "width", "height", "framerate"]
        if caps.mediaTypes.first == "video/x-raw", let missing = required.first(where: { !caps[0].hasField($0) }) {
            let remedy = "set it where the video is captured" + (missing == "framerate" ? ", to 0/1 if it varies" : "")
            return "its caps lack \(missing) (\(caps)); \(remedy)"
        }
        // Most handlers and encoders fail with interlaced video, and that would end the reader's graph.
        let scan = caps[0]["interlace-mode", as: String.self] ?? "progressive"
        guard caps.mediaTypes.first != "video/x-raw" || scan == "progressive" else {
            return "it is interlaced video (\(scan)); put deinterlace before the sender's camera"
        }
        return nil
    }

    /// How often buffers of this format should arrive.
    var pace: StallWatch.Pace {
        guard let mediaType = caps.mediaTypes.first, !mediaType.hasPrefix("audio/") else { return .continuous }
        guard let rate = caps[0]["framerate", as: Fraction.self], rate.numerator > 0 else { return .variable }
        return .frames(Int64(rate.denominator) * 1_000_000 / Int64(rate.numerator))
    }

    /// The warning if downstream refuses this format.
    var refusal: String {
        guard let channels = caps.unpositionedChannels else { return "the linked element can't accept \(caps)" }
        return
            "its \(channels) channels have no positions, so they can't be mixed; set a channel-mask where the sound is captured"
    }

    private static let systemMemory = Caps("video/x-raw")!.constant

    /// Elements that convert this format to nearly any other, for messages.
    var converters: String {
        let isSound = caps.mediaTypes.first?.hasPrefix("audio/") ?? false
        return isEncoded ? "decodebin" : isSound ? "audioconvert ! audioresample" : "videoconvert ! videoscale"
    }

    /// Returns the scaler to a resolution, which all its users share; it is released with the last of them. `nil` if
    /// frames pass unscaled, because they aren't higher or are in a format that can't be scaled.
    package func scaler(_ resolution: Resolution) -> FrameScaler? {
        scalers.withLock { scalers in
            if let scaler = scalers[resolution]?.scaler { return scaler }
            let scaler = FrameScaler(caps, resolution)
            scalers[resolution] = WeakScaler(scaler: scaler)
            return scaler
        }
    }
}

/// Scales a stream's frames down, each once for all readers of the process that want that size.
///
/// The first reader that takes a frame scales it, on the reader's own thread, and the other readers get the result by
/// reference. The publisher's thread does nothing, and a frame that no reader takes isn't scaled.
package final class FrameScaler: Sendable {
    private struct State {
        let plan: FramePlan
        /// The newest scaled frames, for readers that are behind. A reader can't be further behind than this.
        var recent: [Frame] = []
        var count = 0
    }

    /// A scaled frame, which several readers may share.
    package final class Frame: Sendable {
        fileprivate let number: UInt64
        package let buffer: Buffer

        fileprivate init(_ number: UInt64, _ buffer: consuming Buffer) {
            self.number = number
            self.buffer = buffer
        }
    }

    /// The caps of scaled frames.
    package let caps: Caps
    private let input: VideoInfo
    private let output: VideoInfo
    private let state: BlockingMonitor<State>
    private static let kept = 3
    private static let scalable = BufferType.raw.caps.constant

    fileprivate init?(_ caps: Caps, _ resolution: Resolution) {
        guard resolution != .native, caps.areFrames(in: Self.scalable), let input = VideoInfo(caps),
            resolution.size(for: input) != (input.width, input.height),
            let plan = try? FramePlan(caps, resolution)
        else { return nil }
        self.caps = plan.outputCaps
        self.input = input
        output = plan.output
        state = BlockingMonitor(State(plan: plan))
    }

    /// Returns the scaled frame. Waits while another reader scales a frame. `nil` if the frame can't be read or memory
    /// is exhausted.
    package func scaled(_ frame: StreamReader.Frame) -> Frame? {
        state.withLock { state in
            let timestamp = frame.buffer.access.presentationTimestamp
            // A share's last frame is sent again with another timestamp.
            if let known = state.recent.first(where: {
                $0.number == frame.number && $0.buffer.access.presentationTimestamp == timestamp
            }) {
                return known
            }
            guard let made = make(frame, state.plan) else { return nil }
            if state.recent.count == Self.kept { state.recent.removeFirst() }
            state.recent.append(made)
            state.count += 1
            return made
        }
    }

    private func make(_ frame: StreamReader.Frame, _ plan: FramePlan) -> Frame? {
        let access = frame.buffer.access
        do throws(MediaGraphError) {
            let made = try plan.apply(to: access, .upright, .none)
            access.copyMetas(toScaled: made.buffer.access, from: input, to: output)
            return Frame(frame.number, made.buffer.retained)
        } catch {
            MediaSessionElement.log.log(.warning, nil, "dropped a frame that can't be scaled: \(error)")
            return nil
        }
    }

    /// The number of frames scaled so far.
    var count: Int { state.withLock { $0.count } }
}
