/* One-shot breakpoints in the machine code of loaded libraries, and a log of which were hit, in which order and mode.

   A probe is the one-byte instruction int3 written over the first byte of an instruction. Executing it raises SIGTRAP;
   the handler notes the address, puts the byte back and steps the instruction pointer back onto it, so that the
   program goes on as if nothing had been there, at full speed from then on.

   Planting, re-arming and removing happen under the interpreter's lock, one at a time. The handler may run in any
   thread at any moment, takes no lock, allocates nothing and calls nothing. What the two share is a hash table whose
   entries are single 64-bit words, changed atomically and never moved: the table grows by a further, larger table.

   Every interleaving of a hit with a re-arming must end with a program that goes on. The handler therefore puts the
   byte back whether or not the probe was still armed: two threads that meet on one probe both go on, and one delayed
   in its handler can at worst undo a re-arming of that probe (one hit missed), never loop on an unknown byte. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000 /* loads in every CPython from 3.9 on */
#endif
#include <Python.h>

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define INT3 0xCC
#define PAGE 4096UL

/* An entry of the table, and of the log: the address in the upper 48 bits, which hold every user address on x86-64. */
#define ADDRESS(word) ((word) >> 16)
#define ORIGINAL(word) ((uint8_t)((word) >> 8)) /* table: the byte that the probe replaces */
#define PLANTED 1u                              /* table: wanted, hit or not; cleared by remove */
#define ARMED 2u                                /* table: the int3 is in place, or about to be */
#define MODE(word) ((uint16_t)(word))           /* log */

#define FIRST_TABLE ((size_t)1 << 20) /* entries, 8 MB; each further table is twice as large */
#define MAX_TABLES 8
#define MAX_RANGES 1024
#define MANY_PAGES 4                  /* in a row, for which a system call is worth it */
#define LOG_ENTRIES ((size_t)1 << 22) /* 32 MB of addresses, of memory only what is used */

struct table {
    uint64_t *entries;
    size_t mask, used;
};

struct range {
    uint64_t low, high;
};

static struct table tables[MAX_TABLES];
static int table_count;
static struct range ranges[MAX_RANGES]; /* of writable code: nothing is ever written outside */
static int range_count;
static uint64_t *hit_log; /* a ring; an entry is 0 until its hit has been written */
static uint64_t hits, drained, armed;
static uint16_t mode;
static struct sigaction previous;
static int installed;
/* Static storage of the thread: what a library loaded later gets by default is allocated at first use. */
static __thread int chaining __attribute__((tls_model("initial-exec")));

/* ---- what the handler uses ---- */

static uint64_t *find(uint64_t address)
{
    int count = __atomic_load_n(&table_count, __ATOMIC_ACQUIRE);
    for (int k = 0; k < count; k++) {
        struct table *table = &tables[k];
        size_t i = (address * 0x9E3779B97F4A7C15u) >> 32 & table->mask;
        uint64_t word;
        while ((word = __atomic_load_n(&table->entries[i], __ATOMIC_ACQUIRE)) != 0) {
            if (ADDRESS(word) == address)
                return &table->entries[i];
            i = (i + 1) & table->mask;
        }
    }
    return NULL;
}

static void write_code(uint64_t address, uint8_t byte)
{
    __atomic_store_n((uint8_t *)address, byte, __ATOMIC_SEQ_CST);
}

/* Clear flags of an entry; whether the probe had been armed, which only one of several that try is told. */
static int clear(uint64_t *entry, uint64_t flags)
{
    uint64_t before = __atomic_fetch_and(entry, ~flags, __ATOMIC_SEQ_CST);
    if (!(before & ARMED))
        return 0;
    __atomic_fetch_sub(&armed, 1, __ATOMIC_SEQ_CST);
    return 1;
}

static void on_trap(int number, siginfo_t *info, void *context);

static void die(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, NULL);
    raise(number);
}

/* A trap that no probe of ours caused. */
static void chain(int number, siginfo_t *info, void *context)
{
    int sent = info->si_code <= 0; /* by kill() or the like, and no instruction */
    if (chaining || previous.sa_handler == SIG_DFL || (previous.sa_handler == SIG_IGN && !sent)) {
        die(number);
        return;
    }
    if (previous.sa_handler == SIG_IGN)
        return;
    chaining = 1; /* a handler that was installed over ours may hand the trap back to us */
    if (previous.sa_flags & SA_SIGINFO)
        previous.sa_sigaction(number, info, context);
    else
        previous.sa_handler(number);
    chaining = 0;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    uint64_t address = (uint64_t)*rip - 1;
    uint64_t *entry = info->si_code > 0 ? find(address) : NULL;
    if (entry == NULL) {
        chain(number, info, context);
    } else {
        /* The entry in the log comes before the count of armed probes goes down: together they bound the log. */
        uint64_t before = __atomic_fetch_and(entry, ~(uint64_t)ARMED, __ATOMIC_SEQ_CST);
        if (before & ARMED) {
            uint64_t place = __atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
            uint64_t word = address << 16 | __atomic_load_n(&mode, __ATOMIC_RELAXED);
            __atomic_store_n(&hit_log[place & (LOG_ENTRIES - 1)], word, __ATOMIC_RELEASE);
            __atomic_fetch_sub(&armed, 1, __ATOMIC_SEQ_CST);
        }
        write_code(address, ORIGINAL(before));
        *rip = (greg_t)address;
    }
    errno = saved;
}

