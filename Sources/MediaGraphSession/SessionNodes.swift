import MediaGraphElements

/// The nodes that this target registers.
package enum SessionNodes {
    package static let all: [any NodeElement.Type] = [MediaSessionElement.self]
}
