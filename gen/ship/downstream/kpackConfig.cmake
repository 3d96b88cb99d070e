# kpackConfig.cmake - find_package(kpack)
#
# Gives
#
#   kpack::kpack       the runtime and kpack's own kernels: a static library of
#                      which a program takes what it names
#   kpack_add_pack(NAME SOURCES file.hip... [ARCHS target...]
#                  [FLAGS flag...] [HIPCC compiler] [ROCM_PATH folder]
#                  [NVCC compiler] [COMPRESS zstd] [EMBED incbin])
#                      a static library NAME: a pack of these kernels, with the
#                      header <kpack/NAME.h>. It is a target as any other:
#                      install(TARGETS NAME library EXPORT ...) installs it
#                      with a library that links it; the package's file needs
#                      find_dependency(kpack). The headers, if users of the
#                      package want them, lie in the folder that is the
#                      target's property KPACK_INCLUDE
#   kpack_add_pack(NAME IMPORT folder)
#                      the same of a folder of prebuilt code objects
#
# A pack is made by kpack.mk, with GNU Make under any generator: make knows what
# the kernels' headers are, and is asked each time whether something is to do.
# ARCHS, HIPCC, ROCM_PATH and NVCC default to KPACK_ARCHS, KPACK_HIPCC,
# KPACK_ROCM_PATH and KPACK_NVCC, which are empty: kpack.mk's own defaults.
# Sources are relative to the current source folder; a module has the name of
# its file.

get_filename_component(KPACK_PREFIX "${CMAKE_CURRENT_LIST_DIR}/@UP@" REALPATH)
set(KPACK_MAKEFILE "${KPACK_PREFIX}/share/kpack/kpack.mk")

include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)

if(NOT TARGET kpack::kpack)
  add_library(kpack::kpack STATIC IMPORTED)
  set_target_properties(kpack::kpack PROPERTIES
    IMPORTED_LOCATION "${KPACK_PREFIX}/@LIBDIR@/libkpack.a"
    INTERFACE_INCLUDE_DIRECTORIES "${KPACK_PREFIX}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};@CODEC@")
endif()

function(kpack_add_pack name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HIPCC;ROCM_PATH;NVCC;COMPRESS;EMBED;IMPORT" "SOURCES;ARCHS;FLAGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kpack_add_pack(${name}): what is '${arg_UNPARSED_ARGUMENTS}'? "
      "It takes SOURCES, ARCHS, FLAGS, HIPCC, ROCM_PATH, NVCC, COMPRESS and EMBED, or IMPORT.")
  endif()
  if(NOT arg_SOURCES AND NOT arg_IMPORT)
    message(FATAL_ERROR "kpack_add_pack(${name}): no SOURCES; name the .hip files.")
  endif()
  if(arg_SOURCES AND arg_IMPORT)
    message(FATAL_ERROR "kpack_add_pack(${name}): SOURCES and IMPORT make a pack each.")
  endif()
  find_program(KPACK_MAKE NAMES gmake make DOC "GNU Make, which makes packs")
  if(NOT KPACK_MAKE)
    message(FATAL_ERROR "kpack_add_pack(${name}): GNU Make is needed and not there; "
      "install it, or give -DKPACK_MAKE=.")
  endif()

  set(sources)
  foreach(source IN LISTS arg_SOURCES arg_IMPORT)
    get_filename_component(source "${source}" ABSOLUTE)
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "kpack_add_pack(${name}): there is no ${source}.")
    endif()
    if(source MATCHES "[ \t#$']")
      message(FATAL_ERROR "kpack_add_pack(${name}): ${source}: GNU Make takes no "
        "file names with blanks, '#', '$' or quotes.")
    endif()
    list(APPEND sources "${source}")
  endforeach()
  list(JOIN sources " " sources)
  set(what SOURCES)
  if(arg_IMPORT)
    set(what IMPORT)
  endif()

  # A setting of the call, else of the project, else kpack.mk's own.
  set(settings)
  foreach(word ARCHS HIPCC ROCM_PATH NVCC COMPRESS EMBED)
    if(NOT arg_${word})
      set(arg_${word} ${KPACK_${word}})
    endif()
    if(arg_${word})
      list(JOIN arg_${word} " " value)
      list(APPEND settings "${word}=${value}")
    endif()
  endforeach()
  set(codec)
  if(arg_COMPRESS STREQUAL "zstd")
    set(codec zstd)
  endif()
  list(JOIN arg_FLAGS " " flags)
  foreach(tool CC=CMAKE_C_COMPILER AR=CMAKE_AR) # a project may have C++ alone
    string(REPLACE "=" ";" tool "${tool}")
    list(GET tool 1 variable)
    if(${variable})
      list(GET tool 0 word)
      list(APPEND settings "${word}=${${variable}}")
    endif()
  endforeach()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/kpack-${name}")
  set(archive "${folder}/lib${name}.a")
  if(CMAKE_GENERATOR MATCHES "Makefiles")
    set(make "$(MAKE)") # shares its jobs
  else()
    include(ProcessorCount)
    ProcessorCount(jobs)
    set(make "${KPACK_MAKE}" -j${jobs})
  endif()
  # The pack is what the call says, whatever the environment holds.
  add_custom_target(${name}-kernels
    COMMAND ${CMAKE_COMMAND} -E env --unset=MODULES --unset=SOURCES --unset=IMPORT --unset=KERNELS
      ${make} --no-print-directory -f "${KPACK_MAKEFILE}" kpack-pack
      PACK=${name} "${what}=${sources}" "HIPFLAGS=${flags}" ${settings}
      "B=kpack-${name}"
    BYPRODUCTS "${archive}" "${folder}/include/kpack/${name}.h"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMENT "Kernels of pack ${name}"
    VERBATIM)

  # An archive that make made, where CMake wants objects of its own: it is the
  # library's only "object", so that the library is as new as it, and then takes
  # the library's place.
  get_property(language GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(C IN_LIST language)
    set(language C)
  else()
    list(GET language 0 language)
  endif()
  set_source_files_properties("${archive}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(${name} STATIC "${archive}")
  add_dependencies(${name} ${name}-kernels)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy "${archive}" "$<TARGET_FILE:${name}>"
    VERBATIM)
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE ${language}
    KPACK_INCLUDE "${folder}/include")
  file(MAKE_DIRECTORY "${folder}/include")
  target_include_directories(${name} INTERFACE "$<BUILD_INTERFACE:${folder}/include>")
  target_link_libraries(${name} INTERFACE kpack::kpack ${codec})
endfunction()
