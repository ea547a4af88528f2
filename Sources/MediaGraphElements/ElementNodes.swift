import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// An element that is a node.
package typealias NodeElement = ElementImplementation & NodeTraits

/// The nodes that this target registers.
package enum ElementNodes {
    package static let all: [any NodeElement.Type] = [
        VideoSourceElement.self, PreprocessorElement.self, AlphaChannelElement.self, RawDataPipeElement.self,
        FrameObserverElement.self, VirtualSpeakerElement.self, VirtualMicElement.self, ShareSourceElement.self,
        UprightElement.self,
    ]
}
