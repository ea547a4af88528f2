import CGStreamer

/// The metadata, pad templates, properties, actions and messages of an element class, as `gst-inspect-1.0` prints them.
public struct ElementDeclaration: Sendable {
    /// The name in descriptions, such as "rawdatapipe".
    public var factoryName: String
    /// The GType's name, unique in the process, such as "GstRawDataPipe". GStreamer derives default names of elements
    /// from it, such as `rawdatapipe0`.
    public var typeName: String
    /// The element's full name for people, such as "Raw data pipe".
    public var longName: String
    /// GStreamer's classification with slashes, such as "Filter/Effect/Video".
    public var classification: String
    /// One sentence that says what the element does.
    public var summary: String
    /// The element's author.
    public var author: String
    /// The pads that the element has or can have.
    public var padTemplates: [PadTemplate]
    /// The element's own properties, without those of its parent class.
    public var properties: [PropertyDeclaration]
    /// The action signals by which programs make the element do something.
    public var actions: [ActionDeclaration]
    /// The element messages that the element posts on the bus. `gst-inspect-1.0` prints them among the factory's
    /// details.
    public var messages: [MessageDeclaration]
    /// The version of the class's interface to other copies of the code in the process. Increase it for each
    /// incompatible change.
    public var abiVersion: Int

    /// Creates a declaration.
    public init(
        factoryName: String, typeName: String, longName: String, classification: String, summary: String,
        author: String, padTemplates: [PadTemplate], properties: [PropertyDeclaration] = [],
        actions: [ActionDeclaration] = [], messages: [MessageDeclaration] = [], abiVersion: Int
    ) {
        self.factoryName = factoryName
        self.typeName = typeName
        self.longName = longName
        self.classification = classification
        self.summary = summary
        self.author = author
        self.padTemplates = padTemplates
        self.properties = properties
        self.actions = actions
        self.messages = messages
        self.abiVersion = abiVersion
    }
}

/// The template of a pad that an element has or can have.
public struct PadTemplate: Sendable {
    /// When the pad exists.
    public enum Presence: Sendable {
        /// From the element's creation on.
        case always
        /// When the element adds it.
        case sometimes
        /// When another element or the application requests it.
        case request
    }

    /// The template's name: the pad's name, or a pattern such as `video_%s`.
    public var name: String
    /// Whether the pad is a source or a sink.
    public var direction: Pad.Direction
    /// When the pad exists.
    public var presence: Presence
    /// The caps that the pad can have, as text.
    public var caps: String

    /// Creates a template. `caps` must be valid caps.
    public init(_ name: String, _ direction: Pad.Direction, _ presence: Presence = .always, caps: String) {
        self.name = name
        self.direction = direction
        self.presence = presence
        self.caps = caps
    }

    func make() -> UnsafeMutablePointer<GstPadTemplate> {
        guard let caps = Caps(caps) else { preconditionFailure("pad template \(name) has invalid caps: \(self.caps)") }
        let presence = [Presence.always: GST_PAD_ALWAYS, .sometimes: GST_PAD_SOMETIMES, .request: GST_PAD_REQUEST]
        return gst_pad_template_new(
            name, direction == .source ? GST_PAD_SRC : GST_PAD_SINK, presence[self.presence]!, caps.raw)
    }
}

/// The documentation of an element message.
public struct MessageDeclaration: Sendable {
    /// The name of the message's structure.
    public var name: String
    /// One sentence that says when the message is posted.
    public var summary: String
    /// The structure's fields.
    public var fields: [(name: String, type: String, meaning: String)]

    /// Creates a message's documentation.
    public init(_ name: String, _ summary: String, fields: [(name: String, type: String, meaning: String)]) {
        self.name = name
        self.summary = summary
        self.fields = fields
    }

    var documentation: String {
        ([summary] + fields.map { "\($0.name) (\($0.type)): \($0.meaning)" }).joined(separator: "; ")
    }
}
