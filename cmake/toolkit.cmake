# Finds the headers of the CUDA toolkit (driver API, NVRTC, CUPTI). Nothing of it is linked: the programs open the
# libraries at run time. scripts/setup brings the headers as wheels into .deps where no toolkit is installed.
find_path(KB_CUDA_INCLUDE nvrtc.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES include
  PATHS /usr/local/cuda/include ${CMAKE_SOURCE_DIR}/.deps/nvidia/cu13/include)
if(NOT KB_CUDA_INCLUDE)
  message(FATAL_ERROR "No CUDA headers (nvrtc.h, cuda.h, cupti.h) found. Run scripts/setup, or set CUDA_HOME.")
endif()
