include(CMakeFindDependencyMacro)
find_dependency(kpack)
include("${CMAKE_CURRENT_LIST_DIR}/levels.cmake")
