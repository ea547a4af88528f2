import Dispatch
import GStreamer
import MediaGraphDescription

/// A stream that a link needs and the input lacks, such as audio in a file that has only video. The branch behind the
/// link gets no data and ends; the rest of the graph continues.
public struct MissingStream: Sendable, Hashable, CustomStringConvertible {
    /// The element that should provide the stream, such as a demuxer.
    public let source: String
    /// The element that should receive it.
    public let sink: String
    /// What is missing, such as `there is no audio stream: file produces video/x-raw; audioconvert0 accepts audio/x-raw`.
    public let reason: String

    /// The reason, and which branch gets no data.
    public var description: String { "\(reason); the branch that starts at \(sink) gets no data" }
}

extension Pipeline {
    /// Returns the missing stream that GStreamer's warning "Delayed linking failed" is about; `nil` for any other
    /// warning. `debug` is the warning's debug text.
    func missingStream(of debug: String) -> MissingStream? {
        let pattern =
            /failed delayed linking (some\s+pad|pad\s+(?<pad>\S+)) of \S+ named (?<source>\S+) to .* of \S+ named (?<sink>\S+)/
        guard let match = debug.firstMatch(of: pattern),
            let source = element(named: String(match.source)), let sink = element(named: String(match.sink))
        else { return nil }
        let pads = source.pads.filter { $0.direction == .source }
        return MissingStream(
            source: source.name, sink: sink.name,
            reason: Self.reason(source, pads, match.pad.map(String.init), sink))
    }

    private static func reason(_ source: Element, _ pads: [Pad], _ wanted: String?, _ sink: Element) -> String {
        if let wanted, !pads.contains(where: { $0.name == wanted }) {
            let names = pads.map(\.name).joined(separator: ", ")
            return "\(source.name) has no pad \(wanted)"
                + (names.isEmpty ? ", and no other source pads" : "; it has \(names)")
        }
        let given = mediaTypes(pads.compactMap(\.currentCaps))
        let inputs = sink.pads.filter { $0.direction == .sink }
        // A muxer that accepts none of the streams has no pads, so its templates tell what it accepts.
        let taken = mediaTypes(inputs.isEmpty ? sink.inputTemplates.map(\.caps) : inputs.map { $0.queryCaps() })
        let streams = given.isEmpty ? "no stream" : given.joined(separator: ", ")
        let missing =
            kind(taken).map { kind in
                "there is no \(given.contains { $0.hasPrefix(kind + "/") } ? "other " : "")\(kind) stream"
            } ?? "no stream matches"
        let isOfKind = given.contains { type in kind(taken).map { type.hasPrefix($0 + "/") } ?? false }
        // The stream exists, but it is encoded.
        let lacksDecoder =
            isOfKind && taken.allSatisfy { $0.hasSuffix("/x-raw") } && !given.contains(where: taken.contains)
        let remedy =
            muxerPad(for: pads, sink)
            ?? (isOfKind && sink.isDecoder ? "replace \(sink.name) with decodebin" : nil)
            ?? (lacksDecoder ? "replace \(source.name) with decodebin" : nil)
            ?? (sink.isMuxer && inputs.isEmpty ? "use another muxer, or decode and re-encode the stream" : nil)
        return "\(missing): \(source.name) produces \(streams); \(sink.name) accepts \(FormatConflict.list(taken))"
            + (remedy.map { "; \($0)" } ?? "")
    }

    /// Suggests naming the muxer's pad. A link to a muxer that names no pad gets the first kind of pad that the muxer
    /// has, even through a queue, which accepts anything. Any other kind of stream needs the pad's name.
    private static func muxerPad(for streams: [Pad], _ sink: Element) -> String? {
        guard let input = sink.muxerInput, let muxer = input.parent else { return nil }
        for stream in streams where !stream.isLinked {
            guard let caps = stream.currentCaps, !input.queryCaps().canIntersect(caps),
                let template = muxer.inputTemplates.first(where: {
                    $0.presence == .request && $0.caps.canIntersect(caps)
                })
            else { continue }
            let name = template.name.replacing(/%\w+/, with: "0")
            return "to mux \(mediaTypes([caps]).joined(separator: ", ")), name the muxer's pad: ! \(muxer.name).\(name)"
        }
        return nil
    }

    /// Explains, in one sentence, why a stream that the input has can't be linked without a converter; `nil` if
    /// converting isn't the problem.
    func conflict(behind missing: MissingStream) -> String? {
        guard let source = element(named: missing.source), let sink = element(named: missing.sink) else { return nil }
        for output in source.pads where output.direction == .source && !output.isLinked {
            guard let given = output.currentCaps else { continue }
            for input in sink.pads where input.direction == .sink && input.neighbor == nil {
                let taken = input.queryCaps()
                guard given.mediaTypes.allSatisfy(taken.mediaTypes.contains) else { continue }
                let conflict = FormatConflict(
                    from: given, to: taken, filter: nil, labels: (source.name, sink.name))
                if let conflict { return conflict.text }
            }
        }
        return nil
    }

