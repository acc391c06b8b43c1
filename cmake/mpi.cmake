# SPDX-License-Identifier: Apache-2.0
# mpi.so, and a library that observes MPI for each ABI whose headers are here: mpi-mpich.so (also for
# Intel MPI, MVAPICH, Cray MPICH) and mpi-openmpi.so. Only the headers are needed: the libraries are
# linked with no MPI. Without headers of any, nothing is built here, and nothing needs it.
set(STEPSCOPE_MPI "mpich;openmpi" CACHE STRING "ABIs of MPI that are observed, where their headers are")

# Sets SS_MPI_<abi>: the folder of the mpi.h. Debian has both beside each other.
function(stepscope_find_mpi abi macro)
  set(hints)
  foreach(compiler mpicc.${abi} mpicc)
    find_program(SS_MPI_COMPILER_${compiler} ${compiler})
    mark_as_advanced(SS_MPI_COMPILER_${compiler})
    if(SS_MPI_COMPILER_${compiler})
      execute_process(COMMAND "${SS_MPI_COMPILER_${compiler}}" -show OUTPUT_VARIABLE shown
        ERROR_QUIET RESULT_VARIABLE failed)
      string(REGEX MATCHALL "-I[^ \n]+" folders "${shown}")
      list(TRANSFORM folders REPLACE "^-I" "")
      list(APPEND hints ${folders})
    endif()
  endforeach()
  foreach(folder IN LISTS SS_MPI_INCLUDE_${abi} hints)
    if(EXISTS "${folder}/mpi.h")
      file(STRINGS "${folder}/mpi.h" found REGEX "#define ${macro} ")
      if(found)
        set(SS_MPI_${abi} "${folder}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

stepscope_find_mpi(mpich MPICH_NUMVERSION)
stepscope_find_mpi(openmpi OMPI_MAJOR_VERSION)

set(observers)
foreach(abi IN LISTS STEPSCOPE_MPI)
  if(SS_MPI_${abi})
    add_library(stepscope_mpi_${abi} MODULE src/inject/mpi/observe.c)
    target_include_directories(stepscope_mpi_${abi} PRIVATE "${CMAKE_SOURCE_DIR}/src")
    target_include_directories(stepscope_mpi_${abi} SYSTEM PRIVATE "${SS_MPI_${abi}}")
    target_link_libraries(stepscope_mpi_${abi} PRIVATE stepscope_options)
    target_compile_options(stepscope_mpi_${abi} PRIVATE ${SS_TLS_MODEL})
    target_link_options(stepscope_mpi_${abi} PRIVATE "LINKER:-z,nodelete")
    list(APPEND observers stepscope_mpi_${abi})
    set_target_properties(stepscope_mpi_${abi} PROPERTIES OUTPUT_NAME mpi-${abi})
    message(STATUS "MPI is observed for the ABI of ${abi}: ${SS_MPI_${abi}}/mpi.h")
  endif()
endforeach()

if(observers)
  add_library(stepscope_mpi MODULE src/inject/mpi/forward.c)
  target_include_directories(stepscope_mpi PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_compile_options(stepscope_mpi PRIVATE -Wall -Wextra -fvisibility=hidden
    -fno-stack-protector $<$<BOOL:${STEPSCOPE_WERROR}>:-Werror>)
  target_link_options(stepscope_mpi PRIVATE -nostdlib "LINKER:-z,nodelete")
  set_target_properties(stepscope_mpi PROPERTIES OUTPUT_NAME mpi)
  set_target_properties(stepscope_mpi ${observers} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/libexec")
  install(TARGETS stepscope_mpi ${observers} LIBRARY DESTINATION libexec/stepscope)
endif()

# Plug-ins through which processes of an MPI launcher read a run together (src/workers/plugin.h), one
# for each ABI; linked with no MPI either: stepscope loads the library first.
foreach(abi IN LISTS STEPSCOPE_MPI)
  if(SS_MPI_${abi})
    add_library(stepscope_workers_${abi} MODULE src/workers/mpi/plugin.c)
    target_include_directories(stepscope_workers_${abi} PRIVATE "${CMAKE_SOURCE_DIR}/src")
    target_include_directories(stepscope_workers_${abi} SYSTEM PRIVATE "${SS_MPI_${abi}}")
    target_link_libraries(stepscope_workers_${abi} PRIVATE stepscope_options)
    set_target_properties(stepscope_workers_${abi} PROPERTIES OUTPUT_NAME workers-${abi} PREFIX ""
      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/libexec")
    install(TARGETS stepscope_workers_${abi} LIBRARY DESTINATION libexec/stepscope)
  endif()
endforeach()