/* ---- what Python calls ---- */

static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        PyErr_SetFromErrno(PyExc_OSError);
        return NULL;
    }
    return memory;
}

static int add_table(void)
{
    if (table_count == MAX_TABLES) {
        PyErr_SetString(PyExc_OverflowError, "too many probes");
        return -1;
    }
    size_t size = FIRST_TABLE << table_count;
    uint64_t *entries = reserve(size * sizeof *entries);
    if (entries == NULL)
        return -1;
    tables[table_count] = (struct table){entries, size - 1, 0};
    __atomic_store_n(&table_count, table_count + 1, __ATOMIC_RELEASE);
    return 0;
}

static PyObject *enable(PyObject *self, PyObject *unused)
{
    if (hit_log == NULL && (hit_log = reserve(LOG_ENTRIES * sizeof *hit_log)) == NULL)
        return NULL;
    if (table_count == 0 && add_table() < 0)
        return NULL;
    struct sigaction now;
    if (sigaction(SIGTRAP, NULL, &now) != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_trap)
        Py_RETURN_FALSE;
    previous = now; /* before ours can run */
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    /* NODEFER: the handler that we chain to may itself run into a probe. */
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
    if (sigaction(SIGTRAP, &action, NULL) != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    installed = 1;
    Py_RETURN_TRUE;
}

static PyObject *make_writable(PyObject *self, PyObject *args)
{
    unsigned long long low, high;
    if (!PyArg_ParseTuple(args, "KK", &low, &high))
        return NULL;
    if (low >= high || range_count == MAX_RANGES) {
        PyErr_SetString(PyExc_ValueError, low >= high ? "an empty range" : "too many ranges");
        return NULL;
    }
    uint64_t first = low & ~(PAGE - 1), end = (high + PAGE - 1) & ~(PAGE - 1);
    if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    ranges[range_count++] = (struct range){low, high};
    Py_RETURN_NONE;
}

static int is_writable(uint64_t address)
{
    static int last; /* addresses come sorted: nearly always the range of the one before */
    if (last < range_count && ranges[last].low <= address && address < ranges[last].high)
        return 1;
    for (last = 0; last < range_count; last++)
        if (ranges[last].low <= address && address < ranges[last].high)
            return 1;
    return 0;
}

/* The addresses in a bytes object of native 64-bit words, or -1 with an exception set. */
static Py_ssize_t addresses_of(PyObject *object, const char **words)
{
    char *data;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(object, &data, &length) < 0)
        return -1;
    if (length % 8) {
        PyErr_SetString(PyExc_ValueError, "addresses are 8 bytes each");
        return -1;
    }
    *words = data;
    return length / 8;
}

static uint64_t address_at(const char *words, Py_ssize_t k)
{
    uint64_t address;
    memcpy(&address, words + 8 * k, 8);
    return address;
}

/* Whether the log can take the hits of so many further probes. */
static int fits_log(size_t further)
{
    uint64_t waiting = __atomic_load_n(&armed, __ATOMIC_SEQ_CST) + __atomic_load_n(&hits, __ATOMIC_SEQ_CST) - drained;
    if (waiting + further <= LOG_ENTRIES)
        return 1;
    PyErr_Format(PyExc_OverflowError, "more than %zd probes armed at once", (Py_ssize_t)LOG_ENTRIES);
    return 0;
}

static void arm(uint64_t *entry)
{
    if (!(__atomic_fetch_or(entry, ARMED | PLANTED, __ATOMIC_SEQ_CST) & ARMED))
        __atomic_fetch_add(&armed, 1, __ATOMIC_SEQ_CST);
    write_code(ADDRESS(*entry), INT3);
}

/* Have the kernel make our own copies of the pages to be written in one go, instead of one page fault each. Where it
   cannot (before Linux 5.14), the faults do it. */