    private static func mediaTypes(_ caps: [Caps]) -> [String] {
        caps.flatMap(\.mediaTypes).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// `video` or `audio` if all media types are of that kind; otherwise `nil`.
    private static func kind(_ types: [String]) -> String? {
        ["video", "audio"].first { kind in !types.isEmpty && types.allSatisfy { $0.hasPrefix(kind + "/") } }
    }

    /// Ends the branch that waits for the stream, because its sinks and muxers would wait for ever.
    func endBranch(of missing: MissingStream) {
        guard let source = element(named: missing.source), let sink = element(named: missing.sink) else { return }
        let outputs = source.pads.filter { $0.direction == .source }
        // A demuxer fails if none of its pads is linked, and that would end the whole graph.
        if !outputs.contains(where: \.isLinked) { for pad in outputs { pad.discardBuffers() } }
        let inputs = sink.pads.filter { $0.direction == .sink }
        for pad in inputs where pad.neighbor == nil { pad.endBranch() }
        // Without inputs, a muxer would never output anything: end what is downstream of it.
        guard inputs.isEmpty else { return }
        for pad in sink.pads { pad.receiver?.endBranch() }
    }
}

extension Pad {
    /// Sends EOS to the elements downstream of this unlinked sink pad at which the branch ends or joins another one.
    /// The elements in between are skipped: many don't expect EOS before they have a format.
    fileprivate func endBranch() {
        var open = [self]
        var seen: Set<Pad> = []
        while let pad = open.popLast() {
            guard seen.insert(pad).inserted, let element = pad.parent else { continue }
            let next = pad.internalLinks.compactMap(\.receiver)
            let isJoined = element.pads.count { $0.direction == .sink } > 1
            if isJoined, element.isMuxer {
                element.leaveOut(pad)
            } else if isJoined || next.isEmpty || element.isCompositeNode {
                // A sink blocks the thread that sends EOS until the graph is PLAYING, hence the queue.
                DispatchQueue(label: "mediagraph.branch-end").async { pad.sendEmptyStream() }
            } else {
                open += next
            }
        }
    }

    /// The muxer's pad that this source pad's data flows into, through elements with one output; `nil` if there is
    /// none.
    var muxerInput: Pad? {
        var outputs = [self]
        var seen: Set<Pad> = []
        while outputs.count == 1, seen.insert(outputs[0]).inserted,
            let input = outputs[0].neighbor, let receiver = input.parent
        {
            if receiver.isMuxer { return input }
            outputs = receiver.pads.filter { $0.direction == .source }
        }
        return nil
    }

    /// The sink pad that this source pad feeds: an element's, or that of a bin that acts as one element, such as a
    /// muxer or node.
    fileprivate var receiver: Pad? {
        guard let peer, let owner = peer.parent else { return neighbor }
        return owner.isMuxer || owner.isCompositeNode ? peer : neighbor
    }
}

extension Element {
    /// The templates of the element's sink pads.
    var inputTemplates: [PadTemplateInfo] {
        let templates = factoryName.flatMap(ElementFactoryInfo.find)?.padTemplates ?? []
        return templates.filter { $0.direction == .sink }
    }

    /// The muxer's pad that this element's only output flows into; `nil` if there is none.
    fileprivate var muxerInput: Pad? {
        let outputs = pads.filter { $0.direction == .source }
        return outputs.count == 1 ? outputs[0].muxerInput : nil
    }

    /// Removes an input from a muxer before any stream has begun there.
    fileprivate func leaveOut(_ pad: Pad) {
        pad.peer?.unlink(from: pad)
        releasePad(pad)
        // These muxers make a track with each pad, and keep the track when the pad is released. A track without a
        // format makes the file unplayable. Going to READY removes all tracks.
        guard ["mp4mux", "qtmux", "3gppmux", "mj2mux", "ismlmux"].contains(factoryName) else { return }
        guard pads.allSatisfy({ $0.direction == .source || $0.currentCaps == nil }) else {
            postError(
                .processing,
                "the input lacks a stream, and \(factoryName ?? name) can't drop its track once other streams have begun; use "
                    + "matroskamux instead")
            return
        }
        // Locked, so that a graph that is stopping doesn't change the state in between; `syncState` catches up with it.
        setStateLocked(true)
        setState(.ready)
        setStateLocked(false)
        syncState()
    }

    /// Whether the element is a muxer that makes sink pads on request.
    var isMuxer: Bool {
        guard let info = factoryName.flatMap(ElementFactoryInfo.find) else { return false }
        return info.classification.contains("Muxer")
            && info.padTemplates.contains { $0.direction == .sink && $0.presence == .request }
    }

    fileprivate var isCompositeNode: Bool { isBin && factoryName.map(Nodes.factoryNames.contains) ?? false }
}
