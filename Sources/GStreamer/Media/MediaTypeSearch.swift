import CGStreamer

extension ArraySlice<UInt8> {
    /// The probable media type of a file that begins with these bytes, such as `audio/x-wav`; `nil` if GStreamer's
    /// typefinders find no likely type.
    package var likelyMediaType: String? {
        withUnsafeBufferPointer { bytes in
            var probability = GST_TYPE_FIND_NONE
            let caps = gst_type_find_helper_for_data(nil, bytes.baseAddress, gsize(bytes.count), &probability)
                .map(Caps.init(taking:))
            return probability.rawValue >= GST_TYPE_FIND_LIKELY.rawValue ? caps?.mediaTypes.first : nil
        }
    }
}
