"""The worker side: everything that runs inside the interpreter of the library under test."""
