// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "HandlerLibrary",
    products: [.library(name: "vignette", type: .dynamic, targets: ["Vignette"])],
    dependencies: [.package(name: "MediaGraph", path: "../..")],
    targets: [
        .target(name: "Vignette", dependencies: [.product(name: "MediaGraph", package: "MediaGraph")]),
        .testTarget(
            name: "VignetteTests", dependencies: ["Vignette", .product(name: "MediaGraph", package: "MediaGraph")]),
    ],
    swiftLanguageModes: [.v6]
)
