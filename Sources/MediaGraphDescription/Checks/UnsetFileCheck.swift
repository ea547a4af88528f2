import GStreamer

/// Finds elements that can't start without a file name or a URI, and an `appsink` that nothing reads. The check is only
/// for descriptions that are a whole graph: a program may set the property, or read the `appsink`.
enum UnsetFileCheck {
    private static let required: [String: (property: String, example: String)] = [
        "filesrc": ("location", "FILE"), "filesink": ("location", "FILE"), "giosrc": ("location", "URI"),
        "giosink": ("location", "URI"), "souphttpsrc": ("location", "URI"), "curlhttpsrc": ("location", "URI"),
        "imagesequencesrc": ("location", "frame-%05d.png"), "splitmuxsink": ("location", "part-%02d.mp4"),
        "splitmuxsrc": ("location", "part-*.mp4"), "uridecodebin": ("uri", "file:///…"),
        "uridecodebin3": ("uri", "file:///…"), "urisourcebin": ("uri", "file:///…"), "playbin": ("uri", "file:///…"),
        "playbin3": ("uri", "file:///…"),
    ]
    /// The properties with which a `splitmuxsink` writes to another sink than a file.
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
            effect = "the graph stalls once max-buffers=\(limit) is reached"
        } else if limit == nil {
            effect = "they fill the memory" + (waits ? ", and the graph never ends" : "")
        } else {
            guard waits else { return nil }
            effect = "the graph never ends, since appsink waits until they are read"
        }
        return Problem(
            place: .expanded(context.parsed.elements[index].range), severity: .warning,
            message: "nothing reads the samples of \(context.label(index)): \(effect)",
            hint: "read them in your program, or use fakesink to discard them")
    }
}
