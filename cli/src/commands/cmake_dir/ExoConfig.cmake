# The CMake package of exo, written by `exo cmake-dir`.
#
#   find_package(Exo REQUIRED)
#
#   exo_add_library(NAME
#       SOURCES a.exo [b.exo ...]     modules that are compiled together, as `exo cc` does
#     | PROJECT dir [KERNEL k] TARGET t   kernels of a project, as `exo build` does
#       [CHECKED])                    run-time checks for callers in C
#
# makes the static library NAME, whose header is <NAME.h> (SOURCES) or <kernel.h> (PROJECT), and which is made again when
# a module changes.
#
#   exo_install_library(NAME [VERSION v])
#
# installs library, headers and a file for pkg-config.

set(Exo_EXECUTABLE [==[@EXO_PROGRAM@]==] CACHE FILEPATH "The program exo")
include(GNUInstallDirs)

if(NOT TARGET Exo::exo)
  add_executable(Exo::exo IMPORTED GLOBAL)
  set_target_properties(Exo::exo PROPERTIES IMPORTED_LOCATION "${Exo_EXECUTABLE}")
endif()

function(exo_add_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CHECKED" "PROJECT;KERNEL;TARGET" "SOURCES")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "exo_add_library: unknown argument ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  set(checked "")
  if(ARG_CHECKED)
    set(checked "--checked")
  endif()
  if(ARG_SOURCES AND NOT ARG_PROJECT)
    _exo_from_modules("${NAME}" "${checked}" ${ARG_SOURCES})
  elseif(ARG_PROJECT AND ARG_TARGET AND NOT ARG_SOURCES)
    _exo_from_project("${NAME}" "${checked}" "${ARG_PROJECT}" "${ARG_KERNEL}" "${ARG_TARGET}")
  else()
    message(FATAL_ERROR "exo_add_library needs either SOURCES, or PROJECT and TARGET")
  endif()
  if(UNIX)
    target_link_libraries("${NAME}" PUBLIC m)
  endif()
endfunction()

function(_exo_from_modules NAME checked)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${NAME}.exo")
  set(modules "")
  foreach(module IN LISTS ARGN)
    get_filename_component(module "${module}" ABSOLUTE)
    list(APPEND modules "${module}")
  endforeach()
  set(c "${folder}/${NAME}.c")
  set(header "${folder}/${NAME}.h")
  add_custom_command(
    OUTPUT "${c}" "${header}"
    COMMAND Exo::exo cc --quiet -o "${folder}" --stem "${NAME}" ${checked} ${modules}
    DEPENDS ${modules} "${Exo_EXECUTABLE}"
    DEPFILE "${folder}/${NAME}.d"
    COMMENT "exo cc ${NAME}"
    VERBATIM)
  add_library("${NAME}" STATIC "${c}" "${header}")
  _exo_finish("${NAME}" "${folder}" "${header}")
endfunction()

function(_exo_from_project NAME checked project kernel target)
  get_filename_component(project "${project}" ABSOLUTE)
  set(selection --target "${target}")
  if(kernel)
    list(APPEND selection --kernel "${kernel}")
  endif()
  # Which files there will be is known once they are made.
  execute_process(
    COMMAND "${Exo_EXECUTABLE}" -C "${project}" --quiet build ${selection} ${checked}
    OUTPUT_VARIABLE files RESULT_VARIABLE failed ERROR_VARIABLE reason)
  if(failed)
    message(FATAL_ERROR "exo build in ${project} failed:\n${reason}${files}")
  endif()
  string(REGEX REPLACE "\n" ";" files "${files}")
  set(sources "")
  set(headers "")
  set(flags "")
  foreach(file IN LISTS files)
    if(file MATCHES "\\.c$")
      list(APPEND sources "${project}/${file}")
    elseif(file MATCHES "\\.h$")
      list(APPEND headers "${project}/${file}")
    elseif(file MATCHES "\\.pc$")
      file(STRINGS "${project}/${file}" line REGEX "^Cflags: ")
      string(REGEX REPLACE "^Cflags: -I\\\${pcfiledir} ?" "" line "${line}")
      separate_arguments(line UNIX_COMMAND "${line}")
      list(APPEND flags ${line})
    endif()
  endforeach()
  list(GET headers 0 first)
  get_filename_component(folder "${first}" DIRECTORY)
  file(GLOB_RECURSE modules CONFIGURE_DEPENDS "${project}/src/*.exo")
  add_custom_command(
    OUTPUT ${sources} ${headers}
    COMMAND Exo::exo -C "${project}" --quiet build ${selection} ${checked}
    COMMAND "${CMAKE_COMMAND}" -E touch ${sources} ${headers}
    DEPENDS ${modules} "${project}/Exo.toml" "${Exo_EXECUTABLE}"
    COMMENT "exo build ${NAME}"
    VERBATIM)
  add_library("${NAME}" STATIC ${sources} ${headers})
  list(REMOVE_DUPLICATES flags)
  target_compile_options("${NAME}" PRIVATE ${flags})
  _exo_finish("${NAME}" "${folder}" "${headers}")
endfunction()

function(_exo_finish NAME folder headers)
  set_target_properties("${NAME}" PROPERTIES LINKER_LANGUAGE C EXO_HEADERS "${headers}")
  target_include_directories(
    "${NAME}" PUBLIC "$<BUILD_INTERFACE:${folder}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()

function(exo_install_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "VERSION" "")
  if(NOT ARG_VERSION)
    set(ARG_VERSION "${PROJECT_VERSION}")
  endif()
  if(NOT ARG_VERSION)
    set(ARG_VERSION 0)
  endif()
  get_target_property(headers "${NAME}" EXO_HEADERS)
  install(TARGETS "${NAME}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc "${CMAKE_CURRENT_BINARY_DIR}/${NAME}.pc")
  file(WRITE "${pc}" "prefix=${CMAKE_INSTALL_PREFIX}
Name: ${NAME}
Description: kernels made by exo
Version: ${ARG_VERSION}
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -l${NAME} -lm
")
  install(FILES "${pc}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
