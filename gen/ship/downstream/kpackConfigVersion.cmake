# kpackConfigVersion.cmake - which requests this version of kpack serves
#
# Before 1.0 a minor release may change the interface.
set(PACKAGE_VERSION "@VERSION@")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  set(PACKAGE_VERSION_EXACT TRUE)
elseif(PACKAGE_FIND_VERSION VERSION_LESS PACKAGE_VERSION)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" kpack_has "${PACKAGE_VERSION}")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" kpack_asked "${PACKAGE_FIND_VERSION}.0")
  if(kpack_has STREQUAL kpack_asked)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
endif()
