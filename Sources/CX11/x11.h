#pragma once

// XErrorEvent of Xlib.h, which error handlers receive. Declared here because libX11 is loaded at run time, and only if
// an element needs it.
typedef struct {
    int type;
    void *display;
    unsigned long resource;
    unsigned long serial;
    unsigned char error_code, request_code, minor_code;
} CXErrorEvent;
