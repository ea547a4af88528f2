import CMediaGraphABI

extension MediaGraphError {
    /// Writes the error to a C caller's structure; does nothing if the caller passed `NULL`.
    package func store(in target: UnsafeMutablePointer<MGError>?) {
        guard let target else { return }
        target.pointee = MGError(
            code: code.rawValue, subject: g_strdup(detail.subject), expected: g_strdup(detail.expected),
            actual: g_strdup(detail.actual))
    }

    /// Takes over an error that another copy of the code wrote, and frees its strings.
    @usableFromInline package init(taking error: MGError) {
        func take(_ string: UnsafeMutablePointer<CChar>?) -> String {
            guard let string else { return "" }
            defer { g_free(string) }
            return String(cString: string)
        }
        let detail = Detail(take(error.subject), expected: take(error.expected), actual: take(error.actual))
        self = Code(rawValue: error.code).map { MediaGraphError($0, detail) } ?? .internalError(detail)
    }

    /// Runs a source's method for a C caller. Returns 1, or 0 with the error stored.
    static func answer(_ error: UnsafeMutablePointer<MGError>?, _ body: () throws -> Void) -> Int32 {
        do {
            try body()
            return 1
        } catch let thrown {
            wrapping(thrown, "the source").store(in: error)
            return 0
        }
    }

    /// Runs a method of a handler that receives media, for a C caller. Returns `MG_PASS`, or `MG_FAILED` with the error
    /// stored; `subject` names the origin of an error that isn't a `MediaGraphError`.
    @inline(__always)
    static func status(
        _ error: UnsafeMutablePointer<MGError>?, _ subject: String, _ body: () throws -> Void
    ) -> Int32 {
        do {
            try body()
            return MG_PASS
        } catch let thrown {
            wrapping(thrown, subject).store(in: error)
            return MG_FAILED
        }
    }

    /// Calls a C function that returns 0 and fills in the error when it fails, and throws that error.
    package static func check(_ body: (UnsafeMutablePointer<MGError>) -> Int32) throws(MediaGraphError) {
        var error = MGError()
        guard body(&error) != 0 else { throw MediaGraphError(taking: error) }
    }
}

/// Writes a name into one of the ABI's fixed-size arrays, truncated to fit.
package func storeName<Array>(_ text: String, in array: inout Array) {
    withUnsafeMutableBytes(of: &array) { bytes in
        let utf8 = text.utf8.prefix(bytes.count - 1)
        bytes.copyBytes(from: utf8)
        bytes[utf8.count] = 0
    }
}

/// Reads a name that `storeName` wrote.
package func loadName<Array>(_ array: Array) -> String {
    withUnsafeBytes(of: array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
