import CGStreamerSDP

/// RTP header extensions (RFC 8285). `webrtcbin` 1.22 omits extensions that it doesn't know from its answers.
extension SessionDescription {
    /// The IDs that the m-lines give to the extension with this URI, by the numbers of the m-lines.
    package func extensionIDs(_ uri: String) -> [Int: UInt8] {
        var ids: [Int: UInt8] = [:]
        withMedia { mLine, media in
            for index in 0..<gst_sdp_media_attributes_len(media) {
                let attribute = gst_sdp_media_get_attribute(media, index).pointee
                guard attribute.key.map({ String(cString: $0) }) == "extmap", let value = attribute.value else {
                    continue
                }
                // A direction may follow the ID, and attributes may follow the URI.
                let words = String(cString: value).split(separator: " ")
                guard words.count > 1, words[1] == uri,
                    let id = words[0].split(separator: "/").first.flatMap({ UInt8($0) }),
                    Self.oneByteIDs.contains(id)
                else { continue }
                ids[mLine] = id
            }
        }
        return ids
    }

    /// The IDs that the one-byte header allows.
    private static let oneByteIDs: ClosedRange<UInt8> = 1...14

    /// The description with an extension in these m-lines, unless they have it.
    package func adding(extension uri: String, _ ids: [Int: UInt8]) -> SessionDescription {
        let known = extensionIDs(uri)
        let text = withMedia { mLine, media in
            if let id = ids[mLine], known[mLine] == nil { gst_sdp_media_add_attribute(media, "extmap", "\(id) \(uri)") }
        }
        return text.map { SessionDescription(type, sdp: $0) } ?? self
    }

    /// Calls `body` for each m-line. Returns the description as `body` has changed it; `nil` if it can't be read.
    @discardableResult
    private func withMedia(_ body: (Int, UnsafeMutablePointer<GstSDPMedia>) -> Void) -> String? {
        var message: UnsafeMutablePointer<GstSDPMessage>?
        guard gst_sdp_message_new_from_text(sdp, &message) == GST_SDP_OK, let message else { return nil }
        defer { gst_sdp_message_free(message) }
        for mLine in 0..<gst_sdp_message_medias_len(message) {
            if let media = gst_sdp_message_get_media(message, mLine) {
                body(Int(mLine), UnsafeMutablePointer(mutating: media))
            }
        }
        guard let text = gst_sdp_message_as_text(message) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }
}
