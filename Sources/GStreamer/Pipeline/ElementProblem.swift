import CGStreamer

/// The kind of an error or a warning on the bus (domain and code of the `GError`).
public enum ElementProblem: Sendable, CaseIterable {
    /// A setting is missing or wrong.
    case settings
    /// Elements found no common format.
    case notNegotiated
    /// The stream has another format than expected.
    case wrongFormat
    /// Processing the stream failed.
    case processing
    /// A resource couldn't be opened for reading, for writing, or for both.
    case openRead, openWrite, openReadWrite
    /// Reading from a resource, or writing to it, failed.
    case read, write
    /// A resource doesn't exist.
    case notFound
    /// A resource is in use.
    case busy
    /// A resource has no space left.
    case noSpace
    /// Access to a resource was denied.
    case notAuthorized

    /// Returns the kind of an error; `nil` for a kind that isn't listed here.
    package init?(_ error: GLibError) {
        let match = Self.allCases.first { problem in
            let (domain, code) = problem.domainAndCode
            return Int(code) == error.code && String(cString: g_quark_to_string(domain)) == error.domain
        }
        guard let match else { return nil }
        self = match
    }

    var domainAndCode: (GQuark, UInt32) {
        switch self {
        case .settings: (gst_library_error_quark(), GST_LIBRARY_ERROR_SETTINGS.rawValue)
        case .notNegotiated: (gst_core_error_quark(), GST_CORE_ERROR_NEGOTIATION.rawValue)
        case .wrongFormat: (gst_stream_error_quark(), GST_STREAM_ERROR_FORMAT.rawValue)
        case .processing: (gst_stream_error_quark(), GST_STREAM_ERROR_FAILED.rawValue)
        case .openRead: (gst_resource_error_quark(), GST_RESOURCE_ERROR_OPEN_READ.rawValue)
        case .openWrite: (gst_resource_error_quark(), GST_RESOURCE_ERROR_OPEN_WRITE.rawValue)
        case .openReadWrite: (gst_resource_error_quark(), GST_RESOURCE_ERROR_OPEN_READ_WRITE.rawValue)
        case .read: (gst_resource_error_quark(), GST_RESOURCE_ERROR_READ.rawValue)
        case .write: (gst_resource_error_quark(), GST_RESOURCE_ERROR_WRITE.rawValue)
        case .notFound: (gst_resource_error_quark(), GST_RESOURCE_ERROR_NOT_FOUND.rawValue)
        case .busy: (gst_resource_error_quark(), GST_RESOURCE_ERROR_BUSY.rawValue)
        case .notAuthorized: (gst_resource_error_quark(), GST_RESOURCE_ERROR_NOT_AUTHORIZED.rawValue)
        case .noSpace: (gst_resource_error_quark(), GST_RESOURCE_ERROR_NO_SPACE_LEFT.rawValue)
        }
    }
}

extension Element {
    /// Posts an error on the bus, which ends the graph. May be called from any thread.
    ///
    /// `text` tells users what happened, `debug` is for developers, and `details` are for programs. The message also
    /// names the place in the source code: `file`, `function` and `line`.
    public func postError(
        _ problem: ElementProblem, _ text: String, debug: String = "", details: Structure? = nil,
        file: StaticString = #fileID, function: StaticString = #function, line: UInt = #line
    ) {
        message(GST_MESSAGE_ERROR, problem, text, debug, details, file, function, line)
    }

    /// Posts a warning on the bus; the graph continues. May be called from any thread.
    ///
    /// The parameters are those of ``postError(_:_:debug:details:file:function:line:)``.
    public func postWarning(
        _ problem: ElementProblem, _ text: String, debug: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line
    ) {
        message(GST_MESSAGE_WARNING, problem, text, debug, nil, file, function, line)
    }

    private func message(
        _ type: GstMessageType, _ problem: ElementProblem, _ text: String, _ debug: String, _ details: Structure?,
        _ file: StaticString, _ function: StaticString, _ line: UInt
    ) {
        let (domain, code) = problem.domainAndCode
        gst_element_message_full_with_details(
            element, type, domain, Int32(code), g_strdup(text), debug.isEmpty ? nil : g_strdup(debug),
            "\(file)", "\(function)", Int32(line), details.map { gst_structure_copy($0.raw) })
    }
}
