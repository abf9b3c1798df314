#pragma once
#define PLACE int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y
