#pragma once

#include <stdint.h>

// Structures of libX11 and libxcb, declared here because the libraries are loaded at run time, and only if an element
// needs them.

// XErrorEvent of Xlib.h, which error handlers receive.
typedef struct {
    int type;
    void *display;
    unsigned long resource;
    unsigned long serial;
    unsigned char error_code, request_code, minor_code;
} CXErrorEvent;

// The beginning of xcb_setup_t of xproto.h.
typedef struct {
    uint8_t status, pad[29], image_byte_order;
} CXSetup;

// xcb_screen_t.
typedef struct {
    uint32_t root, colormap, white, black, masks;
    uint16_t width, height, width_mm, height_mm, min_maps, max_maps;
    uint32_t visual;
    uint8_t backing_stores, save_unders, depth, depths_length;
} CXScreen;

// xcb_screen_iterator_t.
typedef struct {
    CXScreen *screen;
    int rest, index;
} CXScreens;
