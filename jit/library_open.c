// The one place where a library of a vendor is opened, and what follows from it for LeakSanitizer.
#include "jit/toolkit.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

static bool vendors_code; // some of it is in this process

// Whatever is shipped has a name of its own (DT_SONAME). The tests' stand-ins for the driver's libraries have none, so
// processes that open nothing else are checked for leaks.
static bool has_own_name(void *handle)
{
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map)
        return true;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SONAME)
            return true;
    return false;
}

void *kb_library_open(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    vendors_code = vendors_code || (handle && has_own_name(handle));
    return handle;
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

// Asked at the end of the process. What a vendor's library keeps is not ours to free, and with one that has
// thread-local variables LeakSanitizer itself may crash ("Tracer caught signal 11", exit 1): where the block that holds
// them begins 16 bytes behind a page's begin, it takes what stands in front for a header of the loader's. Where blocks
// begin follows from what was allocated before, for example from the length of the folder's path.
int __lsan_is_turned_off(void)
{
    return vendors_code;
}
#endif
