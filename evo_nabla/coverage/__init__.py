"""The driver's map of native code: what can be reached in a library's shared objects, and what it is called."""