static void populate(const char *words, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count;) {
        uint64_t first = address_at(words, k) & ~(PAGE - 1), end = first + PAGE;
        for (k++; k < count; k++) {
            uint64_t page = address_at(words, k) & ~(PAGE - 1);
            if (page != end - PAGE && page != end)
                break;
            end = page + PAGE;
        }
        if (end - first > MANY_PAGES * PAGE)
            madvise((void *)first, end - first, MADV_POPULATE_WRITE);
    }
}

static int insert(uint64_t address, uint8_t original)
{
    struct table *table = &tables[table_count - 1];
    if (table->used >= table->mask / 4 * 3) {
        if (add_table() < 0)
            return -1;
        table = &tables[table_count - 1];
    }
    size_t i = (address * 0x9E3779B97F4A7C15u) >> 32 & table->mask;
    while (table->entries[i] != 0)
        i = (i + 1) & table->mask;
    table->used++;
    __atomic_store_n(&table->entries[i], address << 16 | (uint64_t)original << 8, __ATOMIC_RELEASE);
    arm(&table->entries[i]);
    return 0;
}

static PyObject *plant(PyObject *self, PyObject *object)
{
    const char *words;
    Py_ssize_t count = addresses_of(object, &words), planted = 0;
    if (count < 0 || !fits_log((size_t)count))
        return NULL;
    if (!installed) {
        PyErr_SetString(PyExc_RuntimeError, "enable() comes first");
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count; k++)
        if (!is_writable(address_at(words, k))) {
            PyErr_Format(PyExc_ValueError, "%p is outside the writable code", (void *)address_at(words, k));
            return NULL;
        }
    populate(words, count);
    for (Py_ssize_t k = 0; k < count; k++) {
        uint64_t address = address_at(words, k), *entry = find(address);
        if (entry != NULL) {
            if (!(__atomic_load_n(entry, __ATOMIC_SEQ_CST) & PLANTED)) {
                arm(entry);
                planted++;
            }
            continue;
        }
        uint8_t original = *(volatile uint8_t *)address;
        if (original == INT3)
            continue; /* a breakpoint of someone else's, or padding */
        if (insert(address, original) < 0)
            return NULL;
        planted++;
    }
    return PyLong_FromSsize_t(planted);
}

static Py_ssize_t rearm_entry(uint64_t *entry)
{
    uint64_t word = __atomic_load_n(entry, __ATOMIC_SEQ_CST);
    if (!(word & PLANTED))
        return 0;
    arm(entry); /* an armed one too: see the head of this file */
    return !(word & ARMED);
}

static Py_ssize_t remove_entry(uint64_t *entry)
{
    if (!(__atomic_load_n(entry, __ATOMIC_SEQ_CST) & PLANTED))
        return 0;
    if (clear(entry, ARMED | PLANTED))
        write_code(ADDRESS(*entry), ORIGINAL(*entry));
    return 1;
}

/* Do something with the probes at some addresses, or with all for None; returns the sum of the results. */
static PyObject *for_each(PyObject *object, Py_ssize_t (*act)(uint64_t *))
{
    Py_ssize_t sum = 0;
    if (object != Py_None) {
        const char *words;
        Py_ssize_t count = addresses_of(object, &words);
        if (count < 0)
            return NULL;
        for (Py_ssize_t k = 0; k < count; k++) {
            uint64_t *entry = find(address_at(words, k));
            if (entry != NULL)
                sum += act(entry);
        }
        return PyLong_FromSsize_t(sum);
    }
    for (int k = 0; k < table_count; k++)
        for (size_t i = 0; i <= tables[k].mask; i++)
            if (tables[k].entries[i] != 0)
                sum += act(&tables[k].entries[i]);
    return PyLong_FromSsize_t(sum);
}

static PyObject *rearm(PyObject *self, PyObject *object)
{
    size_t planted = 0;
    for (int k = 0; k < table_count; k++)
        planted += tables[k].used;
    if (!fits_log(planted))
        return NULL;
    return for_each(object, rearm_entry);
}

static PyObject *remove_probes(PyObject *self, PyObject *object)
{
    return for_each(object, remove_entry);
}

