import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// Warns of elements that draw text if no font is installed: GStreamer then draws empty boxes without a message.
package struct FontCheck: DescriptionCheck {
    package static let message = "no font is installed: text will be empty boxes"
    package static let remedy = "sudo apt install fonts-dejavu-core"

    private static let overlays: Set = ["clockoverlay", "textoverlay", "textrender", "timeoverlay"]

    private let hasFonts: @Sendable () -> Bool

    package init(hasFonts: @escaping @Sendable () -> Bool = { TextRenderer.hasFonts }) { self.hasFonts = hasFonts }

    package func problems(in element: DescribedElement) -> [Diagnostic] {
        guard Self.drawsText(element), !hasFonts() else { return [] }
        return [element.diagnostic(Self.message, hint: Self.remedy, severity: .warning)]
    }

    private static func drawsText(_ element: DescribedElement) -> Bool {
        guard element.property("handler")?.value == Watermark.name else { return overlays.contains(element.factory) }
        return HandlerOptions.keys(in: element.property("options")?.value ?? "")?.contains("image") == false
    }
}
