import GStreamer
import Glibc
import MediaGraphCore
import MediaGraphDescription

/// Warns about a host name of `udpsink` that can't be resolved: `udpsink` would send nothing, without an error. Other
/// elements report the error themselves.
struct HostCheck: DescriptionCheck {
    /// For all names together. Resolving a name may query a server.
    private static let timeLimit = Duration.seconds(2)

    /// Resolves a host name. Returns `nil` on success, otherwise the reason of the failure.
    var lookUp: @Sendable (String) -> String? = Self.failure

    func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        let hosts = elements.compactMap { element in
            element.factory == "udpsink"
                ? element.property("host").flatMap { host in host.value.map { (host, $0) } } : nil
        }.filter { !$0.1.isEmpty }
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
                    hint: "check the name, or write its IP address: host=192.168.1.5", severity: .warning)
            }
        }
    }

    private static let failure: @Sendable (String) -> String? = { name in
        var list: UnsafeMutablePointer<addrinfo>?
        defer { if let list { freeaddrinfo(list) } }
        let code = getaddrinfo(name, nil, nil, &list)
        return code == 0 ? nil : String(cString: gai_strerror(code))
    }
}
