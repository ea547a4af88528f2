extension HandlerRegistry {
    /// Every handler that comes with MediaGraph.
    func registerBuiltIns() {
        do throws(MediaGraphError) {
            try register(Counter.self)
            try register(Invert.self)
            try register(Grayscale.self)
            try register(Count.self)
        } catch {
            preconditionFailure("two built-in handlers have one name: \(error)")
        }
    }
}
