include(CMakeFindDependencyMacro)
find_dependency(levels)
include("${CMAKE_CURRENT_LIST_DIR}/desk.cmake")
