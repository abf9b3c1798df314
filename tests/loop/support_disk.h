// What the tests of io and history share: a folder of their own, and files in it.
#ifndef KB_TESTS_SUPPORT_DISK_H
#define KB_TESTS_SUPPORT_DISK_H

char *disk_scratch(void); // fresh; removed by disk_remove
void disk_remove(char *dir);
void disk_put(const char *dir, const char *name, const char *text); // folders are made
char *disk_get(const char *dir, const char *name);                  // owned; NULL if it is not there

#endif
