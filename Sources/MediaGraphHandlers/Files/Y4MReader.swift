import MediaGraphCore

/// Reads the frames of a YUV4MPEG2 stream one by one. After an interruption, repeat the call to continue.
struct Y4MReader: ~Copyable {
    private enum Stage {
        case header
        case frameLine
        case frameBytes
        /// The frame is in `frame` and hasn't been sent.
        case loaded
    }

    private var bytes: ByteReader
    private var stage = Stage.header
    private var parsed: Y4MHeader?
    private var line: [UInt8] = []
    private var filled = 0
    private var index = 0
    private var firstFrameOffset = 0
    /// The loaded frame, packed.
    private(set) var frame: [UInt8] = []

    init(_ bytes: consuming ByteReader) { self.bytes = bytes }

    /// Returns the stream's header, which the first call reads; `nil` if interrupted.
    mutating func header() throws(MediaGraphError) -> Y4MHeader? {
        if let parsed { return parsed }
        switch try bytes.readLine(into: &line, limit: Y4MHeader.lengthLimit) {
        case .interrupted: return nil
        case .end:
            throw .unsupported(
                .init(
                    bytes.name,
                    actual: line.isEmpty ? "is empty, not a YUV4MPEG2 file" : "ends within its YUV4MPEG2 header"))
        case .complete: break
        }
        let header = try Y4MHeader(parsing: String(decoding: line, as: UTF8.self), name: bytes.name)
        firstFrameOffset = line.count + 1
        line.removeAll()
        frame = [UInt8](repeating: 0, count: header.frameLength)
        parsed = header
        stage = .frameLine
        return header
    }

    /// Loads the next frame, unless one is loaded already. Call it after ``header()`` has returned the header.
    mutating func loadFrame(looping: Bool) throws(MediaGraphError) -> ByteReader.Outcome {
        precondition(stage != .header, "the header hasn't been read")
        if stage == .frameLine {
            var outcome = try bytes.readLine(into: &line, limit: Y4MHeader.lengthLimit)
            // A loop over no frames would never end.
            if outcome == .end, line.isEmpty, looping, index > 0 {
                try bytes.rewind(to: firstFrameOffset)
                index = 0
                outcome = try bytes.readLine(into: &line, limit: Y4MHeader.lengthLimit)
            }
            if outcome == .interrupted || outcome == .end && line.isEmpty { return outcome }
            guard outcome == .complete, line.starts(with: "FRAME".utf8) else {
                throw .processingFailed(
                    .init(bytes.name, actual: "frame \(index) doesn't begin with FRAME; the file is damaged"))
            }
            line.removeAll(keepingCapacity: true)
            stage = .frameBytes
        }
        if stage == .frameBytes {
            switch try bytes.read(into: &frame, filled: &filled) {
            case .interrupted: return .interrupted
            case .end:
                throw .processingFailed(
                    .init(
                        bytes.name,
                        actual: "ends within frame \(index): \(filled) of its \(frame.count) bytes are there"))
            case .complete: stage = .loaded
            }
        }
        return .complete
    }

    /// Continues with the next frame after the loaded one has been sent.
    mutating func nextFrame() {
        index += 1
        filled = 0
        stage = .frameLine
    }
}
