# kb_embed(target file...): each file becomes `const char kb_embedded_NAME[]` and `const unsigned kb_embedded_NAME_size`
# (NAME: the file's name, dots as underscores), linked into target.
function(kb_embed target)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    kb_embed_as(${target} ${file} ${name})
  endforeach()
endfunction()

function(kb_embed_as target file name)
  string(MAKE_C_IDENTIFIER ${name} id)
  set(out ${CMAKE_BINARY_DIR}/embedded/${id}.c)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/${file} -DOUT=${out} -DID=${id}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake)
  target_sources(${target} PRIVATE ${out})
endfunction()

# kb_embed_folders(target folder...): each file of each folder becomes kb_embedded_FOLDER_FILE.
function(kb_embed_folders target)
  foreach(folder ${ARGN})
    get_filename_component(name ${folder} NAME)
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${folder} ${CMAKE_SOURCE_DIR}/${folder}/*.*)
    foreach(file ${files})
      kb_embed_as(${target} ${folder}/${file} ${name}_${file})
    endforeach()
  endforeach()
endfunction()