static PyObject *set_mode(PyObject *self, PyObject *object)
{
    long number = PyLong_AsLong(object);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || number > UINT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "a mode is a number from 0 to 65535");
        return NULL;
    }
    __atomic_store_n(&mode, (uint16_t)number, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

static PyObject *count(PyObject *self, PyObject *unused)
{
    return PyLong_FromUnsignedLongLong(__atomic_load_n(&hits, __ATOMIC_RELAXED) - drained);
}

static PyObject *drain(PyObject *self, PyObject *unused)
{
    uint64_t end = __atomic_load_n(&hits, __ATOMIC_ACQUIRE), next = drained;
    /* A thread may have taken a place and not yet filled it: that hit and those after it are for the next time. */
    while (next < end && __atomic_load_n(&hit_log[next & (LOG_ENTRIES - 1)], __ATOMIC_ACQUIRE) != 0)
        next++;
    PyObject *list = PyList_New((Py_ssize_t)(next - drained));
    if (list == NULL)
        return NULL;
    for (uint64_t place = drained; place < next; place++) {
        uint64_t word = hit_log[place & (LOG_ENTRIES - 1)];
        PyObject *hit = Py_BuildValue("(KI)", (unsigned long long)ADDRESS(word), (unsigned int)MODE(word));
        if (hit == NULL || PyList_SetItem(list, (Py_ssize_t)(place - drained), hit) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    for (; drained < next; drained++)
        hit_log[drained & (LOG_ENTRIES - 1)] = 0;
    return list;
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    PyObject *removed = for_each(Py_None, remove_entry);
    struct sigaction now;
    /* Whoever installed a handler over ours may chain to it: then ours stays, for what threads still stumble over. */
    if (installed && sigaction(SIGTRAP, NULL, &now) == 0 && now.sa_sigaction == on_trap) {
        sigaction(SIGTRAP, &previous, NULL);
        installed = 0;
    }
    return removed;
}

/* ---- the loaded objects ---- */

static int read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) *note, PyObject **id)
{
    const char *at = (const char *)(info->dlpi_addr + note->p_vaddr), *end = at + note->p_memsz;
    size_t step = note->p_align == 8 ? 8 : 4;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)at;
        const char *name = at + sizeof *head;
        const char *description = name + ((head->n_namesz + 3) & ~3u);
        if (description + head->n_descsz > end)
            break;
        if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            Py_XDECREF(*id);
            *id = PyBytes_FromStringAndSize(description, (Py_ssize_t)head->n_descsz);
            return *id == NULL ? -1 : 0;
        }
        at = description + ((head->n_descsz + step - 1) & ~(step - 1));
    }
    return 0;
}

static int describe_object(struct dl_phdr_info *info, size_t size, void *list)
{
    int failed = 1;
    PyObject *id = PyBytes_FromStringAndSize("", 0), *segments = PyList_New(0), *entry = NULL;
    for (int k = 0; id != NULL && segments != NULL && k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[k];
        if (header->p_type == PT_NOTE && read_build_id(info, header, &id) < 0)
            goto done;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        unsigned long long low = info->dlpi_addr + header->p_vaddr;
        PyObject *segment = Py_BuildValue("(KK)", low, low + header->p_memsz);
        int added = segment == NULL ? -1 : PyList_Append(segments, segment);
        Py_XDECREF(segment);
        if (added < 0)
            goto done;
    }
    if (id == NULL || segments == NULL)
        goto done;
    PyObject *path = PyUnicode_DecodeFSDefault(info->dlpi_name);
    if (path == NULL)
        goto done;
    entry = Py_BuildValue("(NKOO)", path, (unsigned long long)info->dlpi_addr, id, segments);
    failed = entry == NULL || PyList_Append((PyObject *)list, entry) < 0;
done:
    Py_XDECREF(id);
    Py_XDECREF(segments);
    Py_XDECREF(entry);
    return failed;
}

static PyObject *objects(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    if (list != NULL && dl_iterate_phdr(describe_object, list) != 0) {
        Py_DECREF(list);
        return NULL;
    }
    return list;
}

static PyMethodDef functions[] = {
    {"enable", enable, METH_NOARGS, "Install the handler, over whatever is there now; False if ours is in place."},
    {"make_writable", make_writable, METH_VARARGS, "Let the code in [low, high) be changed; raises OSError."},
    {"plant", plant, METH_O, "Plant at each address (bytes of 64-bit words) without a probe; returns how many."},
    {"rearm", rearm, METH_O, "Plant again what was hit, at some addresses or (None) all; returns how many."},
    {"remove", remove_probes, METH_O, "Take probes away, at some addresses or (None) all; returns how many."},
    {"set_mode", set_mode, METH_O, "The number (0 to 65535) that hits are recorded with from now on."},
    {"count", count, METH_NOARGS, "How many hits wait to be drained; no system call."},
    {"drain", drain, METH_NOARGS, "The hits since the last drain, in order: [(address, mode)]."},
    {"stop", stop, METH_NOARGS, "Take all probes away and put the handler back that was there before."},
    {"objects", objects, METH_NOARGS, "What is loaded: [(path, bias, build-id, [(low, high) of executable code])]."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_probe", "One-shot breakpoints in loaded libraries.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__probe(void)
{
    return PyModule_Create(&module);
}
