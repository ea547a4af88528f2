import Foundation

/// Pads that are asked for by a user's name: `video_bob` of a session, `user_bob` of a speaker.
enum UserPad {
    private static let sessionPrefixes = StreamKind.allCases.map(\.outputPrefix)

    /// Why a session refuses a pad; `nil` for those of other elements: a speaker takes any name.
    static func problem(of pad: String, by template: String, _ factory: String) -> (message: String, hint: String)? {
        guard factory == MediaSessionElement.declaration.factoryName,
            let prefix = sessionPrefixes.first(where: { template == $0 + "%s" })
        else { return nil }
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

    /// Whose stream a session's pad gives; `nil` for another's.
    static func user(of pad: String) -> String? {
        let prefix = sessionPrefixes.filter { pad.hasPrefix($0) }.max { $0.count < $1.count }
        return prefix.flatMap { try? PadName.unescape(String(pad.dropFirst($0.count))) }
    }

    /// What to write for a pad whose user's name isn't escaped; `nil` where it isn't known to be a user's.
    static func corrected(_ pad: String, after element: String = "") -> String? {
        let prefix = (sessionPrefixes + ["user_"]).filter { pad.hasPrefix($0) }.max { $0.count < $1.count }
        guard let prefix, pad.count > prefix.count else { return nil }
        let text = String(pad.dropFirst(prefix.count))
        let user: String
        do throws(PadName.UnescapeError) { user = try PadName.unescape(text) } catch {
            // As URLs have it.
            user =
                if case .notCanonical(let name) = error {
                    (try? PadName.unescape(name)) ?? text
                } else {
                    text.removingPercentEncoding ?? text
                }
        }
        return "write \(element)\(prefix)\(PadName.escape(user)) for the user \"\(user)\": \(PadName.rule)"
    }
}
