import MediaGraph

/// Returns each problem of a description as `COLUMN: MESSAGE; HINT`.
public func problems(in text: String) throws -> [String] {
    try Graph.diagnose(Description(text)).map { "\($0.range.column): \($0.message); \($0.hint ?? "")" }
}

/// Returns the problems of a description as `mediagraph check` prints them, without colors.
public func report(on text: String) throws -> String {
    try Graph.diagnose(Description(text, name: "a.pipeline")).map { $0.rendered(color: false) }.joined(separator: "\n")
}
