# kb_embed(target file...): each file becomes `const char kb_embedded_NAME[]` and `const unsigned kb_embedded_NAME_size`
# (NAME: the file's name, dots as underscores), linked into target.
function(kb_embed target)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} id)
    set(out ${CMAKE_BINARY_DIR}/embedded/${id}.c)
    add_custom_command(OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/${file} -DOUT=${out} -DID=${id}
              -P ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
      DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake)
    target_sources(${target} PRIVATE ${out})
  endforeach()
endfunction()
