import GStreamer

/// The JSON form of a structure's field: numbers and Booleans as such, structures as objects, other values as GStreamer's
/// text.
enum JSONValue: Encodable, Sendable, Equatable, CustomStringConvertible {
    case truth(Bool)
    case signed(Int64)
    case unsigned(UInt64)
    case number(Double)
    case text(String)
    case fields([String: JSONValue])

    init(_ field: String, of structure: Structure) {
        if let value = structure[field, as: Bool.self] {
            self = .truth(value)
        } else if let value = structure[field, as: Int64.self] ?? structure[field, as: Int32.self].map(Int64.init) {
            self = .signed(value)
        } else if let value = structure[field, as: UInt64.self] ?? structure[field, as: UInt32.self].map(UInt64.init) {
            self = .unsigned(value)
        } else if let value = structure[field, as: Double.self], value.isFinite {
            self = .number(value)
        } else if let value = structure[field, as: Structure.self] {
            self = .fields(Self.fields(of: value))
        } else {
            self = .text(structure.text(field) ?? "")
        }
    }

    static func fields(of structure: Structure) -> [String: JSONValue] {
        Dictionary(structure.fieldNames.map { ($0, JSONValue($0, of: structure)) }) { first, _ in first }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .truth(let value): try container.encode(value)
        case .signed(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .fields(let fields): try container.encode(fields)
        }
    }

    var description: String {
        switch self {
        case .truth(let value): "\(value)"
        case .signed(let value): "\(value)"
        case .unsigned(let value): "\(value)"
        case .number(let value): "\(value)"
        case .text(let value): value
        case .fields(let fields):
            "{" + fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ") + "}"
        }
    }
}
