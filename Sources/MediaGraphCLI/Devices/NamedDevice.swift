import MediaGraph

extension MediaDevice {
    /// Whether an element of this factory can name it.
    func isNamed(by factory: String) -> Bool {
        factory == "devicesource" ? ![.speaker, .videoOutput].contains(kind) : text.hasPrefix("\(factory) ")
    }
}
