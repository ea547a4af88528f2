import GStreamer

/// Data that was lost without an error while the graph ran.
public enum StreamLoss: Sendable, Hashable, CustomStringConvertible {
    /// A picture decoder couldn't decode `count` of the pictures that it received.
    case undecodablePictures(decoder: String, count: UInt64, of: UInt64)
    /// A device or server delivered nothing but digital silence.
    case silence(source: String)
    /// An input ended before the duration that it declares, for example because the file was cut off. `place` is the
    /// input's path or URI, if it has one.
    case truncatedInput(_ place: String?, end: ClockTime, duration: Duration)
    /// An encoder or muxer dropped the stream's orientation tag (`image-orientation`) and wrote the pictures without
    /// turning them, so players won't show them upright.
    case lostOrientation(writer: String, VideoOrientation)
    /// The audio of a decoding bin isn't linked, so a muxer received only video.
    case unusedAudio(source: String, muxer: String)
    /// The streams ended before this element had received as many frames as the graph's limit allows
    /// (``Graph/endAfter(frames:)``).
    case fewerFrames(at: String, limit: UInt64)
    /// A network sink, such as `udpsink`, received data and sent nothing, because it had no receiver. The sink ignores a
    /// host name that can't be resolved.
    case unsent(sink: String)

    /// What was lost and where, in one line.
    public var description: String {
        switch self {
        case .undecodablePictures(let decoder, let count, let total):
            "\(decoder) could not decode \(count) of \(total) pictures"
        case .silence(let source):
            "\(source) was silent throughout; is it the right device, and not muted? `mediagraph devices` lists them"
        case .truncatedInput(let place, let end, let duration):
            "\(place ?? "the input") ends at \(Self.text(end.seconds)) s, but declares a duration of \(Self.text(duration.seconds)) s; "
                + "it may be truncated"
        case .lostOrientation(let writer, let orientation):
            "\(writer) dropped the pictures' orientation (\(orientation.tag)), so players won't show them upright; "
                + "put the element upright before the encoder"
        case .fewerFrames(let element, let limit):
            "the streams ended before \(element) had received \(limit) frames"
        case .unsent(let sink): "\(sink) sent nothing: \(Self.missingReceiver)"
        case .unusedAudio(let source, let muxer):
            "the audio of \(source) isn't linked, so \(muxer) wrote none; encode it and link it to \(muxer), or link it to "
                + "fakesink if you don't want it"
        }
    }

    /// Why a network sink sends nothing, and what to do.
    static let missingReceiver = "it has no receiver; check the names in host= and clients=, or write IP addresses"

    private static func text(_ seconds: Double) -> String {
        let hundredths = Int((seconds * 100).rounded())
        let decimals = String(100 + hundredths % 100).dropFirst()
        return "\(hundredths / 100).\(decimals)"
    }
}

extension Graph {
    /// The losses found so far. Get this after the graph has ended, before it is stopped.
    public var streamLosses: [StreamLoss] {
        let losses =
            streamWatch.losses(of: pipeline) { owner(of: $0).name } + lostOrientations + unusedAudio
            + unsent
        // A graph that plays only a range, or was asked to end, is expected to use less than its whole input.
        guard mediaRange.current == nil, state.withLock({ $0.hasPlayedWhole }) else { return losses }
        let limit = frameLimit.withLock { $0 }.map { StreamLoss.fewerFrames(at: $0.element, limit: $0.count) }
        return losses + [limit].compactMap(\.self) + streamWatch.truncations(of: pipeline)
    }

    /// Whether a network sink received data and sent nothing. Get this after the graph has ended, before it is stopped.
    package var hasUnsentStream: Bool { !unsent.isEmpty }

    private var unsent: [StreamLoss] {
        pipeline.allElements.compactMap { element in
            guard element.isDatagramSink, (streamWatch.count(of: element) ?? 0) > 0,
                (try? element.property("bytes-served", as: UInt64.self)) == 0
            else { return nil }
            return .unsent(sink: owner(of: element).name)
        }
    }

    private var lostOrientations: [StreamLoss] {
        pipeline.allElements.compactMap { element in
            element.writtenOrientation.map { .lostOrientation(writer: owner(of: element).name, $0) }
        }
    }
}

extension Graph {
    private var unusedAudio: [StreamLoss] {
        pipeline.allElements.compactMap { source in
            guard source.isBin, source.isDecoder, owner(of: source) == source else { return nil }
            let outputs = source.pads.filter { $0.direction == .source }
            let used = outputs.filter(\.isLinked)
            guard used.count == 1, !used[0].carriesAudio, outputs.contains(where: \.carriesAudio),
                let muxer = used[0].muxerInput?.parent, muxer.takesAudio,
                muxer.pads.count(where: { $0.direction == .sink && $0.isLinked }) == 1
            else { return nil }
            return .unusedAudio(source: source.name, muxer: owner(of: muxer).name)
        }
    }
}

extension Pad {
    fileprivate var carriesAudio: Bool { currentCaps?.mediaTypes.contains { $0.hasPrefix("audio/") } == true }
}

extension Element {
    /// Whether the element sends datagrams to a list of receivers that it is given.
    fileprivate var isDatagramSink: Bool { ["udpsink", "multiudpsink"].contains(factoryName) }

    /// Whether the element sends datagrams, but has nobody to send them to.
    var lacksReceiver: Bool { isDatagramSink && (try? property("clients", as: String.self))?.isEmpty == true }

    fileprivate var takesAudio: Bool {
        inputTemplates.contains { $0.caps.mediaTypes.contains { $0.hasPrefix("audio/") } }
    }
}

extension Element {
    /// The orientation of the pictures that this element encodes, or that it muxes although no encoder in the graph
    /// made them; `nil` if they are upright. `jifmux`, which writes the tag as EXIF, is the only muxer that keeps it
    /// (measured with GStreamer 1.22).
    fileprivate var writtenOrientation: VideoOrientation? {
        let isEncoder = encodesPictures
        guard !isBin, isEncoder || isMuxer,
            !pads.contains(where: { $0.neighbor?.parent?.factoryName == "jifmux" })
        else { return nil }
        for pad in pads where pad.direction == .sink {
            guard
                pad.currentCaps?.mediaTypes.contains(where: { $0.hasPrefix("video/") || $0.hasPrefix("image/") })
                    == true,
                isEncoder || !pad.upstream.contains(where: \.encodesPictures),
                !pad.upstream.contains(where: \.turnsPictures)
            else { continue }
            let orientation = TaggedOrientation(keptBy: pad).pending
            if orientation != .upright { return orientation }
        }
        return nil
    }

    fileprivate var encodesPictures: Bool {
        let kind = factoryName.flatMap(ElementFactoryInfo.find)?.classification ?? ""
        return kind.contains("Encoder") && (kind.contains("Video") || kind.contains("Image"))
    }
}

extension Element {
    /// Whether the element is a `videoflip` whose user has set a direction, instead of following the tag.
    fileprivate var turnsPictures: Bool {
        guard factoryName == "videoflip", let direction = try? propertyText("video-direction") else { return false }
        return !["identity", "auto"].contains(direction)
    }
}

extension Pad {
    /// The elements upstream of this sink pad, nearest first. At an element with several inputs, only the first is
    /// followed.
    fileprivate var upstream: some Sequence<Element> {
        var seen: Set<Pad> = []
        return sequence(state: Optional(self)) { pad in
            guard let sink = pad, seen.insert(sink).inserted, let source = sink.neighbor else { return nil }
            pad = source.internalLinks.first
            return source.parent
        }
    }
}
