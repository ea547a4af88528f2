import Foundation

/// A type's name as people wrote it, for messages: optimised builds put private ones as "(Name in _8380B6BA…)".
package func typeName(_ type: Any.Type) -> String {
    let text = "\(type)"
    guard text.hasPrefix("("), let end = text.range(of: " in _")?.lowerBound else { return text }
    return String(text[text.index(after: text.startIndex)..<end])
}
