// The kinds of lines of event/table.def: what who includes it did not define is nothing, or what it is a variation of.
#ifndef RECORD
#define RECORD(r, about)
#endif
#ifndef EVENT
#define EVENT(r, about) RECORD(r, about)
#endif
#ifndef END
#define END(r)
#endif
#ifndef TEXT
#define TEXT(r, f, about)
#endif
#ifndef TEXT_IF
#define TEXT_IF(r, f, about) TEXT(r, f, about)
#endif
#ifndef VALUE
#define VALUE(r, f, about)
#endif
#ifndef NUM
#define NUM(r, f, about)
#endif
#ifndef NUM_IF
#define NUM_IF(r, f, about) NUM(r, f, about)
#endif
#ifndef MEAS
#define MEAS(r, f, about)
#endif
#ifndef MEAS_IF
#define MEAS_IF(r, f, about) MEAS(r, f, about)
#endif
#ifndef WHY
#define WHY(r, f)
#endif
#ifndef INT
#define INT(r, f, otherwise, about)
#endif
#ifndef INT_IF
#define INT_IF(r, f, otherwise, about) INT(r, f, otherwise, about)
#endif
#ifndef INT_AS
#define INT_AS(r, f, key, otherwise, about) INT(r, f, otherwise, about)
#endif
#ifndef INT_AS_IF
#define INT_AS_IF(r, f, key, otherwise, about) INT_AS(r, f, key, otherwise, about)
#endif
#ifndef FLAG
#define FLAG(r, f, about)
#endif
#ifndef FLAG_IF
#define FLAG_IF(r, f, about) FLAG(r, f, about)
#endif
#ifndef TRI
#define TRI(r, f, about)
#endif
#ifndef TRI_IF
#define TRI_IF(r, f, about) TRI(r, f, about)
#endif
#ifndef REC
#define REC(r, f, sub, about)
#endif
#ifndef REC_IF
#define REC_IF(r, f, sub, about) REC(r, f, sub, about)
#endif
#ifndef LIST
#define LIST(r, f, sub, about)
#endif
#ifndef LIST_IF
#define LIST_IF(r, f, sub, about) LIST(r, f, sub, about)
#endif
#ifndef TABLE
#define TABLE(r, f, sub, about) LIST(r, f, sub, about)
#endif
#ifndef TEXTS
#define TEXTS(r, f, about)
#endif
#ifndef TEXTS_IF
#define TEXTS_IF(r, f, about) TEXTS(r, f, about)
#endif
#ifndef NUMS
#define NUMS(r, f, about)
#endif
#ifndef NAMED
#define NAMED(r, f, about)
#endif
#ifndef NAMED_IF
#define NAMED_IF(r, f, about) NAMED(r, f, about)
#endif
