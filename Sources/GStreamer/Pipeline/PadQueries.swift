import CGStreamer

/// Custom queries from a node to nodes downstream. Stock elements forward them.
extension Pad {
    /// Answers the custom query named `question` when it arrives at this sink pad. `body` runs on the thread that sends
    /// the query, and returns the fields of the answer.
    package func answer(_ question: String, _ body: @escaping @Sendable () -> [(String, any ValueConvertible)]) {
        addProbe(
            GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, GST_PAD_PROBE_TYPE_PUSH, holding: Answer(question, body)
        ) { _, info, context in
            let answer = Unmanaged<Answer>.fromOpaque(context!).takeUnretainedValue()
            guard let query = gst_pad_probe_info_get_query(info), answer.give(to: query) else {
                return GST_PAD_PROBE_OK
            }
            return GST_PAD_PROBE_HANDLED
        }
    }

    private final class Answer: Sendable {
        private let question: String
        private let body: @Sendable () -> [(String, any ValueConvertible)]

        init(_ question: String, _ body: @escaping @Sendable () -> [(String, any ValueConvertible)]) {
            self.question = question
            self.body = body
        }

        func give(to query: UnsafeMutablePointer<GstQuery>) -> Bool {
            guard query.pointee.type == GST_QUERY_CUSTOM, let asked = gst_query_get_structure(query),
                gst_structure_has_name(asked, question) != 0
            else { return false }
            let answer = Structure(question, body())
            for field in answer.fieldNames {
                gst_structure_set_value(
                    gst_query_writable_structure(query), field, gst_structure_get_value(answer.raw, field))
            }
            return true
        }
    }

    /// Sends the custom query named `question` downstream from this source pad, and returns the answer; `nil` if there
    /// is none.
    package func askDownstream(_ question: String) -> Structure? {
        let query = gst_query_new_custom(GST_QUERY_CUSTOM, gst_structure_new_empty(question))
        defer { gst_query_unref(query) }
        guard gst_pad_peer_query(pad, query) != 0, let answer = gst_query_get_structure(query) else { return nil }
        return Structure(copying: answer)
    }

    /// Answers ALLOCATION queries that arrive at this sink pad with the metas that `list` returns, instead of the element.
    /// `list` runs on the streaming thread.
    package func answerAllocation(_ list: @escaping @Sendable () -> [MetaAPI]) {
        addProbe(
            GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, GST_PAD_PROBE_TYPE_PUSH, holding: AllocationAnswer(list)
        ) { _, info, context in
            guard let query = gst_pad_probe_info_get_query(info), query.pointee.type == GST_QUERY_ALLOCATION else {
                return GST_PAD_PROBE_OK
            }
            let answer = Unmanaged<AllocationAnswer>.fromOpaque(context!).takeUnretainedValue()
            for api in answer.list() { AllocationQuery(query).list(api) }
            return GST_PAD_PROBE_HANDLED
        }
    }
}

private final class AllocationAnswer: Sendable {
    let list: @Sendable () -> [MetaAPI]
    init(_ list: @escaping @Sendable () -> [MetaAPI]) { self.list = list }
}
