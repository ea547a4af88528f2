import CGStreamer

/// Copies a string that GLib allocated, and frees it; `nil` for `NULL`.
package func takeString(_ string: UnsafeMutablePointer<CChar>?) -> String? {
    guard let string else { return nil }
    defer { g_free(string) }
    return String(cString: string)
}

/// An error that GLib reported.
public struct GLibError: Error, Sendable, CustomStringConvertible {
    /// The error domain's name, such as "gst_parse_error".
    public let domain: String
    /// The error's number within its domain.
    public let code: Int
    /// A description for people.
    public let message: String

    /// The message, without domain and code.
    public var description: String { message }

    /// Creates an error that GLib didn't report.
    public init(domain: String, code: Int, message: String) {
        self.domain = domain
        self.code = code
        self.message = message
    }

    package init(copying error: UnsafePointer<GError>) {
        domain = String(cString: g_quark_to_string(error.pointee.domain))
        code = Int(error.pointee.code)
        message = String(cString: error.pointee.message)
    }

    /// Copies `error`, and frees it.
    package init(taking error: UnsafeMutablePointer<GError>) {
        self.init(copying: error)
        g_error_free(error)
    }
}
