import GStreamer
import MediaGraph

/// A command to a running graph, written in one line.
enum ControlCommand: Equatable {
    case set(node: String, property: String, value: String)
    case get(node: String, property: String)
    /// Sends a command to a user in a session's room or, if `user` is `nil`, to everybody else there.
    case send(node: String, user: String?, text: String)
    case help
    /// Ends the streams, as Ctrl-C does.
    case quit

    static let quitWord = "quit"
    static let sendWord = "send"

    static let usage = """
        set NODE.PROPERTY=VALUE   sets a property, with a value as in a description:
                                  set call.mic-muted=true mutes a session's microphone
        get NODE.PROPERTY         shows the value of a property
        send NODE.USER TEXT       sends a command to another user in a session's room
        send NODE TEXT            sends a command to all other users there
        help                      shows this list
        quit                      ends the streams, then the run, like Ctrl-C
        """

    /// Parses a line. Returns `nil` for an empty line or a comment, which begins with `#`.
    init?(_ line: String) throws(ControlError) {
        let text = line.drop { $0.isWhitespace }
        guard let end = text.firstIndex(where: \.isWhitespace) ?? Optional(text.endIndex), !text.isEmpty,
            !text.hasPrefix("#")
        else { return nil }
        let rest = Self.trimmed(text[end...])
        switch text[..<end] {
        case "set":
            guard let equals = rest.firstIndex(of: "=") else { throw .syntax("set NODE.PROPERTY=VALUE") }
            let (node, property) = try Self.target(Self.trimmed(rest[..<equals]), "set NODE.PROPERTY=VALUE")
            let value = Self.trimmed(rest[rest.index(after: equals)...])
            self = .set(node: node, property: property, value: String(value))
        case "get":
            let (node, property) = try Self.target(rest, "get NODE.PROPERTY")
            self = .get(node: node, property: property)
        case Substring(Self.sendWord): self = try Self.sending(rest)
        case "help": self = .help
        case Substring(Self.quitWord): self = .quit
        case let word:
            let known = ["set", "get", Self.sendWord, "help", Self.quitWord]
            throw .unknown(String(word), nearest: NearestName.find(String(word), among: known))
        }
    }

    private static func target(_ text: Substring, _ usage: String) throws(ControlError) -> (String, String) {
        // The name of a node may contain dots; the name of a property can't.
        guard let dot = text.lastIndex(of: "."), dot != text.startIndex, text.index(after: dot) != text.endIndex,
            !text.contains(where: \.isWhitespace)
        else { throw .syntax(usage) }
        return (String(text[..<dot]), String(text[text.index(after: dot)...]))
    }

    /// Parses `NODE.USER TEXT` or `NODE TEXT`. A user's name with dots or spaces is written as in a pad's name.
    private static func sending(_ text: Substring) throws(ControlError) -> ControlCommand {
        guard let end = text.firstIndex(where: \.isWhitespace) else { throw .syntax(sendUsage) }
        let (target, text) = (text[..<end], String(trimmed(text[end...])))
        guard let dot = target.lastIndex(of: ".") else { return .send(node: String(target), user: nil, text: text) }
        let name = String(target[target.index(after: dot)...])
        guard !name.isEmpty else { throw .syntax(sendUsage) }
        return .send(node: String(target[..<dot]), user: (try? PadName.unescape(name)) ?? name, text: text)
    }

    private static let sendUsage = "send NODE.USER TEXT or send NODE TEXT"

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}

/// The reason why a command was refused.
enum ControlError: Error, Equatable, CustomStringConvertible {
    case unknown(String, nearest: String?)
    case syntax(String)
    case refused(String)

    var description: String {
        switch self {
        case .unknown(let word, let nearest):
            "no command \"\(word)\""
                + (nearest.map { "; did you mean \"\($0)\"?" } ?? "; try set, get, send, help or quit")
        case .syntax(let usage): "expected \(usage)"
        case .refused(let reason): reason
        }
    }
}

extension ControlCommand {
    /// Performs the command, blocking the calling thread if an element is slow. For `quit`, the caller ends the run.
    /// `files` are those that the program itself uses.
    func apply(to graph: Graph, besides files: [FileUse] = []) throws(ControlError) -> ControlReply {
        switch self {
        case .help: return ControlReply(command: "help")
        case .quit: return ControlReply(command: Self.quitWord)
        case .send(let node, let user, let text):
            let element = try Self.element(node, of: graph)
            guard element.sendsCommands else {
                throw .refused("\(node) isn't a mediasession, so it can't send commands")
            }
            do throws(MediaGraphError) { try element.send(.text(text), to: user) } catch { throw .refused("\(error)") }
            return ControlReply(command: Self.sendWord, node: node, user: user)
        case .get(let node, let property):
            return try Self.reply("get", node, property, of: Self.element(node, of: graph))
        case .set(let node, let property, let value):
            let element = try Self.element(node, of: graph)
            let conflict = graph.fileConflict(setting: property, of: element, to: value, besides: files)
            if let conflict { throw .refused(conflict) }
            try Self.set(property, of: element, to: value)
            return try Self.reply("set", node, property, of: element)
        }
    }

    private static func element(_ name: String, of graph: Graph) throws(ControlError) -> Element {
        do { return try graph.element(name) } catch {
            guard case .noSuchNode(_, let known) = error, let nearest = NearestName.find(name, among: known) else {
                throw .refused("\(error)")
            }
            throw .refused("no element is named \"\(name)\"; did you mean \"\(nearest)\"?")
        }
    }

    /// Returns a reply with the property's current value.
    private static func reply(
        _ command: String, _ node: String, _ property: String, of element: Element
    ) throws(ControlError) -> ControlReply {
        var reply = ControlReply(command: command, node: node, property: property)
        let kind = element.factoryName.flatMap(ElementFactoryInfo.find)?.property(property)?.kind
        if kind == .structure, let structure = try? element.property(property, as: Structure.self) {
            reply.fields = JSONValue.fields(of: structure)
            return reply
        }
        do { reply.value = try element.propertyText(property) } catch { throw refusal(error, element) }
        return reply
    }

    private static func set(_ property: String, of element: Element, to value: String) throws(ControlError) {
        guard property != "name" else { throw .refused("\(element.name) can't be renamed while it is in a graph") }
        // MediaGraph's nodes refuse by themselves; a stock element only prints a warning, or its behavior is
        // undefined.
        if let info = element.factoryName.flatMap(ElementFactoryInfo.find)?.property(property),
            info.isConstructOnly || (info.isLockedWhileRunning && element.state >= .paused)
        {
            throw .refused("\(element.name)'s property \(property) is locked while the element is running")
        }
        if property == "location", ["filesink", "filesrc"].contains(element.factoryName), element.state > .null {
            throw .refused("\(element.name)'s location can't change while its file is open")
        }
        do { try element.setPropertyQuietly(property, parsing: value) } catch { throw refusal(error, element) }
    }

    private static func refusal(_ error: PropertyError, _ element: Element) -> ControlError {
        guard case .noSuchProperty(_, let property) = error,
            let info = element.factoryName.flatMap(ElementFactoryInfo.find)
        else { return .refused("\(error)") }
        let nearest = NearestName.find(property, among: info.properties.map(\.name))
        let hint = nearest.map { "did you mean \"\($0)\"?" } ?? "mediagraph inspect \(info.name) lists them"
        return .refused("\(error); \(hint)")
    }
}
