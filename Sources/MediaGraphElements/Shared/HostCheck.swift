import GStreamer
import Glibc
import MediaGraphCore
import MediaGraphDescription

/// Warns about host names of `udpsink` and `multiudpsink` that can't be resolved: these elements would send nothing
/// there, without an error. Other elements report the error themselves.
struct HostCheck: DescriptionCheck {
    /// For all names together. Resolving a name may query a server.
    private static let timeLimit = Duration.seconds(2)

    /// Resolves a host name. Returns `nil` on success, otherwise the reason of the failure.
    var lookUp: @Sendable (String) -> String? = Self.failure

    func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        let hosts = elements.filter { ["udpsink", "multiudpsink"].contains($0.factory) }.flatMap { element in
            ["host", "clients"].compactMap(element.property).flatMap { property in
                Self.hosts(property.name, property.value ?? "").map { (property, $0) }
            }
        }
        let calls = Set(hosts.map(\.1)).map { [lookUp] name in (name, DeviceCall { lookUp(name) }) }
        let end = ContinuousClock.now + Self.timeLimit
        var failures: [String: String] = [:]
        for (name, call) in calls {
            failures[name] = call.answer(within: end - .now) ?? .some("no name server answered")
        }
        return hosts.compactMap { host, name in
            failures[name].map { failure in
                host.diagnostic(
                    "can't resolve the host name \"\(name)\": \(failure)",
                    hint: "check the name, or write its IP address: \(Self.example(of: host.name))", severity: .warning)
            }
        }
    }

    /// The host names in a property's value. `clients` is a list such as `a.example:5004,b.example:5004`.
    private static func hosts(_ property: String, _ value: String) -> [String] {
        let names: [Substring] =
            switch property {
            case "host": [value[...]]
            case "clients": value.split(separator: ",").map { $0.prefix { $0 != ":" } }
            default: []
            }
        return names.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// An address as the property takes it.
    private static func example(of property: String) -> String {
        property == "clients" ? "clients=192.168.1.5:5004" : "host=192.168.1.5"
    }

    private static let failure: @Sendable (String) -> String? = { name in
        var list: UnsafeMutablePointer<addrinfo>?
        defer { if let list { freeaddrinfo(list) } }
        let code = getaddrinfo(name, nil, nil, &list)
        return code == 0 ? nil : String(cString: gai_strerror(code))
    }
}
