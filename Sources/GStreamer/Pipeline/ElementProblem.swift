import CGStreamer

/// Where a message on the bus belongs (`GError` domain and code).
public enum ElementProblem: Sendable, CaseIterable {
    case settings, notNegotiated, wrongFormat, processing, openRead, openWrite, openReadWrite, read, write, notFound,
        busy,
        noSpace, notAuthorized

    /// What an element's error says; `nil` for a kind that isn't listed here.
    public init?(_ error: GLibError) {
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
    /// Posts an error on the bus: the graph ends with it. Any thread. `details` are for programs.
    public func postError(
        _ problem: ElementProblem, _ text: String, debug: String = "", details: Structure? = nil,
        file: StaticString = #fileID, function: StaticString = #function, line: UInt = #line
    ) {
        message(GST_MESSAGE_ERROR, problem, text, debug, details, file, function, line)
    }

    /// Posts a warning on the bus: the graph goes on. Any thread.
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
