import Foundation

/// Returns a type's name as its source code spells it, for messages. Optimized builds print private types as
/// "(Name in _8380B6BA…)".
package func typeName(_ type: Any.Type) -> String {
    let text = "\(type)"
    guard text.hasPrefix("("), let end = text.range(of: " in _")?.lowerBound else { return text }
    return String(text[text.index(after: text.startIndex)..<end])
}
