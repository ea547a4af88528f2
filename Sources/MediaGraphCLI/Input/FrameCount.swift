/// A number of frames given on the command line.
struct FrameCount: Equatable, Sendable {
    let number: UInt64

    enum Problem: Error, Equatable, CustomStringConvertible {
        case zero
        /// The text is a time, such as `10s`.
        case time(String)
        case unreadable

        var description: String {
            switch self {
            case .zero: "it must be at least 1"
            case .time(let text): "give a number of frames, or --duration \(text) for a time"
            case .unreadable: "give a whole number of frames, such as 300"
            }
        }
    }

    init(parsing text: String) throws(Problem) {
        guard let number = UInt64(text) else {
            let isTime = (try? CommandDuration(parsing: text)) != nil && Double(text) == nil
            throw isTime ? .time(text) : .unreadable
        }
        guard number > 0 else { throw .zero }
        self.number = number
    }
}
