import GStreamer

/// Elements that can't start without the name of a file or a URI, and an `appsink` that nobody reads. Only for a description to
/// which nobody adds anything later: a program may set the one and read the other.
enum UnsetFileCheck {
    private static let required: [String: (property: String, example: String)] = [
        "filesrc": ("location", "FILE"), "filesink": ("location", "FILE"), "giosrc": ("location", "URI"),
        "giosink": ("location", "URI"), "souphttpsrc": ("location", "URI"), "curlhttpsrc": ("location", "URI"),
        "imagesequencesrc": ("location", "frame-%05d.png"), "splitmuxsink": ("location", "part-%02d.mp4"),
        "splitmuxsrc": ("location", "part-*.mp4"), "uridecodebin": ("uri", "file:///…"),
        "uridecodebin3": ("uri", "file:///…"), "urisourcebin": ("uri", "file:///…"), "playbin": ("uri", "file:///…"),
        "playbin3": ("uri", "file:///…"),
    ]
    /// A `splitmuxsink` with one of these has another place for its data.
    private static let ownSinks: Set = ["sink", "sink-factory"]

    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.sorted { $0.key < $1.key }.compactMap { index, factory in
            let set = Set(context.parsed.elements[index].properties.map { $0.name.replacing("_", with: "-") })
            if factory.name == "appsink" { return unreadSink(index, context) }
            guard let (property, example) = required[factory.name], !set.contains(property),
                factory.name != "splitmuxsink" || set.isDisjoint(with: ownSinks)
            else { return nil }
            return Problem(
                place: .expanded(context.parsed.elements[index].range),
                message: "\(context.label(index)) has no \(property), and can't start without one",
                hint: "write \(factory.name) \(property)=\(example)")
        }
    }

    private static func unreadSink(_ index: Int, _ context: CheckContext) -> Problem? {
        func value(_ name: String) -> String? {
            context.parsed.elements[index].properties.last { $0.name == name }?.value
        }
        let limit = value("max-buffers").flatMap { $0 == "0" ? nil : $0 }
        let waits = !context.sets("wait-on-eos", to: false, on: index)
        let effect: String
        if let limit, !context.sets("drop", to: true, on: index) {
            effect = "the graph stalls once it holds \(limit)"
        } else if limit == nil {
            effect = "they fill the memory" + (waits ? ", and the graph never ends" : "")
        } else {
            guard waits else { return nil }
            effect = "the graph never ends, since appsink waits until they are taken"
        }
        return Problem(
            place: .expanded(context.parsed.elements[index].range), severity: .warning,
            message: "nobody takes the samples of \(context.label(index)): \(effect)",
            hint: "read them in your program, or use fakesink to discard them")
    }
}
