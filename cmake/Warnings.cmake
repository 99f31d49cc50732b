# Warnings and sanitizers in one interface target. -Werror comes from the presets only, so that a newer compiler does not stop a user.
add_library(millrace_warnings INTERFACE)
target_compile_options(millrace_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast)
if(MILLRACE_WERROR)
    target_compile_options(millrace_warnings INTERFACE -Werror)
endif()
if(MILLRACE_SANITIZE)
    add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer -g)
    # GCC's sanitizers make it see uninitialised reads inside std::regex and std::function that are none.
    target_compile_options(millrace_warnings INTERFACE -Wno-maybe-uninitialized)
    add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()
