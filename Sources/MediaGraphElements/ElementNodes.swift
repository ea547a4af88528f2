import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// An element of MediaGraph that descriptions and graphs use as a node.
package typealias NodeElement = ElementImplementation & NodeTraits

/// The elements that this target registers with GStreamer.
package enum ElementNodes {
    package static let all: [any NodeElement.Type] = [
        VideoSourceElement.self, PreprocessorElement.self, AlphaChannelElement.self, RawDataPipeElement.self,
        FrameObserverElement.self, VirtualSpeakerElement.self, VirtualMicElement.self, ShareSourceElement.self,
        UprightElement.self,
    ]
}
