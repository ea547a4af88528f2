import CGStreamer

/// What GStreamer is told about an element class: everything that `gst-inspect-1.0` prints.
public struct ElementDeclaration: Sendable {
    /// The name in descriptions, such as "rawdatapipe".
    public var factoryName: String
    /// The GType's name, unique in the process, such as "GstRawDataPipe": GStreamer makes the default name `rawdatapipe0` of it.
    public var typeName: String
    public var longName: String
    /// GStreamer's slash-separated class, such as "Filter/Effect/Video".
    public var classification: String
    public var summary: String
    public var author: String
    public var padTemplates: [PadTemplate]
    public var properties: [PropertyDeclaration]
    /// The element messages that it posts on the bus, printed by `gst-inspect-1.0` among the factory's details.
    public var messages: [MessageDeclaration]
    /// Counts incompatible changes of this class as seen by another copy of the code in the same process.
    public var abiVersion: Int

    public init(
        factoryName: String, typeName: String, longName: String, classification: String, summary: String,
        author: String, padTemplates: [PadTemplate], properties: [PropertyDeclaration] = [],
        messages: [MessageDeclaration] = [], abiVersion: Int
    ) {
        self.factoryName = factoryName
        self.typeName = typeName
        self.longName = longName
        self.classification = classification
        self.summary = summary
        self.author = author
        self.padTemplates = padTemplates
        self.properties = properties
        self.messages = messages
        self.abiVersion = abiVersion
    }
}

/// One pad that an element has or can have.
public struct PadTemplate: Sendable {
    public enum Presence: Sendable { case always, sometimes, request }

    public var name: String
    public var direction: Pad.Direction
    public var presence: Presence
    /// Caps as text.
    public var caps: String

    public init(_ name: String, _ direction: Pad.Direction, _ presence: Presence = .always, caps: String) {
        self.name = name
        self.direction = direction
        self.presence = presence
        self.caps = caps
    }

    func make() -> UnsafeMutablePointer<GstPadTemplate> {
        guard let caps = Caps(caps) else { preconditionFailure("pad template \(name): not caps: \(self.caps)") }
        let presence = [Presence.always: GST_PAD_ALWAYS, .sometimes: GST_PAD_SOMETIMES, .request: GST_PAD_REQUEST]
        return gst_pad_template_new(
            name, direction == .source ? GST_PAD_SRC : GST_PAD_SINK, presence[self.presence]!, caps.raw)
    }
}

/// An element message: its structure's name, and each field with its type and meaning.
public struct MessageDeclaration: Sendable {
    public var name: String
    public var summary: String
    public var fields: [(name: String, type: String, meaning: String)]

    public init(_ name: String, _ summary: String, fields: [(name: String, type: String, meaning: String)]) {
        self.name = name
        self.summary = summary
        self.fields = fields
    }

    var documentation: String {
        ([summary] + fields.map { "\($0.name) (\($0.type)): \($0.meaning)" }).joined(separator: "; ")
    }
}
