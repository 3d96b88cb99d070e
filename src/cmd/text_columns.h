/* text_columns.h - text in columns as wide as their widest cell */
#ifndef KPK_CMD_TEXT_COLUMNS_H
#define KPK_CMD_TEXT_COLUMNS_H

enum { TABLE_MAX_COLUMNS = 12 };
/* Cells are copied. */
struct table;
/* Column titles, blank-separated; a leading '>' aligns the column right. */
struct table *table_new(const char *titles);
void table_cell(struct table *table, const char *format, ...)
    __attribute__((format(__printf__, 2, 3)));
void table_print(struct table *table); /* and frees it */

#endif
