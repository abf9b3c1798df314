// Kernels that measure the roofs of a device.
