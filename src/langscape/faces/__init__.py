"""What turns a declared analysis into a command and a form."""
