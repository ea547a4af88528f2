/// Finds the name that a mistyped name most likely stands for.
package enum NearestName {
    /// Returns the candidate that differs from `name` by the fewest typing mistakes; `nil` if all differ by too many.
    package static func find(_ name: String, among candidates: [String]) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars)
        // If more than a third of the characters differ, it is another word rather than a mistake.
        let limit = wanted.count < 2 ? 0 : max(1, (wanted.count + 1) / 3)
        let characters = characters(name)
        var best: (name: String, distance: Int, begin: Int)?
        for candidate in candidates {
            // These cheap tests reject most candidates. A scalar has at most four bytes.
            guard candidate.utf8.count <= 4 * (wanted.count + limit), candidate.utf8.count + limit >= wanted.count
            else {
                continue
            }
            if let characters, let others = Self.characters(candidate) {
                // A mistake adds at most one character to the name, and removes at most one.
                let (added, removed) = (others & ~characters, characters & ~others)
                guard max(added.nonzeroBitCount, removed.nonzeroBitCount) <= limit else { continue }
            }
            let other = Array(candidate.lowercased().unicodeScalars)
            guard abs(other.count - wanted.count) <= limit else { continue }
            let distance = distance(wanted, other)
            guard distance <= limit else { continue }
            // Most mistyped words begin correctly, so of equally distant candidates the longest common prefix wins,
            // and of those the first in order.
            let begin = zip(wanted, other).prefix { $0 == $1 }.count
            if let best, (distance, -begin, candidate) >= (best.distance, -best.begin, best.name) { continue }
            best = (candidate, distance, begin)
        }
        return best?.name
    }

    /// Returns the characters of a name as a set of bits, ignoring case; `nil` unless the name is ASCII. Few different
    /// characters share a bit.
    private static func characters(_ name: String) -> UInt64? {
        var set: UInt64 = 0
        for byte in name.utf8 {
            guard byte < 0x80 else { return nil }
            let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            set |= 1 << UInt64((isUpper ? byte | 0x20 : byte) & 63)
        }
        return set
    }

    /// Returns the number of typing mistakes that turn one name into the other, ignoring case.
    static func mistakes(_ a: String, _ b: String) -> Int {
        distance(Array(a.lowercased().unicodeScalars), Array(b.lowercased().unicodeScalars))
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbors that turn `a` into `b`.
    static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        if a.isEmpty || b.isEmpty { return a.count + b.count }
        var beforePrevious: [Int] = []
        var previous = Array(0...b.count)
        for i in 1...a.count {
            var current = [i]
            for j in 1...b.count {
                var cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    cost = min(cost, beforePrevious[j - 2] + 1)
                }
                current.append(cost)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[b.count]
    }
}
