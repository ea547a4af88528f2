/// Finds what a mistyped name was meant to be.
package enum NearestName {
    /// The name that needs the fewest typing mistakes to become `name`, when few enough; `nil` otherwise.
    package static func find(_ name: String, among candidates: [String]) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars)
        // A third of it wrong isn't a mistake any more, but another word.
        let limit = wanted.count < 2 ? 0 : max(1, (wanted.count + 1) / 3)
        var best: (name: String, distance: Int, begin: Int)?
        for candidate in candidates.sorted() {
            // A scalar is at most four bytes; this spares most candidates the rest.
            guard candidate.utf8.count <= 4 * (wanted.count + limit), candidate.utf8.count + limit >= wanted.count
            else {
                continue
            }
            let other = Array(candidate.lowercased().unicodeScalars)
            guard abs(other.count - wanted.count) <= limit else { continue }
            let distance = distance(wanted, other)
            guard distance <= limit else { continue }
            // Who mistypes a word has mostly begun it right.
            let begin = zip(wanted, other).prefix { $0 == $1 }.count
            if let best, (distance, -begin) >= (best.distance, -best.begin) { continue }
            best = (candidate, distance, begin)
        }
        return best?.name
    }

    /// How many typing mistakes turn one name into the other.
    static func mistakes(_ a: String, _ b: String) -> Int {
        distance(Array(a.lowercased().unicodeScalars), Array(b.lowercased().unicodeScalars))
    }

    /// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
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
