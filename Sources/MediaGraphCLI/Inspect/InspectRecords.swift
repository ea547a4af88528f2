import GStreamer
import MediaGraph

/// An element as `inspect` shows it, from the metadata of its class.
struct ElementRecord: Codable, Equatable {
    struct Pad: Codable, Equatable {
        var name: String
        var direction: String
        /// `always`, `sometimes` or `request`.
        var presence: String
        var caps: String
    }

    struct Choice: Codable, Equatable {
        var nick: String
        var meaning: String
    }

    struct Property: Codable, Equatable {
        var name: String
        var type: String
        var meaning: String
        /// `nil` if there is none, or if it can't be written as text.
        var defaultValue: String?
        var minimum: String?
        var maximum: String?
        /// The values of an enumeration or of flags; otherwise `nil`.
        var choices: [Choice]?
        var isReadable: Bool
        var isWritable: Bool
        /// Whether the class says that the property can't be set while the graph runs.
        var isLockedWhileRunning: Bool
        var isDeprecated: Bool
        /// The class that declares an inherited property; `nil` if the element's own class does.
        var inheritedFrom: String?
    }

    /// An action signal or an element message.
    struct Signal: Codable, Equatable {
        var name: String
        var meaning: String
    }

    var kind = "element"
    var name: String
    var longName: String
    var summary: String
    var classification: String
    var author: String
    var plugin: String?
    var pads: [Pad]
    var properties: [Property]
    var actions: [Signal]
    var messages: [Signal]
    /// The handlers that a node of MediaGraph can run; `nil` for other elements.
    var handlers: [HandlerRecord]?
}

/// A handler as `inspect` shows it.
struct HandlerRecord: Codable, Equatable {
    struct Option: Codable, Equatable {
        var name: String
        /// Empty if the option is required.
        var defaultValue: String
        var meaning: String
        var example: String?
    }

    var kind = "handler"
    var name: String
    /// The node that runs it.
    var node: String
    var summary: String
    /// The library that provides the handler; `nil` if it is built in.
    var library: String?
    var options: [Option]

    init(_ entry: HandlerRegistry.Entry) {
        name = entry.name
        node = entry.kind.node
        summary = entry.summary
        library = entry.library
        options = entry.options.map {
            Option(
                name: $0.name, defaultValue: $0.defaultValue, meaning: $0.meaning,
                example: $0.example.isEmpty ? nil : $0.example)
        }
    }

    static func all(of kind: HandlerRegistry.Kind) -> [HandlerRecord] {
        HandlerRegistry.shared.handlers(kind).map(HandlerRecord.init)
    }
}

extension ElementRecord {
    init(_ info: ElementFactoryInfo) {
        name = info.name
        longName = info.longName
        summary = info.summary
        classification = info.classification
        author = info.author
        plugin = info.pluginName
        pads = info.padTemplates.map { pad in
            Pad(
                name: pad.name, direction: pad.direction == .source ? "source" : pad.direction.rawValue,
                presence: pad.presence.rawValue, caps: pad.caps.description)
        }
        // `parent` is the bin that contains the element; users don't set it.
        properties = info.properties.filter { $0.name != "parent" }.map { property in
            var record = Property(property)
            if property.declaringTypeName != info.typeName { record.inheritedFrom = property.declaringTypeName }
            return record
        }
        actions = info.actions.map { Signal(name: $0.name, meaning: $0.text) }
        messages = info.messages.map { Signal(name: $0.name, meaning: $0.text) }
        let own = HandlerRegistry.shared.handlers(of: info.name)
        handlers = own.isEmpty ? nil : own.map(HandlerRecord.init)
    }
}

extension ElementRecord.Property {
    init(_ property: PropertyInfo) {
        name = property.name
        meaning = property.blurb
        defaultValue = property.defaultText
        (minimum, maximum) = (property.range?.minimum, property.range?.maximum)
        isReadable = property.isReadable
        isWritable = property.isWritable
        isLockedWhileRunning = property.isLockedWhileRunning
        isDeprecated = property.isDeprecated
        switch property.kind {
        case .enumeration(let values), .flags(let values):
            choices = values.map { .init(nick: $0.nick, meaning: $0.meaning) }
        default: choices = nil
        }
        type =
            switch property.kind {
            case .boolean: "boolean"
            case .integer: "integer"
            case .number: "number"
            case .string: "string"
            case .fraction: "fraction"
            case .caps: "caps"
            case .structure: "structure"
            case .array: "array"
            case .enumeration: "enumeration"
            case .flags: "flags"
            case .element: "element"
            case .other: property.typeName
            }
    }
}
