import GStreamer

/// Explains in one line why two pads have no common format.
package struct FormatConflict {
    private let message: String
    /// The formats of both sides, as far as they differ.
    private let difference: String
    /// The elements that convert one format to the other; `nil` if no known converter or encoder does.
    private let remedy: String?
    /// The media type that a misspelled one in the filter most likely means.
    private var meantType: String?

    /// Creates the explanation; `nil` if both sides and the filter between them have a common format.
    package init?(from source: Caps, to sink: Caps, filter: Caps?, labels: (source: String, sink: String)) {
        guard let filter else {
            if source.canIntersect(sink) { return nil }
            message = "\(labels.source) can't be linked to \(labels.sink)"
            difference = Self.difference(source, sink, "\(labels.source) produces", "\(labels.sink) accepts")
            remedy = Self.remedy(source, sink)
            return
        }
        let offered = source.intersection(filter)
        if offered.isEmpty {
            message = "\(labels.source) can't produce \(Self.short(filter.description))"
            difference = Self.difference(source, filter, "it produces", "the filter allows")
            remedy = Self.remedy(source, filter)
            meantType = Self.meantType(filter, among: source.mediaTypes)
        } else if !filter.canIntersect(sink) {
            message = "\(labels.sink) can't accept \(Self.short(filter.description))"
            difference = Self.difference(filter, sink, "the filter allows", "it accepts")
            remedy = Self.remedy(filter, sink)
            meantType = Self.meantType(filter, among: sink.mediaTypes)
        } else if !offered.canIntersect(sink) {
            message = "\(labels.source) can't be linked to \(labels.sink) through this filter"
            difference = Self.difference(
                offered, sink, "through it, \(labels.source) produces", "\(labels.sink) accepts")
            remedy = Self.remedy(offered, sink)
        } else {
            return nil
        }
    }

    package var text: String { "\(message): \(hint)" }

    private var hint: String {
        if let meantType { return "did you mean \(meantType)?" }
        return remedy.map { "\(difference); put \($0) between them" } ?? difference
    }

    /// Returns the known media type for a misspelling such as `video/raw` or `Video/x-raw`.
    private static func meantType(_ filter: Caps, among known: [String]) -> String? {
        func plain(_ type: String) -> String { type.lowercased().replacing("/x-", with: "/") }
        guard let written = filter.mediaTypes.first, !known.contains(written) else { return nil }
        return known.first { plain(written) == plain($0) }
    }

    func problem(at range: Range<Int>) -> Problem {
        Problem(place: .expanded(range), message: message, hint: hint, isCertain: false)
    }

    /// Returns a description of both sides: the fields that differ, or the media types if those differ.
    package static func difference(_ a: Caps, _ b: Caps, _ aDoes: String, _ bDoes: String) -> String {
        let conflicts = a.conflicts(with: b)
        guard !conflicts.isEmpty else { return "\(aDoes) \(types(a)); \(bDoes) \(types(b, like: a))" }
        let mine = conflicts.map { "\($0.field)=\(short($0.values))" }.joined(separator: ",")
        let theirs = conflicts.map { "\($0.field)=\(short($0.otherValues))" }.joined(separator: ",")
        return "\(aDoes) \(mine); \(bDoes) \(theirs)"
    }

    /// The element that converts each field of raw media.
    private static let converters: [String: [String: String]] = [
        "video/x-raw": [
            "format": "videoconvert", "colorimetry": "videoconvert", "chroma-site": "videoconvert",
            "width": "videoscale", "height": "videoscale", "pixel-aspect-ratio": "videoscale",
            "framerate": "videorate", "interlace-mode": "deinterlace",
        ],
        "audio/x-raw": [
            "format": "audioconvert", "channels": "audioconvert", "channel-mask": "audioconvert",
            "layout": "audioconvert", "rate": "audioresample",
        ],
    ]

    /// The encoders to suggest for each kind of media, in order of preference.
    private static let encoders = [
        "video": ["x264enc", "vp8enc", "theoraenc", "jpegenc"],
        "audio": ["avenc_aac", "opusenc", "vorbisenc", "lamemp3enc"],
    ]

    /// Returns the encoder that is missing before a muxer, which accepts several types, none of them raw.
    private static func encoder(from given: Caps, to taken: Caps) -> String? {
        guard let kind = encoders.keys.first(where: { given.mediaTypes.contains("\($0)/x-raw") }),
            given.mediaTypes.allSatisfy({ $0.hasPrefix("\(kind)/") }), taken.mediaTypes.count > 1,
            !taken.mediaTypes.contains("\(kind)/x-raw")
        else { return nil }
        return encoders[kind]?.first { name in
            ElementFactoryInfo.find(name)?.padTemplates.contains {
                $0.direction == .source && $0.caps.canIntersect(taken)
            } ?? false
        }
    }

    private static func remedy(_ given: Caps, _ taken: Caps) -> String? {
        if let encoder = encoder(from: given, to: taken) { return encoder }
        guard let type = given.mediaTypes.first, Set(given.mediaTypes + taken.mediaTypes) == [type] else { return nil }
        let conflicts = given.conflicts(with: taken)
        let elements = conflicts.compactMap { converters[type]?[$0.field] }
        guard !elements.isEmpty, elements.count == conflicts.count else { return nil }
        let converts = elements.allSatisfy { name in
            ElementFactoryInfo.find(name)?.padTemplates.contains {
                $0.direction == .source && $0.caps.canIntersect(taken)
            } ?? false
        }
        return converts ? Set(elements).sorted().joined(separator: " ! ") : nil
    }

    /// Returns the media types of `caps`. Those of the same kind as `other` are first, because `list` cuts long lists.
    private static func types(_ caps: Caps, like other: Caps? = nil) -> String {
        let kinds = Set((other?.mediaTypes ?? []).compactMap { $0.split(separator: "/").first })
        let isAlike = { (type: String) in type.split(separator: "/").first.map(kinds.contains) ?? false }
        return list(caps.mediaTypes.filter(isAlike) + caps.mediaTypes.filter { !isAlike($0) })
    }

    /// Returns up to four media types as a list.
    package static func list(_ types: [String]) -> String {
        types.isEmpty ? "nothing" : types.prefix(4).joined(separator: ", ") + (types.count > 4 ? ", …" : "")
    }

    /// Returns caps without type names, cut to 60 characters: those of a demuxer would fill a screen.
    package static func short(_ text: String) -> String {
        let text = text.replacing("(string)", with: "").replacing("(int)", with: "").replacing("(fraction)", with: "")
        return text.count <= 60 ? text : text.prefix(58) + "…"
    }
}
