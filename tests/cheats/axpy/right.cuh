#pragma once
#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x
