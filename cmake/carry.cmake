# Copies the small shared libraries that a bare machine may lack beside the programs (see CMAKE_BUILD_RPATH), under the
# names that the loader looks for.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
foreach(library cjson.so.1 utf8proc.so.2 cmocka.so.0)
  string(REGEX REPLACE "\\.so.*" "" short ${library})
  find_library(KB_CARRY_${short} ${short})
  if(KB_CARRY_${short})
    file(REAL_PATH ${KB_CARRY_${short}} real)
    file(COPY_FILE ${real} ${CMAKE_BINARY_DIR}/lib/lib${library} ONLY_IF_DIFFERENT)
  endif()
endforeach()
