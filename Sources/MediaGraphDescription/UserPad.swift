import Foundation

/// A kind of pad that is requested by a prefix and a user's name: `video_bob` of a session, `user_bob` of a speaker.
package struct UserPad: Sendable {
    let prefix: String
    /// Whether the user's name must be escaped (``PadName``). If not, the node accepts any text as a name.
    let requiresEscaping: Bool

    package init(prefix: String, requiresEscaping: Bool) {
        self.prefix = prefix
        self.requiresEscaping = requiresEscaping
    }

    /// Returns why a node refuses a pad's name; `nil` if the node accepts it.
    static func problem(of pad: String, by template: String, _ factory: String) -> (message: String, hint: String)? {
        let pads = KnownNodes.node(factory)?.userPads.filter(\.requiresEscaping) ?? []
        guard let prefix = pads.first(where: { template == $0.prefix + "%s" })?.prefix else { return nil }
        let user = String(pad.dropFirst(prefix.count))
        guard pad != template, !user.isEmpty else {
            return ("the pad's name must contain a user's name", "write \(prefix)bob for the user \"bob\"")
        }
        do throws(PadName.UnescapeError) {
            _ = try PadName.unescape(user)
            return nil
        } catch {
            return ("\(error)", corrected(pad) ?? PadName.rule)
        }
    }

    /// Returns what to write for a pad whose user's name isn't escaped; `nil` if the pad doesn't have a user pad's
    /// prefix.
    static func corrected(_ pad: String, after element: String = "") -> String? {
        let prefixes = KnownNodes.all.flatMap { $0.userPads }.map(\.prefix)
        guard let prefix = longest(of: prefixes, in: pad), pad.count > prefix.count else { return nil }
        let text = String(pad.dropFirst(prefix.count))
        func form(of user: String) -> String { "\(element)\(prefix)\(PadName.escape(user)) for the user \"\(user)\"" }
        let forms: [String]
        do throws(PadName.UnescapeError) { forms = [form(of: try PadName.unescape(text))] } catch {
            forms =
                if case .notCanonical(let name) = error, let user = try? PadName.unescape(name) {
                    // `bob_6d` is meant as the name of a user far more often than as an escaped `bobm`.
                    [form(of: text), form(of: user)]
                } else {
                    // The name may be escaped as in a URL.
                    [form(of: text.removingPercentEncoding ?? text)]
                }
        }
        return "write \(forms.joined(separator: ", or ")): \(PadName.rule)"
    }

    /// Returns the user whose name a pad's name contains; `nil` for any other pad.
    package static func user(of pad: String, among pads: [UserPad]) -> String? {
        longest(of: pads.map(\.prefix), in: pad).flatMap { try? PadName.unescape(String(pad.dropFirst($0.count))) }
    }

    private static func longest(of prefixes: [String], in pad: String) -> String? {
        prefixes.filter { pad.hasPrefix($0) }.max { $0.count < $1.count }
    }
}
