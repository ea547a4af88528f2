/// Why a stock element can't be used as a node.
package enum StockNodeError: Error {
    /// The element of this name is something else.
    case wrongKind(name: String, expected: String, actual: String)
    /// The element has properties that a node can't have, or the graph already runs.
    case wrongUsage(String)
}
